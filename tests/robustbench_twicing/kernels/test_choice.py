"""Which kernels: chosen by the processor, recorded, and off with one option."""

from pathlib import Path

import pytest
import torch

from robustbench_twicing import load_model
from robustbench_twicing.cli import main
from robustbench_twicing.errors import UserError
from robustbench_twicing.kernels import choice, choose_kernels
from robustbench_twicing.kernels.linear import OneDnnLinear

CPU = torch.device("cpu")
onednn = pytest.mark.skipif(not choice.has_onednn(), reason="this torch has no oneDNN")


@pytest.mark.parametrize(
    ("about", "capability", "device", "expected"),
    [
        ("vendor_id\t: AuthenticAMD", "AVX512", "cpu", "onednn"),
        ("vendor_id\t: AuthenticAMD", "AVX2", "cpu", "plain"),
        ("vendor_id\t: GenuineIntel", "AVX512", "cpu", "plain"),
        ("vendor_id\t: AuthenticAMD", "AVX512", "cuda", "plain"),
        (None, "AVX512", "cpu", "plain"),
    ],
)
@onednn
def test_auto_is_onednn_where_a_gain_was_measured(
    about: str | None,
    capability: str,
    device: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    file = tmp_path / "cpuinfo"
    if about is not None:
        file.write_text(about)
    monkeypatch.setattr(choice, "_CPU_INFO", file)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert choose_kernels("auto", torch.device(device)) == expected
    assert choose_kernels("plain", torch.device(device)) == "plain"


def test_what_cannot_be_done_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"--kernels 'mkl' is unknown; it is auto, plain, onednn"):
        choose_kernels("mkl", CPU)
    with pytest.raises(UserError, match=r"--kernels onednn is for the CPU, .* this is cuda"):
        choose_kernels("onednn", torch.device("cuda"))
    monkeypatch.setattr(choice, "has_onednn", lambda: False)
    with pytest.raises(UserError, match=r"with a torch that has oneDNN; .* use auto or plain"):
        choose_kernels("onednn", CPU)
    assert choose_kernels("auto", CPU) == "plain"


@onednn
def test_the_choice_is_recorded() -> None:
    for name in ("plain", "onednn"):
        model = load_model("timm:test_vit", "random:0", kernels=name)
        assert model.record.details["kernels"] == name
        layers = any(isinstance(each, OneDnnLinear) for each in model.modules())
        assert layers == (name == "onednn")


@onednn
def test_a_run_is_not_continued_with_other_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "--model", "timm:test_vit=random:0", "--data", "samples:imagenet"]
    command += ["--limit", "2", "--attacks", "clean", "--out", str(tmp_path / "run")]
    assert main([*command, "--kernels", "onednn"]) == 0
    assert main([*command, "--kernels", "plain"]) == 1
    assert "kernels: 'onednn' there, 'plain' asked for" in capsys.readouterr().err
