"""The notebook of the examples runs from top to bottom, and shows what it says."""

import ast
import json
from pathlib import Path
from types import CodeType
from typing import Any

import pandas as pd
import pytest

from robustbench_twicing.cli.api import EvaluatedRun

NOTEBOOK = Path(__file__).parent.parent / "examples" / "python.ipynb"


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last line, where it is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    code: CodeType = compile(tree, str(NOTEBOOK), "exec")
    exec(code, names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)


@pytest.mark.slow
def test_the_notebook_runs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    names: dict[str, Any] = {"__name__": "notebook"}
    values = [
        shown("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"
    ]
    runs = [value for value in values if isinstance(value, EvaluatedRun)]
    assert len(runs) == 4
    assert runs[1].results()["top1"].tolist() == runs[2].results()["top1"].tolist()
    assert all("<td" in run._repr_html_() for run in runs)
    tables = [value for value in values if isinstance(value, pd.DataFrame)]
    statuses = tables[1].set_index("condition")["status"].to_dict()
    assert statuses.pop("too-far@8/255") == statuses.pop("worst@8/255") == "error"
    assert set(statuses.values()) == {"ok"}
    assert all(run.results()["status"].eq("ok").all() for run in runs)
