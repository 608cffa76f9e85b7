"""The records from which the golden files are made, and the tables that they hold.

``python -m tests.reports.tables.fixed`` writes the golden files anew; look at the difference.
"""

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from reports import Runs, merge, results, with_worst
from reports.statistics.comparison import compare
from reports.tables.comparing import comparison_tables
from reports.tables.formats import FORMATS
from reports.tables.formats.as_console import print_table
from reports.tables.marks import mark
from reports.tables.pivot import pivot_tables
from reports.tables.presets import preset_tables
from reports.tables.table import Table
from tests.reports.made import Outcomes, write_run

GOLDEN = Path(__file__).parents[1] / "golden"
MODELS: dict[str, dict[str, Any]] = {
    "DeiT": {"family": "deit", "model": "deit_tiny_patch16_224"},
    "DeiT-Twicing [10-12]": {
        "family": "twicing",
        "model": "deit_tiny_twicing_patch16_224[10-12]",
        "flags": ["random-weights"],
    },
    "NeuTRENO & <é> 50_%": {"family": "neutreno", "model": "deit_tiny_neutreno_patch16_224"},
    "FAN": {"family": "fan", "model": "fan_tiny_12_p16_224"},
}
RIGHT = {
    "clean": (9, 10, 8, 11),
    "fgsm@1/255": (6, 7, 7, 9),
    "fgsm@4/255": (3, 5, 4, 6),
    "pgd@4/255": (1, 2, 2, 3),
}
"""How many of the twelve images each model has right: the first ones."""
IMAGES = 12


def outcomes(number: int) -> Outcomes:
    """Of one model: right images first, then those that are in the top 5, then the rest."""
    return {
        condition: [0 if image < right[number] else 3 + image % 4 for image in range(IMAGES)]
        for condition, right in RIGHT.items()
    }


def fixed_runs(folder: Path) -> Runs:
    """Two runs of protocol paper; the second lacks a condition, and one of its images failed."""
    labels = list(MODELS)
    made = {label: outcomes(number) for number, label in enumerate(labels)}
    first = {label: made[label] for label in labels[:3]}
    last = {labels[3]: {name: list(made[labels[3]][name]) for name in ("clean", "fgsm@4/255")}}
    last[labels[3]]["fgsm@4/255"][5] = "error"
    data = {"notes": ["Made by hand."]}
    folders = [
        write_run(folder / name, outcomes, protocol="paper", models=MODELS, data=data)
        for name, outcomes in (("1", first), ("2", last))
    ]
    return with_worst(merge(folders))


def sheets(runs: Runs) -> Iterator[Table]:
    """One table of each kind, marked."""
    table = results(runs)
    for preset in ("results", "table1", "featscale", "layers", "sweeps", "worst"):
        for sheet in preset_tables(preset, runs, table):
            yield mark(sheet, "best", runs)
    names = {"rows": ["label"], "columns": ["condition"], "values": ["top1", "n_images"]}
    for sheet in pivot_tables(runs, table, **names):
        yield mark(sheet, "best", runs)
    yield from comparison_tables(compare(runs, table))


def rendered(sheet: Table) -> dict[str, str]:
    """A table in every format, by the name of its golden file."""
    texts = {f"{sheet.name}.{form.ending}": form.render(sheet) for form in FORMATS.values()}
    console = Console(file=io.StringIO(), width=80, color_system=None)
    print_table(sheet, console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return texts | {f"{sheet.name}.txt": file.getvalue()}


if __name__ == "__main__":
    for old in GOLDEN.iterdir():
        old.unlink()
    with tempfile.TemporaryDirectory() as temporary:
        for sheet in sheets(fixed_runs(Path(temporary))):
            for name, text in rendered(sheet).items():
                (GOLDEN / name).write_text(text, encoding="utf-8")
