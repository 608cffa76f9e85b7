"""``config.json`` beside weights decides the preprocessing, and the command line over it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.beside.config_file import read_expected
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
            **{"mean": HALF, "std": HALF, "squash": False},
        }
    (note,) = [note for note in models[0].record.notes if "config.json" in note]
    assert "mean (0.5, 0.5, 0.5)" in note


def test_options_stand_above_the_file_and_say_so(folder: Path) -> None:
    write(folder, {**TIMM, "crop_mode": "squash"})
    model = load_model("timm:test_vit", folder, mean=(0.1, 0.2, 0.3), squash=False)
    assert model.preprocessing.mean == (0.1, 0.2, 0.3)
    assert model.preprocessing.std == HALF
    (request,) = [note for note in model.record.notes if "by request" in note]
    assert "mean (0.1, 0.2, 0.3) instead of (0.5, 0.5, 0.5)" in request
    assert "squash False instead of True" in request


def test_each_part_is_noted_with_who_says_it(folder: Path) -> None:
    write(folder, TIMM)
    told = load_model("timm:test_vit", folder, mean=(0.1, 0.2, 0.3)).record.details
    assert told["preprocessing_from"] == {
        **{"crop": "the architecture", "squash": "the architecture"},
        **dict.fromkeys(["resize", "interpolation", "std"], "config.json"),
        "mean": "request",
    }
    told = load_model("timm:test_vit", "random:0", crop=96).record.details
    requested = {part for part, origin in told["preprocessing_from"].items() if origin == "request"}
    assert requested == {"crop", "resize"}, "which follows the crop"
    weights = torch.load(folder / "model.pth")
    kept = {"state_dict": weights, "mean": [0.4] * 3, "std": [0.2] * 3}
    torch.save(kept, folder / "kept.pth")
    told = load_model("timm:test_vit", folder / "kept.pth").record.details["preprocessing_from"]
    assert told["mean"] == told["std"] == "the weights' own file"


def test_hugging_faces_files(folder: Path) -> None:
    write(folder, {"image_size": 224, "id2label": {str(number): "" for number in range(7)}})
    processor = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 2, "size": 224}
    write(folder, processor, "preprocessor_config.json")
    expected = read_expected(str(folder))
    assert expected.num_classes == 7
    resized = {"crop": 224, "resize": 224, "squash": True, "interpolation": "bilinear"}
    assert expected.parts == resized | {"mean": HALF, "std": HALF}


SQUARE = {"height": 256, "width": 256}


@pytest.mark.parametrize(
    ("processor", "sides"),
    [
        ({"size": SQUARE}, (256, 256, True)),
        ({"size": SQUARE, "do_center_crop": True, "crop_size": 224}, (224, 256, True)),
        ({"size": {"shortest_edge": 256}, "crop_size": 224}, (224, 256, False)),
        ({"size": {"shortest_edge": 224}, "crop_pct": 0.875}, (224, 256, False)),
        ({"size": {"shortest_edge": 384}, "crop_pct": 0.875}, (384, 384, True)),
        ({"size": 256, "feature_extractor_type": "DeiTFeatureExtractor"}, (256, 256, True)),
    ],
)
def test_sizes_of_processors_mean_what_transformers_does(
    processor: Any, sides: tuple[int, int, bool], folder: Path
) -> None:
    write(folder, processor, "preprocessor_config.json")
    parts = read_expected(folder).parts
    assert (parts["crop"], parts["resize"], parts["squash"]) == sides


@pytest.mark.parametrize(
    ("processor", "mean", "std"),
    [
        ({"do_normalize": False, "image_mean": [0.5]}, 0, 1),
        ({"image_mean": [0.5], "image_std": [0.25], "rescale_factor": 1 / 255}, 0.5, 0.25),
        # x / 127.5 - 1 of pixels up to 255 is 2 x - 1 of pixels in [0, 1]
        ({"do_normalize": False, "rescale_factor": 1 / 127.5, "rescale_offset": True}, 0.5, 0.5),
    ],
)
def test_constants_of_processors_become_those_of_pixels_up_to_one(
    processor: Any, mean: float, std: float, folder: Path
) -> None:
    write(folder, processor, "preprocessor_config.json")
    parts = read_expected(folder).parts
    assert parts["mean"] == pytest.approx((mean,) * 3)
    assert parts["std"] == pytest.approx((std,) * 3)


@pytest.mark.parametrize(
    ("processor", "message"),
    [
        ({"size": {"shortest_edge": 224}}, "size with shortest_edge, without a centre crop"),
        ({"size": {"height": 224, "width": 160}}, "size .* which is no square"),
        ({"size": {"longest_edge": 224}}, "which is no square"),
        ({"size": 224, "image_processor_type": "LevitImageProcessor"}, "both sides or the short"),
        ({"do_flip_channel_order": True}, "do_flip_channel_order True is not supported"),
        ({"do_rescale": False}, "do_rescale false is not supported"),
        ({"do_resize": False}, "do_resize false is not supported"),
        ({"rescale_factor": "x"}, "rescale_factor 'x' is not supported"),
        ({"do_normalize": True}, "image_mean None is not three numbers"),
        ({"size": {"shortest_edge": 224}, "crop_pct": 2}, "crop_pct 2 is not a share"),
        ({"resample": 5}, "interpolation 5 is unknown"),
    ],
)
def test_processors_that_cannot_be_followed_are_refused(
    processor: Any, message: str, folder: Path
) -> None:
    write(folder, processor, "preprocessor_config.json")
    with pytest.raises(UserError, match=message):
        read_expected(folder)


def test_a_share_without_a_side_is_of_the_models_own(folder: Path) -> None:
    crop = load_model("timm:test_vit", folder).preprocessing.crop
    write(folder, {"crop_pct": 0.5})
    model = load_model("timm:test_vit", folder)
    assert (model.preprocessing.crop, model.preprocessing.resize) == (crop, 2 * crop)
    assert any("crop_pct 0.5" in note for note in model.record.notes)


def test_squash_takes_both_sides_and_keeps_no_proportions(folder: Path) -> None:
    write(folder, {"crop_mode": "squash", "input_size": [3, 160, 160], "crop_pct": 1.0})
    shown = load_model("timm:test_vit", folder).preprocessing
    edge = Image.new("RGB", (640, 160))
    edge.paste((255, 255, 255), (0, 0, 160, 160))
    assert shown.pixels(edge)[:, :30].min() == 255  # a quarter of the width, which a crop loses
    assert not replace(shown, squash=False).pixels(edge).any()


def test_the_architecture_that_the_file_names_is_compared(folder: Path) -> None:
    write(folder, {"architecture": "deit_tiny_patch16_224", "pretrained_cfg": TIMM})
    with pytest.raises(UserError, match=r"deit_tiny_patch16_224 \(config.json architecture\), but"):
        load_model("timm:test_vit", folder)
    model = load_model("timm:test_vit", folder, arch_override=True)
    assert "arch-override" in model.record.flags
    write(folder, {"architecture": "test_vit.r160_in1k"})
    record = load_model("timm:test_vit", folder).record
    assert record.flags == ()
    assert record.details["beside"] == {"config.json architecture": "test_vit.r160_in1k"}
    assert any("says: architecture test_vit.r160_in1k" in note for note in record.notes)


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
        ({"crop_mode": "border"}, "crop_mode 'border' is not supported"),
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
