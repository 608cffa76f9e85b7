"""Two public bug reports: a model without gradients is not robust, and no budget is no change."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robustbench_twicing.cli.app import main
from tests.cases import BuildCase

pytestmark = pytest.mark.slow

Rows = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def build(build_case: BuildCase, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Build one case and give back its folder."""
    root = tmp_path_factory.mktemp("cases")
    return lambda name: build_case(name, root)[0]


def evaluate(out: Path, model: str, data: Path, *arguments: str) -> Rows:
    command = ["eval", "--model", model, "--data", str(data), "--device", "cpu"]
    assert main([*command, "--out", str(out), *arguments]) == 0
    with (out / "results.csv").open(newline="") as file:
        return {row["condition"]: row for row in csv.DictReader(file)}


def test_a_model_that_rounds_its_input_is_flagged_where_gradients_are_followed(
    build: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    case = build("h12")
    rows = evaluate(
        case / "run",
        f"{case / 'quantised_model.py'}:build",
        case / "images.npy",
        *("--labels", str(case / "labels.npy"), "--crop", "224", "--resize", "224"),
        *("--attacks", "clean,fgsm,pgd,spsa,noise", "--eps", "4/255"),
        *("--set", "pgd.steps=3", "--spsa-steps", "2", "--spsa-samples", "16"),
    )
    assert rows["clean"]["top1"] == "100.0"
    assert rows["clean"]["flags"] == ""
    for name in ("fgsm", "pgd"):
        row = rows[f"{name}@4/255"]
        assert "zero-gradient-100%" in row["flags"].split(";")
        assert "loss-not-higher" in row["flags"].split(";")
    for name in ("spsa", "noise"):
        assert "zero-gradient" not in rows[f"{name}@4/255"]["flags"]
    out = " ".join(capsys.readouterr().out.split())
    assert "the accuracy is not evidence of robustness" in out
    witness = np.load(case / "witness_adv_eps4.npy").astype(int)
    assert np.abs(witness - np.load(case / "images.npy")).max() <= 4


def test_square_breaks_the_model_that_rounds(build: Callable[[str], Path]) -> None:
    case = build("h12")
    rows = evaluate(
        case / "square",
        f"{case / 'quantised_model.py'}:build",
        case / "images.npy",
        *("--labels", str(case / "labels.npy"), "--crop", "224", "--resize", "224"),
        *("--attacks", "torchattacks:Square,pgd", "--eps", "4/255"),
        *("--set", "torchattacks:Square.n_queries=400", "--set", "pgd.steps=1"),
    )
    assert float(rows["torchattacks:Square@4/255"]["robust_top1"]) < 100


def test_without_a_budget_spsa_is_the_clean_row(build: Callable[[str], Path]) -> None:
    case = build("h11")
    checkpoint = case.parent / "_common" / "two_colour_deit_tiny.pth"
    rows = evaluate(
        case / "run",
        f"deit_tiny_patch16_224={checkpoint}",
        case / "val",
        *("--attacks", "clean,spsa", "--eps", "0"),
    )
    clean, zero = rows["clean"], rows["spsa@0/255"]
    for name in ("top1", "top5", "top1_ci_low", "robust_top1", "linf_255_max"):
        assert zero[name] == clean[name], name
    assert zero["robust_top1"] == "100.0"
    assert zero["linf_255_max"] == "0.0"
    assert zero["n_forward"] == "5"  # four images, one of them in 8 bits, too
