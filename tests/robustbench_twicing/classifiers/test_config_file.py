"""``config.json`` beside weights decides the preprocessing, and the command line over it."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from robustbench_twicing import load_model
from robustbench_twicing.classifiers.config_file import read_expected
from robustbench_twicing.errors import UserError

HALF = (0.5, 0.5, 0.5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Random weights of timm's test_vit, which are all alike for these tests."""
    network = load_model("timm:test_vit", "random:0").network
    torch.save(network.state_dict(), tmp_path / "model.pth")
    return tmp_path


def write(folder: Path, content: Any, name: str = "config.json") -> None:
    (folder / name).write_text(json.dumps(content))


TIMM = {"mean": [0.5] * 3, "std": [0.5] * 3, "crop_pct": 0.9, "interpolation": "bilinear"}


@pytest.mark.parametrize(
    "content",
    [
        {**TIMM, "input_size": [3, 160, 160], "num_classes": 1000},
        {"architecture": "test_vit", "pretrained_cfg": {**TIMM, "input_size": [3, 160, 160]}},
    ],
)
def test_timms_constants_are_used_and_said(content: Any, folder: Path) -> None:
    write(folder, content)
    models = [load_model("timm:test_vit", path) for path in (folder, folder / "model.pth")]
    for model in models:
        assert model.preprocessing.as_dict() == {
            **{"crop": 160, "resize": 177, "interpolation": "bilinear"},
            **{"mean": HALF, "std": HALF},
        }
    (note,) = [note for note in models[0].record.notes if "config.json" in note]
    assert "mean (0.5, 0.5, 0.5)" in note


def test_options_stand_above_the_file_and_say_so(folder: Path) -> None:
    write(folder, TIMM)
    model = load_model("timm:test_vit", folder, mean=(0.1, 0.2, 0.3))
    assert model.preprocessing.mean == (0.1, 0.2, 0.3)
    assert model.preprocessing.std == HALF
    assert any("mean (0.1, 0.2, 0.3) instead of (0.5, 0.5, 0.5)" in n for n in model.record.notes)


def test_hugging_faces_files(folder: Path) -> None:
    write(folder, {"image_size": 224, "id2label": {str(number): "" for number in range(7)}})
    processor = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 2, "size": 224}
    write(folder, processor, "preprocessor_config.json")
    expected = read_expected(str(folder))
    assert expected.num_classes == 7
    assert expected.parts == {"mean": HALF, "std": HALF, "crop": 224, "interpolation": "bilinear"}


def test_the_number_of_classes_comes_from_the_file(folder: Path) -> None:
    network = load_model("timm:test_vit", "random:0", num_classes=7).network
    torch.save(network.state_dict(), folder / "model.pth")
    write(folder, {"num_classes": 7})
    assert load_model("timm:test_vit", folder).network.num_classes == 7


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"mean": [0.5, 0.5]}, r"config\.json: mean \[0\.5, 0\.5\] is not three numbers"),
        ({"interpolation": "random"}, "interpolation 'random' is unknown"),
        ({"resample": 5}, "interpolation 5 is unknown"),
        ({"input_size": [3, 160, 160], "crop_pct": 2}, "crop_pct 2 is not a share"),
    ],
)
def test_what_cannot_be_followed_is_refused(content: Any, message: str, folder: Path) -> None:
    write(folder, content)
    with pytest.raises(UserError, match=message):
        load_model("timm:test_vit", folder / "model.pth")


def test_files_about_something_else_change_nothing(folder: Path) -> None:
    before = load_model("timm:test_vit", folder)
    for content in ({"lr": 0.1}, [1, 2]):
        write(folder, content)
        after = load_model("timm:test_vit", folder)
        assert after.preprocessing == before.preprocessing
        assert after.record == before.record


OWN = """
from torch import nn
import timm

class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = timm.create_model("test_vit")

    def forward(self, x):
        return self.model(x)
"""


@pytest.fixture
def own(folder: Path) -> str:
    """Code whose network has the weights of the folder behind `model.`, as its file has."""
    (folder / "own.py").write_text(OWN)
    weights = torch.load(folder / "model.pth")
    torch.save({f"model.{key}": weights[key] for key in weights}, folder / "model.pth")
    write(folder, {**TIMM, "input_size": [3, 160, 160]})
    return f"{folder / 'own.py'}:Wrapped"


def test_own_code_is_given_images_of_the_size_that_the_file_says(own: str, folder: Path) -> None:
    model = load_model(own, folder / "model.pth")
    shown = model.preprocessing
    assert (shown.crop, shown.resize, shown.interpolation) == (160, 177, "bilinear")
    assert model.normalize is None
    said, constants = model.record.notes
    assert "config.json beside the weights says: mean (0.5, 0.5, 0.5)" in said
    assert "given pixels: mean and std of config.json are not applied" in constants
    assert constants.endswith("say --normalize 0.5,0.5,0.5/0.5,0.5,0.5.")


def test_own_code_that_expects_normalised_input_is_told_where_the_file_says_otherwise(
    own: str, folder: Path
) -> None:
    model = load_model(own, folder / "model.pth", crop=96, normalize=(HALF, (0.25, 0.25, 0.25)))
    assert (model.preprocessing.crop, model.preprocessing.resize) == (96, 106)
    said, request = model.record.notes
    assert "config.json beside the weights says: mean (0.5, 0.5, 0.5)" in said
    assert "std (0.25, 0.25, 0.25) instead of (0.5, 0.5, 0.5)" in request
    assert "mean" not in request
