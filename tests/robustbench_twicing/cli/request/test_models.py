"""--on-bad-model skip: a model that cannot be evaluated does not keep the others from it."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.cli.app import main
from robustbench_twicing.files import stamp

GOOD = "fmnist_deit=bundled"
RAISES = """
from torch import nn

class Raises(nn.Module):
    def forward(self, x):
        raise ValueError("no such layer")
"""
DATA = ("--data", "fashion-mnist:test1000", "--limit", "4", "--device", "cpu")
Evaluate = Callable[..., int]


@pytest.fixture
def headless(tmp_path: Path) -> str:
    """The bundled DeiT's file without its classifier."""
    weights = load_file(bundled_file("fmnist_deit"))
    backbone = {key: tensor for key, tensor in weights.items() if not key.startswith("head.")}
    save_file(backbone, tmp_path / "headless.safetensors")
    return f"fmnist_deit={tmp_path / 'headless.safetensors'}"


@pytest.fixture
def evaluate(tmp_path: Path) -> Evaluate:
    """`eval` on four images into the run folder, with further arguments."""

    def run(*arguments: str, command: str = "eval") -> int:
        out = ("--out", str(tmp_path / "run"))
        return main([command, *DATA, "--attacks", "clean", *out, *arguments])

    return run


def labels(folder: Path) -> list[str]:
    with (folder / "results.csv").open(newline="") as file:
        return [row["label"] for row in csv.DictReader(file)]


def test_the_others_are_evaluated_and_each_reason_is_said(
    evaluate: Evaluate, headless: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text(RAISES)
    reasons = {
        headless: "does not fit fmnist_deit: missing head.weight, head.bias",
        "fmnist_deit=missing.pth": "there is no such file",
        "fmnist_diet=bundled": "no model is called 'fmnist_diet'",
        "timm:test_vit=random:0": "timm:test_vit has 1000 classes",
        f"{tmp_path / 'own.py'}:Raises": "the network fails on images of (1, 3, 224, 224)",
    }
    models = [part for model in [*reasons, GOOD] for part in ("--model", model)]
    assert evaluate(*models, "--on-bad-model", "skip") == 3
    assert labels(tmp_path / "run") == ["fmnist_deit"]
    streams = capsys.readouterr()
    for stream, start in ((streams.out, "left out: "), (streams.err, "warning: left out: ")):
        lines = [line for line in stream.splitlines() if line.startswith(start)]
        assert len(lines) == len(reasons)
        for line, (model, reason) in zip(lines, reasons.items(), strict=True):
            assert line.startswith(f"{start}--model {model}: ")
            assert reason in line


def test_labels_stay_with_their_models(
    evaluate: Evaluate, headless: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--model", headless, "--label", "first", "--model", GOOD, "--label", "second")
    assert evaluate(*asked, "--on-bad-model", "skip") == 3
    assert labels(tmp_path / "run") == ["second"]
    assert evaluate("--model", GOOD, "--label", "second", "--on-bad-model", "skip") == 0
    assert "left out" not in capsys.readouterr().out.rpartition("results: ")[2]


def test_in_a_run_that_was_begun_they_are_left_out_again(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where both models are known from the first time, and the run has nothing left to do."""
    monkeypatch.setenv("ROBUSTBENCH_TWICING_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(stamp, "SETTLED", -1.0)
    models = ("--model", GOOD, "--model", "timm:test_vit=random:0")
    for _ in range(2):
        assert evaluate(*models, "--on-bad-model", "skip") == 3
        assert labels(tmp_path / "run") == ["fmnist_deit"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "does not fit fmnist_deit: missing head.weight"),
        (("--on-bad-model", "stop"), "does not fit fmnist_deit: missing head.weight"),
        (("--on-bad-model", "ignore"), "--on-bad-model 'ignore' is unknown. Known: stop, skip"),
        (("--on-bad-model", "skip", "--label", "a"), "1 --label for 2 --model"),
        (("--on-bad-model", "skip", "--mean", "1"), "--mean '1' is not three numbers"),
        (("--on-bad-model", "skip", "--checkpoint", "f"), "and --checkpoint another one"),
        (("--on-bad-model", "skip", *DATA[:2]), "2 data sets are called fashion-mnist:test1000"),
    ],
)
def test_unless_it_is_to_be_skipped_or_the_mistake_is_of_all_it_is_refused(
    arguments: tuple[str, ...],
    message: str,
    evaluate: Evaluate,
    headless: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert evaluate("--model", GOOD, "--model", headless, *arguments) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "run").exists()


def test_where_no_model_is_left_it_is_a_mistake(
    evaluate: Evaluate, headless: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = "fmnist_deit=missing.pth"
    models = ("--model", headless, "--model", missing)
    assert evaluate(*models, "--on-bad-model", "skip") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "no model is left to evaluate: --model fmnist_deit=" in line
    assert f"missing head.weight, head.bias; --model {missing}: " in line
    assert not (tmp_path / "run").exists()


def test_plan_says_it_too(
    evaluate: Evaluate, headless: str, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ("--model", headless, "--model", GOOD)
    assert evaluate(*models, "--on-bad-model", "skip", command="plan") == 3
    out = capsys.readouterr().out
    assert f"warning: left out: --model {headless}: " in out
    assert "Basis: one forward pass" in out


@pytest.fixture
def adapted(tmp_path: Path) -> tuple[str, str]:
    """The bundled DeiT's file, and a LoRA adapter that turns its first image's class round."""
    shutil.copy(bundled_file("fmnist_deit"), tmp_path / "base.safetensors")
    folder = tmp_path / "adapter"
    folder.mkdir()
    matrices = {
        "base_model.model.head.lora_A.weight": torch.ones(1, 64),
        "base_model.model.head.lora_B.weight": torch.eye(10)[:1].T.contiguous(),
    }
    save_file(matrices, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA", "lora_alpha": 9}')
    return f"fmnist_deit={tmp_path / 'base.safetensors'}", str(folder)


def test_an_adapter_goes_with_the_model_in_its_place(
    adapted: tuple[str, str], tmp_path: Path, evaluate: Evaluate
) -> None:
    model, adapter = adapted
    both = ("--model", model, "--model", model, "--label", "base", "--label", "tuned")
    assert evaluate(*both, "--adapter", "none", "--adapter", adapter) == 0
    base, tuned = (
        evaluation["record"]
        for evaluation in json.loads((tmp_path / "run" / "run.json").read_text())["evaluations"]
    )
    assert base["weights_sha256"] != tuned["weights_sha256"]
    assert base["checkpoint_sha256"] == tuned["checkpoint_sha256"]
    assert "adapter" not in base["details"]
    assert tuned["details"]["adapter"] == adapter


def test_as_many_adapters_as_models_are_given(
    adapted: tuple[str, str], evaluate: Evaluate, capfd: pytest.CaptureFixture[str]
) -> None:
    model, adapter = adapted
    assert evaluate("--model", model, "--model", GOOD, "--adapter", adapter) == 1
    assert "1 --adapter for 2 --model; give one for each, none for one" in capfd.readouterr().err
