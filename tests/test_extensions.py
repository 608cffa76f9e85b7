"""Made-up things are declared here, with nothing else changed, and appear everywhere."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from torch import Tensor, nn

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
