"""Made-up things are declared here, with nothing else changed, and appear everywhere."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from torch import Tensor, nn

import robustbench_twicing
from attacks import ATTACKS, attack
from robustbench_twicing.cli.app import main
from robustbench_twicing.conditions.recorded import About


@pytest.fixture
def made_up_attack() -> Iterator[str]:
    @attack("fade", knowledge="none", source="made up", draws=False, about=About("Fade"))
    def fade(model: nn.Module, x: Tensor, y: Tensor, *, eps: float, share: float = 1.0) -> Tensor:
        return (x - share * eps).clamp(0, 1)

    yield "fade"
    del ATTACKS["fade"]


@pytest.mark.slow
def test_an_attack_is_one_declaration(
    made_up_attack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attacks"]) == 0
    assert "fade: L-infinity, none" in capsys.readouterr().out
    asked = "--model fmnist_deit --checkpoint bundled --data fashion-mnist:test1000 --limit 4"
    asked += f" --attacks clean,{made_up_attack} --eps 4/255 --set fade.share=0.5"
    assert main(["plan", *asked.split()]) == 0
    assert "fade@4/255" in capsys.readouterr().out
    out = tmp_path / "run"
    assert main(["eval", *asked.split(), "--out", str(out)]) == 0
    row = pd.read_csv(out / "results.csv").set_index("condition").loc["fade@4/255"]
    assert row["status"] == "ok"
    assert row["attack"] == "fade"
    assert "share=0.5" in row["flags"].split(";")
    report = ["report", str(out), "--format", "html", "--plots", "--out", str(tmp_path / "page")]
    assert main(report) == 0
    page = (tmp_path / "page" / "index.html").read_text()
    assert "Accuracy under Fade" in page
    assert (tmp_path / "page" / "accuracy-fade.png").exists()
    fade = ATTACKS["fade"].function
    assert fade is not None
    script = robustbench_twicing.evaluate(
        "fmnist_deit=bundled",
        "fashion-mnist:test1000",
        {"fade@4/255": partial(fade, share=0.5)},
        limit=4,
    )
    assert script.results()["top1"].tolist() == [row["top1"]]
