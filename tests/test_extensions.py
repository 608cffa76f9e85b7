"""Made-up things are declared here, with nothing else changed, and appear everywhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import robustbench_twicing
from attacks import ATTACKS, attack
from attacks.corruptions import CORRUPTIONS
from reports import merge, results
from reports.tables.presets import preset_tables
from robustbench_twicing.classifiers.user_code import load_user_function
from robustbench_twicing.cli.app import main
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.data.imagenet_c import DECLARED
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.families import MODELS, declare
from robustbench_twicing.models.family import FAMILIES, Family
from robustbench_twicing.models.sizes import Sizes
from robustbench_twicing.models.spec import ModelSpec
from robustbench_twicing.records.run_folder import RunFolder
from tests.tiny import Linear


@pytest.fixture
def made_up_attack() -> Iterator[str]:
    @attack("made-up-fade", knowledge="none", source="made up", draws=False, about=About("Fade"))
    def fade(model: nn.Module, x: Tensor, y: Tensor, *, eps: float, share: float = 1.0) -> Tensor:
        return (x - share * eps).clamp(0, 1)

    yield "made-up-fade"
    del ATTACKS["made-up-fade"]


@pytest.mark.slow
def test_an_attack_is_one_declaration(
    made_up_attack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attacks"]) == 0
    assert "made-up-fade: L-infinity; knowledge: none" in capsys.readouterr().out
    asked = "--model fmnist_deit --checkpoint bundled --data fashion-mnist:test1000 --limit 4"
    asked += f" --attacks clean,{made_up_attack} --eps 4/255 --set made-up-fade.share=0.5"
    assert main(["plan", *asked.split()]) == 0
    assert "made-up-fade@4/255" in capsys.readouterr().out
    out = tmp_path / "run"
    assert main(["eval", *asked.split(), "--out", str(out)]) == 0
    row = pd.read_csv(out / "results.csv").set_index("condition").loc["made-up-fade@4/255"]
    assert row["status"] == "ok"
    assert row["attack"] == "made-up-fade"
    assert "share=0.5" in row["flags"].split(";")
    report = ["report", str(out), "--format", "html", "--plots", "--out", str(tmp_path / "page")]
    assert main(report) == 0
    page = (tmp_path / "page" / "index.html").read_text()
    assert "<b>Fade at 4/255</b>" in page
    assert (tmp_path / "page" / "accuracy-made-up-fade.png").exists()
    fade = ATTACKS["made-up-fade"].function
    assert fade is not None
    script = robustbench_twicing.evaluate(
        "fmnist_deit=bundled",
        "fashion-mnist:test1000",
        {"made-up-fade@4/255": partial(fade, share=0.5)},
        limit=4,
    )
    assert script.results()["top1"].tolist() == [row["top1"]]


MODULE = """
from attacks import attack
from attacks.corruptions import corruption

LEAST = 0


def toward(x, eps):
    return x - eps


@attack("made-up-fade", knowledge="none", source="made up")
def fade(model, x, y, *, eps, share=1.0):
    return toward(x, share * eps).clamp(LEAST, 1)


@corruption("made-up-dusk", group="dusk")
def dusk(image, severity, rng):
    return image - image // (8 - severity)
"""
CHANGES = [
    ("share * eps).", "share * eps / 2).", "the code of condition pixel:made-up-fade@4/255 has"),
    ("share=1.0", "share=0.5", r"settings\.share is 1\.0 there and 0\.5 here"),
    ("return x - eps", "return x - 2 * eps", "the code of condition pixel:made-up-fade@4/255 has"),
    ("LEAST = 0", "LEAST = 0.1", "the code of condition pixel:made-up-fade@4/255 has"),
    ("8 - severity", "9 - severity", "the code of condition pixel:corruption/made-up-dusk/2 has"),
]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run with an attack and a corruption of a user's module, which lies beside it."""
    folder = tmp_path_factory.mktemp("begun")
    evaluate_module(folder, MODULE)
    yield folder
    del ATTACKS["made-up-fade"], CORRUPTIONS["made-up-dusk"], DECLARED["made-up-dusk"]


def evaluate_module(folder: Path, text: str) -> Run:
    (folder / "mine.py").write_text(text)
    load_user_function(f"{folder / 'mine.py'}:fade")
    conditions = ["made-up-fade@4/255", "corruption/made-up-dusk/2"]
    x = torch.arange(2 * 3 * 32 * 32, dtype=torch.uint8).reshape(2, 3, 32, 32)
    data = (x, torch.tensor([0, 1]))
    return robustbench_twicing.evaluate(Linear(side=32), data, conditions, out=folder / "run")


@pytest.mark.parametrize(("old", "new", "words"), CHANGES)
def test_a_run_is_not_continued_with_other_code_of_the_same_name(
    begun: Path, old: str, new: str, words: str
) -> None:
    assert evaluate_module(begun, MODULE).complete
    changed = MODULE.replace(old, new)
    assert changed != MODULE
    with pytest.raises(UserError, match=words):
        evaluate_module(begun, changed)


def test_what_the_declared_code_does_not_use_may_change(begun: Path) -> None:
    assert evaluate_module(begun, MODULE + "\n\ndef other():\n    return 1\n").complete


@dataclass(frozen=True, kw_only=True)
class BlurSizes(Sizes):
    """A grid of averages, and the number of logits."""

    cells: int = 4
    num_classes: int = 10


def blur(sizes: BlurSizes) -> nn.Module:
    features = 3 * sizes.cells**2
    return nn.Sequential(
        nn.AdaptiveAvgPool2d(sizes.cells), nn.Flatten(), nn.Linear(features, sizes.num_classes)
    )


@pytest.fixture
def made_up_family() -> Iterator[str]:
    declare(
        Family("blur", BlurSizes, blur, backbone="Averages"),
        ModelSpec("blur_4", "blur", {"cells": 4}, Preprocessing(28, 28), "made up"),
        ModelSpec("blur_7", "blur", {"cells": 7}, Preprocessing(28, 28), "made up"),
    )
    declare(
        Family("smear", BlurSizes, blur),
        ModelSpec("smear_5", "smear", {"cells": 5}, Preprocessing(28, 28), "keys of another"),
    )
    yield "blur_7"
    del FAMILIES["blur"], MODELS["blur_4"], MODELS["blur_7"]
    del FAMILIES["smear"], MODELS["smear_5"]


@pytest.mark.slow
def test_a_family_of_models_is_one_declaration(
    made_up_family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "blur"]) == 0
    assert made_up_family in capsys.readouterr().out
    asked = f"--model {made_up_family}=random:0 --model fmnist_deit=bundled"
    asked += " --data fashion-mnist:test1000 --limit 4 --attacks clean,fgsm --eps 4/255"
    assert main(["plan", *asked.split()]) == 0
    assert made_up_family in capsys.readouterr().out
    out = tmp_path / "run"
    assert main(["eval", *asked.split(), "--out", str(out)]) == 0
    rows = pd.read_csv(out / "results.csv")
    assert set(rows[rows["model"] == made_up_family]["status"]) == {"ok"}
    runs = merge([RunFolder.open(out)])
    for table in preset_tables("featscale", runs, results(runs)):
        assert table.groups == ("Averages", "DeiT")
    report = ["report", str(out), "--format", "html", "--plots", "--out", str(tmp_path / "page")]
    assert main(report) == 0
    assert made_up_family in (tmp_path / "page" / "index.html").read_text()
    assert (tmp_path / "page" / "accuracy-fgsm.png").exists()


FAMILY_MODULE = """
import torch
from dataclasses import dataclass
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.models.families import declare
from robustbench_twicing.models.family import Family
from robustbench_twicing.models.sizes import Sizes
from robustbench_twicing.models.spec import ModelSpec


@dataclass(frozen=True, kw_only=True)
class MeanSizes(Sizes):
    num_classes: int = 10


class Mean(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.num_classes = sizes.num_classes
        self.head = torch.nn.Linear(3, sizes.num_classes)

    def forward(self, x):
        return self.head(1 * x.mean((2, 3)))


declare(
    Family("made-up-mean", MeanSizes, Mean),
    ModelSpec("made_up_mean", "made-up-mean", {}, Preprocessing(28, 28), "made up"),
)
"""


def evaluate_family(folder: Path, text: str) -> Run:
    FAMILIES.pop("made-up-mean", None)
    MODELS.pop("made_up_mean", None)
    (folder / "means.py").write_text(text)
    load_user_function(f"{folder / 'means.py'}:Mean")
    data = (torch.zeros(2, 3, 28, 28, dtype=torch.uint8), torch.tensor([0, 1]))
    return robustbench_twicing.evaluate(
        "made_up_mean=random:0", data, ["clean"], out=folder / "run"
    )


def test_a_run_is_not_continued_with_a_family_whose_code_has_changed(tmp_path: Path) -> None:
    try:
        assert evaluate_family(tmp_path, FAMILY_MODULE).complete
        assert evaluate_family(tmp_path, FAMILY_MODULE).complete
        with pytest.raises(UserError, match="the code of model made_up_mean has changed"):
            evaluate_family(tmp_path, FAMILY_MODULE.replace("1 * x", "2 * x"))
    finally:
        del FAMILIES["made-up-mean"], MODELS["made_up_mean"]


def test_a_file_of_a_family_is_recognised_without_being_named(
    made_up_family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "weights.pth"
    torch.save(build_model("blur", cells=7).state_dict(), file)
    assert main(["inspect", str(file)]) == 0
    text = capsys.readouterr().out
    assert made_up_family in text
    assert "blur_4" not in text
    asked = f"--model fmnist_deit={file} --data fashion-mnist:test1000 --limit 4 --out"
    assert main(["eval", *asked.split(), str(tmp_path / "run")]) == 1
    text = " ".join(capsys.readouterr().err.split())
    assert "the file is a model of the family blur, not a DeiT-like ViT" in text
    assert f"it fits {made_up_family}" in text
    torch.save(build_model("smear", cells=5).state_dict(), file)
    assert main(["eval", *asked.split(), str(tmp_path / "run")]) == 1
    text = " ".join(capsys.readouterr().err.split())
    assert "the file is a model of the family smear, not a DeiT-like ViT" in text
    assert "it fits smear_5" in text
