"""`inspect`: the facts of a file, and a probe in which a wrong variant shows."""

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer
from PIL import Image
from torch import Tensor
from typer.testing import CliRunner

from robustbench_twicing.checkpoints.candidates import recognise
from robustbench_twicing.checkpoints.inspection import inspect_checkpoint
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.cli.commands import inspect
from robustbench_twicing.data import imagenet
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.clean_accuracy import variants
from robustbench_twicing.models.build import build_model

pytestmark = pytest.mark.slow


def run(*arguments: Any) -> str:
    """Output of the command on 80 columns, as one line of words."""
    app = typer.Typer()
    inspect.register(app)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    return " ".join(result.stdout.replace("│", " ").split())


@pytest.fixture(scope="session")
def weights() -> dict[str, Tensor]:
    """Weights of a DeiT-tiny whose classes depend strongly on the image."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build_model("deit")
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.ndim > 1:
                    parameter.copy_(torch.randn(parameter.shape) * 0.2)
    return dict(network.state_dict())


@pytest.fixture(scope="session")
def checkpoint(weights: dict[str, Tensor], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training file with plain and EMA weights."""
    path = tmp_path_factory.mktemp("inspect") / "checkpoint[1].pth"
    averaged = {f"module.{key}": tensor.clone() for key, tensor in weights.items()}
    averaged["module.head.bias"] += 0.25
    content = {
        "model": {key: tensor.half() for key, tensor in weights.items()},
        "model_ema": averaged,
        "epoch": 299,
        "args": argparse.Namespace(model="deit_sharp_tiny_patch16_224", drop_path=0.1),
    }
    torch.save(content, path)
    return path


def test_everything_that_is_known_without_running_is_printed(checkpoint: Path) -> None:
    words = run(checkpoint)
    contents = inspect_checkpoint(checkpoint)
    for expected in (
        "checkpoint[1].pth",
        "container torch-zip",
        contents.file.sha256,
        "top keys model, model_ema, epoch, args",
        "epoch 299",
        "drop_path=0.1",
        "named by the file deit_sharp_tiny_patch16_224 (args.model)",
        "Weights: plain found under model tensors 152 parameters 5,717,416",
        "152 x float16",
        "Weights: ema found under model_ema",
        "152 x float32",
        contents.weights["plain"].sha256,
        contents.weights["ema"].sha256,
        "not finite none",
        "The prefix 'module.' was taken off the keys.",
        "EMA against plain differs by up to 0.25",
        "width 192, depth 12",
        "grid 14 x 14 patches, input 224 pixels",
        "classes 1000",
        "layout a DeiT-like ViT",
        "deit_tiny_patch16_224",
        "deit_tiny_neutreno_patch16_224",
        "deit_tiny_twicing_patch16_224",
        "the file cannot tell them apart",
    ):
        assert expected in words, expected


def test_the_hashes_are_those_that_loading_records(checkpoint: Path) -> None:
    contents = inspect_checkpoint(checkpoint)
    for kind, facts in contents.weights.items():
        choice: Any = kind
        record = load_model("deit_tiny_twicing_patch16_224", str(checkpoint), weights=choice).record
        assert record.weights_sha256 == facts.sha256
        assert record.checkpoint_sha256 == contents.file.sha256


def test_values_that_are_not_finite_and_other_grids_are_said(
    weights: dict[str, Tensor], tmp_path: Path
) -> None:
    bad = {**weights, "norm.bias": torch.full((192,), float("nan"))}
    bad["pos_embed"] = torch.zeros(1, 577, 192)
    bad["head.weight"], bad["head.bias"] = torch.zeros(10, 192), torch.zeros(10)
    torch.save(bad, tmp_path / "a.pth")
    words = run(tmp_path / "a.pth")
    assert "not finite norm.bias" in words
    assert "top keys a bare state dict" in words
    assert "found under the file itself" in words
    assert "24 x 24 patches, input 384 pixels" in words
    assert inspect_checkpoint(tmp_path / "a.pth").candidates[0].against == (
        "10 classes instead of 1000",
        "pos_embed of 577 tokens instead of 197",
    )
    assert "577" in words
    assert "no name" in words


def test_an_unknown_layout_lists_its_keys(tmp_path: Path) -> None:
    state_dict = {f"layer{index}.0.conv.weight": torch.zeros(1) for index in range(40)}
    torch.save({"state_dict": state_dict}, tmp_path / "a.pth")
    words = run(tmp_path / "a.pth")
    assert "layout unknown here" in words
    assert "layer0.0.conv.weight" in words
    assert "and 20 more" in words
    assert "No model of the table fits" in words


def test_equal_ema_weights_are_called_identical(weights: dict[str, Tensor], tmp_path: Path) -> None:
    torch.save({"state_dict": weights, "state_dict_ema": weights}, tmp_path / "a.pth")
    assert "EMA against plain identical values" in run(tmp_path / "a.pth")


def test_a_bad_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        run(tmp_path / "missing.pth")


def test_variants_have_the_papers_placement(weights: dict[str, Tensor]) -> None:
    assert list(variants(recognise(weights))) == [
        "deit_tiny_patch16_224",
        "deit_tiny_neutreno_patch16_224",
        "deit_tiny_twicing_patch16_224",
        "deit_tiny_twicing_patch16_224[10-12]",
    ]


@pytest.fixture
def photos(checkpoint: Path, tmp_path: Path) -> Path:
    """Four images, each in the folder of the class that the twicing model says."""
    classifier = load_model("deit_tiny_twicing_patch16_224", str(checkpoint), weights="plain")
    generator = np.random.default_rng(0)
    for number in range(4):
        pixels = generator.integers(0, 256, (224, 224, 3), dtype=np.uint8)
        x = torch.from_numpy(pixels).permute(2, 0, 1)[None].float() / 255
        label = int(classifier(x).argmax())
        folder = tmp_path / "val" / imagenet.wnids()[label]
        folder.mkdir(parents=True, exist_ok=True)
        # Larger than 256, and with its middle crop exactly these pixels after the resize.
        Image.fromarray(np.pad(pixels, ((16, 16), (16, 16), (0, 0)))).save(folder / f"{number}.png")
    return tmp_path / "val"


def test_the_probe_shows_the_wrong_variants(checkpoint: Path, photos: Path) -> None:
    words = run(checkpoint, "--data", photos, "--limit", 3, "--batch-size", 2, "--device", "cpu")
    assert "Probe: clean accuracy on val" in words
    assert "deit_tiny_twicing_patch16_224 plain 3/3 100.0 %" in words
    for name in ("deit_tiny_patch16_224", "deit_tiny_neutreno_patch16_224"):
        right = words.split(f"{name} plain ")[1].split("/")[0]
        assert int(right) < 3
    assert "deit_tiny_twicing_patch16_224[10-12] ema" in words
    assert "not told apart by so few images" in words


def test_the_probe_takes_the_options_of_eval(checkpoint: Path, photos: Path) -> None:
    """Flat images under a list of more of them, and another mean than the network's."""
    flat = photos.with_name("flat")
    flat.mkdir()
    lines = ["gone.png,n01440764\n"]
    for file in sorted(photos.rglob("*.png")):
        shutil.copy(file, flat / file.name)
        lines.append(f"{file.name},{file.parent.name}\n")
    flat.with_name("labels.csv").write_text("".join(lines))
    given = ["--labels", flat.with_name("labels.csv"), "--labels-superset", "--device", "cpu"]
    right = "deit_tiny_twicing_patch16_224 plain 4/4 100.0 %"
    assert right in run(checkpoint, "--data", flat, *given)
    assert right not in run(checkpoint, "--data", flat, *given, "--mean", "0.9,0,0.9")
    with pytest.raises(UserError, match=r"--labels is of the probe; give it images by --data"):
        run(checkpoint, "--labels", "labels.csv")
