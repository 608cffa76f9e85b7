"""analyze RUN: networks and images of a run, loaded anew and compared with what run.json says."""

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from robustbench_twicing import load_model
from robustbench_twicing.cli.app import main

pytestmark = pytest.mark.slow
VIT = "timm:test_vit"


def evaluate(out: Path, *arguments: str) -> None:
    """A run of clean images whose session knows its command line."""
    command = ["eval", *arguments, "--attacks", "clean", "--device", "cpu", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["run_eval.py", *command])
        assert main(command) == 0


def analyze(*arguments: str) -> int:
    return main(["analyze", "--device", "cpu", "--analysis", "similarity", *arguments])


def record(folder: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((folder / "analysis.json").read_text())
    return values


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "similarity.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint, four images of two classes, and a run of both with another crop."""
    place = tmp_path_factory.mktemp("place")
    rng = np.random.default_rng(0)
    for number in range(4):
        folder = place / "photos" / str(number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (150, 150, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    network = load_model(VIT, "random:3").network
    torch.save(network.state_dict(), place / "weights.pth")
    evaluate(place / "run", *arguments(place))
    return place


def arguments(place: Path) -> tuple[str, ...]:
    model = ("--model", f"{VIT}={place / 'weights.pth'}", "--label", "mine", "--crop", "128")
    return (*model, "--data", str(place / "photos"), "--limit", "3", "--limit-seed", "5")


@pytest.fixture
def copied(place: Path, tmp_path: Path) -> Path:
    """All of it again, with files of its own; the run's command still names the first place."""
    ignored = shutil.ignore_patterns("analysis")
    return Path(shutil.copytree(place, tmp_path / "copied", ignore=ignored))


def test_a_run_says_what_is_analysed(place: Path, tmp_path: Path) -> None:
    assert analyze(str(place / "run")) == 0
    assert analyze(*arguments(place), "--out", str(tmp_path)) == 0
    of_run, typed = record(place / "run" / "analysis"), record(tmp_path)
    assert of_run["models"] == typed["models"]
    assert of_run["models"]["mine"]["preprocessing"]["crop"] == 128
    assert of_run["dataset"]["images"] == typed["dataset"]["images"]
    assert rows(place / "run" / "analysis") == rows(tmp_path)


def test_runs_of_the_same_images_are_analysed_together(place: Path, tmp_path: Path) -> None:
    other = ("--model", f"{VIT}=random:1", "--label", "other", *arguments(place)[6:])
    evaluate(tmp_path / "other", *other)
    runs = (str(place / "run"), str(tmp_path / "other"))
    assert analyze(*runs) == 1
    assert analyze(*runs, "--out", str(tmp_path / "both")) == 0
    assert {row["label"] for row in rows(tmp_path / "both")} == {"mine", "other"}


def test_samples_are_found_by_their_name(tmp_path: Path) -> None:
    data = ("--data", "samples:imagenet", "--limit", "2")
    assert (
        main(
            [
                *("eval", "--model", f"{VIT}=random:1", *data, "--attacks", "clean"),
                *("--device", "cpu", "--out", str(tmp_path)),
            ]
        )
        == 0
    )
    assert analyze(str(tmp_path)) == 0
    assert {row["n_images"] for row in rows(tmp_path / "analysis")} == {"2"}


def test_images_that_moved_are_named(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = (copied / "photos").rename(copied / "moved")
    (copied / "run" / "sessions").rename(copied / "no sessions")
    assert analyze(str(copied / "run")) == 1
    assert "does not say where the images are; give one --data" in capsys.readouterr().err
    assert analyze(str(copied / "run"), "--data", str(folder)) == 0
    for file in folder.rglob("*.png"):
        file.write_bytes(file.read_bytes() + b"0")
    assert analyze(str(copied / "run"), "--data", str(folder)) == 1
    assert "does not hold the images" in capsys.readouterr().err


def change(run: Path, **values: Any) -> None:
    """Other words in run.json, of its only model."""
    settings = json.loads((run / "run.json").read_text())
    settings["evaluations"][0]["record"].update(values)
    (run / "run.json").write_text(json.dumps(settings))


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"weights_sha256": "0" * 64}, "have changed since the run (sha256 00000000 there"),
        ({"checkpoint": "gone.pth"}, "mine of"),
        ({"model": "evil.py:build"}, "is code, evil.py:build, which is not run"),
    ],
)
def test_what_is_not_as_it_was_is_refused(
    values: dict[str, str], line: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(copied / "run", **values)
    assert analyze(str(copied / "run")) == 1
    shown = capsys.readouterr().err
    assert line in shown
    assert shown.count("\n") == 1
    assert not (copied / "run" / "analysis").exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--model", f"{VIT}=random:0"), "--model is answered by"),
        (("--crop", "160"), "--crop is answered by"),
        (("--weights", "ema"), "--weights is answered by"),
        (("--data", "a", "--data", "b"), "one --data, not of 2"),
        (("--analysis", "kernels"), "looks at no model; leave"),
    ],
)
def test_options_that_a_run_has_answered_are_refused(
    options: tuple[str, ...], line: str, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyze(str(copied / "run"), *options) == 1
    shown = capsys.readouterr().err
    assert line in shown
    assert shown.count("\n") == 1
