"""Mean and std among the weights are followed, and never dropped."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.checkpoints.constants import take_constants
from robustbench_twicing.checkpoints.inspection import inspect_checkpoint
from robustbench_twicing.errors import UserError

HALF = torch.full((1, 3, 1, 1), 0.5)


@pytest.fixture(scope="module")
def weights() -> dict[str, Tensor]:
    return load_file(bundled_file("fmnist_deit"))


def behind(prefix: str, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + key: tensor for key, tensor in weights.items()}


@pytest.mark.parametrize(
    ("mean", "std", "prefix"),
    [
        ("mu", "sigma", ""),
        ("0.mean", "0.std", "1."),
        ("normalize.mean", "normalize.std", "model."),
        ("module.normalize.mu", "module.normalize.sigma", "module.model."),
        ("pixel_mean", "pixel_std", "backbone."),
    ],
)
def test_a_files_own_constants_are_those_of_the_model(
    mean: str, std: str, prefix: str, weights: dict[str, Tensor], tmp_path: Path
) -> None:
    file = tmp_path / "c.pth"
    torch.save({mean: HALF, std: HALF / 2, **behind(prefix, weights)}, file)
    model = load_model("fmnist_deit", file)
    assert model.preprocessing.mean == (0.5,) * 3
    assert model.preprocessing.std == (0.25,) * 3
    assert any(
        note.endswith("in the file say: mean (0.5, 0.5, 0.5), std (0.25, 0.25, 0.25).")
        for note in model.record.notes
    )
    assert f"{mean} and {std}".replace("module.", "") in inspect_checkpoint(file).remarks[0]
    bundled = load_model("fmnist_deit", "bundled").record
    assert model.record.weights_sha256 == bundled.weights_sha256
    assert "fmnist_deit" in [one.name for one in inspect_checkpoint(file).candidates]
    asked = load_model("fmnist_deit", file, mean=(0.1, 0.2, 0.3))
    assert asked.preprocessing.mean == (0.1, 0.2, 0.3)
    assert asked.preprocessing.std == (0.25,) * 3
    assert any(note.endswith("; --mean replaces that.") for note in asked.record.notes)


BESIDE: list[tuple[dict[str, Any], str]] = [
    ({"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}, "mean and std"),
    ({"mean": HALF.flatten().expand(3), "std": HALF[0, 0] / 2}, "mean and std"),
    ({"mean": 127.5, "std": 63.75}, "mean and std"),
    ({"args": Namespace(mean=(0.5,) * 3, std=(0.25,) * 3)}, "args.mean and args.std"),
    ({"hyper_parameters": {"mean": "0.5, 0.5, 0.5", "std": "[0.25]"}}, "hyper_parameters.mean"),
]


@pytest.mark.parametrize(("settings", "said"), BESIDE)
def test_constants_beside_the_weights_are_those_of_the_model_too(
    settings: dict[str, Any], said: str, weights: dict[str, Tensor], tmp_path: Path
) -> None:
    file = tmp_path / "c.pth"
    torch.save({"state_dict": weights, **settings}, file)
    model = load_model("fmnist_deit", file)
    assert model.preprocessing.mean == (0.5,) * 3
    assert model.preprocessing.std == (0.25,) * 3
    assert any(note.startswith(said) for note in model.record.notes)
    assert any(f"beside the weights: {said}" in line for line in inspect_checkpoint(file).remarks)


@pytest.mark.parametrize(
    "settings",
    [
        {"mean": [0.5] * 3},
        {"mean": None, "std": None},
        {"mean": 0.91, "std": "unknown"},
        {"mean": [0.5, 0.5], "std": [0.5, 0.5]},
        {"mean": ["a", "b", "c"], "std": [0.5] * 3},
        {"mean": float("nan"), "std": 1.0},
        {"args": {"mean": [-1.0] * 3, "std": [1.0] * 3}},
    ],
)
def test_what_is_no_pair_of_constants_beside_the_weights_is_none(
    settings: dict[str, Any], weights: dict[str, Tensor], tmp_path: Path
) -> None:
    file = tmp_path / "c.pth"
    torch.save({"state_dict": weights, **settings}, file)
    preprocessing = load_model("fmnist_deit", file).preprocessing
    assert preprocessing == load_model("fmnist_deit", "bundled").preprocessing


def test_constants_of_pixels_up_to_255_become_those_of_pixels_up_to_one() -> None:
    state = {"mean": torch.tensor([127.5, 51, 255]), "std": torch.tensor([51.0])}
    rest, constants = take_constants(state | {"a": HALF}, ["a"], "FILE")
    assert list(rest) == ["a"]
    assert constants is not None
    assert constants.mean == (0.5, 0.2, 1.0)
    assert constants.std == (0.2,) * 3


def test_float32_constants_are_written_as_they_were_typed() -> None:
    state = {
        "mean": torch.tensor([0.485, 0.456, 0.406]),
        "std": torch.tensor([0.229, 0.224, 0.225]),
    }
    _, constants = take_constants(state, [], "FILE")
    assert constants is not None
    assert constants.mean == (0.485, 0.456, 0.406)


def test_what_the_network_has_itself_stays() -> None:
    state = {"normalize.mean": HALF, "normalize.std": HALF}
    assert take_constants(state, list(state), "FILE") == (state, None)


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"mu": HALF}, r"\(mu\) that are not one mean and one std"),
        ({"mu": HALF, "sigma": HALF, "mean": HALF}, r"\(mu, mean, sigma\) that are not one mean"),
        ({"mu": torch.zeros(5), "sigma": HALF}, r"mu \(5,\) is called like a constant"),
        ({"mu": HALF, "sigma": -HALF}, "must be positive"),
    ],
)
def test_what_is_no_pair_of_constants_is_refused(
    added: Any, message: str, weights: dict[str, Tensor], tmp_path: Path
) -> None:
    torch.save({**added, **weights}, tmp_path / "c.pth")
    with pytest.raises(UserError, match=message):
        load_model("fmnist_deit", tmp_path / "c.pth")
