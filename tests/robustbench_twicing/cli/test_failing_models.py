"""Own models that fail in the backward pass, or leave Python: a row or a line, no traceback."""

from pathlib import Path

import pytest

from robustbench_twicing.cli.app import main

CODE = """
import sys
import torch


class Raise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, leave):
        ctx.leave = leave
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if ctx.leave:
            sys.exit("bye")
        raise RuntimeError("no way back")


class Network(torch.nn.Module):
    leave = False

    def forward(self, x):
        return Raise.apply(x.mean((2, 3)).repeat(1, 4)[:, :10], self.leave)


class Leaving(Network):
    leave = True


class Gone(Network):
    def forward(self, x):
        sys.exit("gone")
"""
SMALL = ("--data", "fashion-mnist:test1000", "--limit", "4", "--crop", "28", "--device", "cpu")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "network.py"
    path.write_text(CODE)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "message"),
    [("Network", "RuntimeError: no way back"), ("Leaving", "SystemExit: bye")],
)
def test_a_backward_pass_that_fails_is_error_rows(
    network: str, message: str, code: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attacks = ("--attacks", "clean,fgsm,pgd", "--eps", "4/255", "--out", str(tmp_path / "run"))
    assert main(["eval", "--model", f"{code}:{network}", *SMALL, *attacks]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "fgsm@4/255, pgd@4/255 failed and is not scored" in out
    assert message in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("Network", "no gradient that attacks could follow: RuntimeError: no way back"),
        ("Leaving", "no gradient that attacks could follow: SystemExit: bye"),
        ("Gone", "the network fails on images of (1, 3, 28, 28): SystemExit: gone"),
    ],
)
def test_verify_refuses_it_in_one_line(
    network: str, message: str, code: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "--model", f"{code}:{network}", *SMALL]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_model_that_leaves_python_ends_eval_in_one_line(
    code: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--attacks", "clean", "--out", str(tmp_path / "run"))
    assert main(["eval", "--model", f"{code}:Gone", *SMALL, *out]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "the network fails on images of (1, 3, 28, 28): SystemExit: gone" in last
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_crop_that_patches_do_not_divide_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--model", "timm:test_vit=random:0", "--crop", "130"]) == 1
    err = capsys.readouterr().err
    assert "fails on images of (4, 3, 130, 130)" in err
    assert err.count("\n") == 1
