"""Kernels and memory format: chosen, recorded, and off with one option."""

import csv
import json
import shutil
from pathlib import Path

import pytest
import torch

from robustbench_twicing import load_model
from robustbench_twicing.classifiers import kernels
from robustbench_twicing.classifiers.gradient import input_gradient
from robustbench_twicing.classifiers.kernels import OneDnnLinear, check_kernels, has_onednn
from robustbench_twicing.cli.app import main
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.run_folder import RunFolder

pytestmark = pytest.mark.slow

CPU = torch.device("cpu")
onednn = pytest.mark.skipif(not has_onednn(), reason="this torch has no oneDNN")


def test_what_cannot_be_done_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"--kernels 'mkl' is unknown. Known: plain, onednn, c"):
        check_kernels("mkl", CPU)
    with pytest.raises(UserError, match=r"--kernels onednn is for the CPU, .* this is cuda"):
        check_kernels("onednn", torch.device("cuda"))
    monkeypatch.setattr(kernels, "has_onednn", lambda: False)
    with pytest.raises(UserError, match=r"with a torch that has oneDNN; .* use plain"):
        check_kernels("onednn", CPU)
    assert check_kernels("plain", CPU) == "plain"
    with pytest.raises(UserError, match="--kernels 'auto' is unknown"):
        check_kernels("auto", CPU)


@onednn
def test_the_choice_is_recorded() -> None:
    for name in ("plain", "onednn"):
        model = load_model("timm:test_vit", "random:0", kernels=name)
        assert model.record.details["kernels"] == name
        layers = any(isinstance(each, OneDnnLinear) for each in model.modules())
        assert layers == (name == "onednn")


@onednn
def test_a_run_is_continued_with_other_kernels_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "--model", "timm:test_vit=random:0", "--data", "samples:imagenet"]
    command += ["--limit", "4", "--attacks", "clean", "--out", str(tmp_path / "run")]
    command += ["--part-size", "2"]
    assert main([*command, "--kernels", "onednn"]) == 0
    next((tmp_path / "run").rglob("part-000001.parquet")).unlink()
    capsys.readouterr()
    assert main([*command, "--kernels", "plain"]) == 0
    (row,) = csv.DictReader((tmp_path / "run" / "results.csv").read_text().splitlines())
    assert "mixed-machines" in row["flags"]
    shown = capsys.readouterr().out
    assert "kernels onednn contiguous and plain contiguous" in " ".join(shown.split())


@pytest.mark.parametrize("name", ["timm:test_byobnet", "fan_tiny_8_p4_hybrid"])
def test_the_memory_format_changes_no_number(name: str) -> None:
    x, y = torch.rand(2, 3, 64, 64), torch.tensor([1, 2])
    models = [
        load_model(name, "random:0", crop=64, memory_format=memory_format)
        for memory_format in ("contiguous", "channels_last")
    ]
    seen = []
    models[1].network.register_forward_pre_hook(lambda network, given: seen.append(given[0]))
    torch.testing.assert_close(models[1](x), models[0](x), rtol=1e-4, atol=1e-5)
    gradients = [input_gradient(model, x, y) for model in models]
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-3, atol=1e-6)
    assert gradients[1].is_contiguous()  # attacks of libraries flatten it with `view`
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in seen)
    assert [model.record.details["memory_format"] for model in models] == [
        "contiguous",
        "channels_last",
    ]
    assert models[0].record.weights_sha256 == models[1].record.weights_sha256


def test_the_memory_format_is_an_option_of_eval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "--model", "timm:test_byobnet=random:0", "--data", "samples:imagenet"]
    command += ["--limit", "2", "--attacks", "clean,fgsm,foolbox:LinfPGD,torchattacks:MIFGSM"]
    command += ["--eps", "1/255", "--out", str(tmp_path / "run")]
    assert main([*command, "--memory-format", "nchw"]) == 1
    assert "--memory-format 'nchw' is unknown. Known: contiguous, channels_last" in (
        capsys.readouterr().err
    )
    assert main([*command, "--memory-format", "channels_last"]) == 0
    assert main(command) == 0  # the same run: nothing but rounding depends on it


NETWORK = """
import torch
from torch import nn


def make():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 4, 3, stride=2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return nn.Sequential(*layers, nn.Linear(4, 10))


def make_broken():
    class Broken(nn.Module):
        def forward(self, x):
            raise RuntimeError("nothing works")

    return Broken()
"""


@pytest.fixture
def network_file(tmp_path: Path) -> Path:
    file = tmp_path / "network.py"
    file.write_text(NETWORK)
    return file


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
def test_a_compiled_network_gives_the_same_records_but_for_rounding(
    network_file: Path, tmp_path: Path
) -> None:
    """In batches of 2 and 3 images and one at a time, with gradients and without."""
    frames = []
    for options in ([], ["--compile"]):
        out = tmp_path / f"run{len(options)}"
        command = ["eval", "--model", f"{network_file}:make", "--crop", "12", "--part-size", "5"]
        command += ["--data", "fashion-mnist:test1000", "--limit", "7", "--seed", "1"]
        command += [
            "--attacks",
            "clean,fgsm,pgd",
            "--eps",
            "8/255",
            "--set",
            "pgd.steps=3",
            "--batch-size",
            "3",
        ]
        assert main([*command, "--out", str(out), *options]) == 0
        folder = RunFolder.open(out)
        (evaluation,) = folder.manifest.evaluations
        frames.append(folder.records(evaluation).frame)
        (session,) = (out / "sessions").iterdir()
        assert ("compiled" in json.loads(session.read_text())["kernels"]) == bool(options)
    plain, compiled = frames
    assert compiled["rank"].tolist() == plain["rank"].tolist()
    assert compiled["loss"].to_numpy() == pytest.approx(plain["loss"].to_numpy(), abs=1e-5)
    assert compiled["linf"].to_numpy() == pytest.approx(plain["linf"].to_numpy(), abs=1e-6)


def test_what_cannot_be_compiled_is_said(network_file: Path) -> None:
    with pytest.raises(UserError, match=r"--compile: torch .* cannot compile .*nothing works"):
        load_model(f"{network_file}:make_broken", kernels="compiled", crop=12)


def test_one_way_to_compute_is_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", "--model", "timm:test_vit=random:0", "--data", "samples:imagenet"]
    assert main([*command, "--compile", "--kernels", "onednn"]) == 1
    assert "--compile and --kernels onednn" in capsys.readouterr().err
