"""train from the command line: what it writes can be evaluated; mistakes are one line."""

from pathlib import Path

import pytest

from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.checkpoints.state_dict import file_sha256
from robustbench_twicing.cli.app import main
from tests.palette import wnid_folders, write

CUT = "fashion-mnist:test1000"
QUICK = ("--recipe", "fmnist", "--set", "epochs=1", "--set", "batch_size=500")
FP32 = ("--set", "precision=fp32")
"""Of no account here, and far quicker than bf16 where a CPU does not know it."""


@pytest.mark.slow
def test_what_is_trained_can_be_evaluated_under_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    arguments = ["train", "-m", "fmnist_twicing[3-4]", "--data", CUT, "--val", CUT]
    assert main([*arguments, "--out", str(out), *QUICK, *FP32]) == 0
    message = capsys.readouterr()
    assert f"right on {CUT}. Evaluate it with --model 'fmnist_twicing[3-4]={out}/" in message.out
    assert "step 2/2, loss " in message.err
    checkpoint = f"={out}/model.safetensors"
    quick = ["--data", CUT, "--limit", "10", "--attacks", "clean"]
    assert main(["eval", "-m", f"fmnist_twicing[3-4]{checkpoint}", *quick,
                 "--out", str(tmp_path / "eval")]) == 0  # fmt: skip
    capsys.readouterr()
    assert main(["eval", "-m", f"fmnist_twicing{checkpoint}", *quick,
                 "--out", str(tmp_path / "other")]) == 1  # fmt: skip
    assert "says it is fmnist_twicing[3-4] (architecture)" in capsys.readouterr().err


@pytest.mark.slow
def test_bundled_weights_of_one_model_are_trained_as_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, start = tmp_path / "run", str(bundled_file("fmnist_deit"))
    arguments = ["train", "-m", "fmnist_twicing", "--data", CUT, "--out", str(out), *QUICK, *FP32]
    assert main([*arguments, "--from", start]) == 1
    line = capsys.readouterr().err
    assert "says it is fmnist_deit (architecture), but fmnist_twicing was asked for" in line
    assert "--arch-override" in line
    assert not out.exists()
    assert main([*arguments, "--from", start, "--arch-override"]) == 0
    capsys.readouterr()
    assert main(["inspect", str(out / "model.safetensors")]) == 0
    shown = capsys.readouterr().out
    assert "from_architecture" in shown
    assert file_sha256(Path(start)) in shown.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["-m", "fmnist_diet"], "no model is called 'fmnist_diet'"),
        (["--recipe", "fminst"], "no recipe is called 'fminst'. Did you mean 'fmnist'"),
        (["--set", "epoch=1"], "a recipe has no 'epoch'"),
        (["--data", "nowhere"], "no data at"),
        (["--val", "fashion-mnist:nowhere"], "names no folder"),
        (["--val", "samples:imagenet"], "a model is trained and validated on the same classes"),
        (["--device", "tpu"], "--device 'tpu' is unknown"),
        (["--threads", "0"], "threads is 0; it must be 1 or more"),
        (["--seed", "-1"], "--seed -1 is negative"),
        (["--from", "nowhere.pth"], "nowhere.pth"),
        (["--from", "random:0"], "--from random:0: weights are random where --from is left out"),
        (["--from", "bundled", "-m", "fmnist_diet"], "no model is called 'fmnist_diet'"),
        (["--from", "bundled", "--weights", "emma"], "--weights 'emma' is unknown"),
        (["--weights", "ema"], "--weights is of --from, which is not given"),
        (["--arch-override"], "--arch-override is of --from, which is not given"),
        (["--data", CUT, "--data", CUT], "train takes the images of one --data, not of 2"),
        (["-m", "fmnist_deit", "-m", "fmnist_fan"], "one model at a time, not 2"),
        (["--class-order", "file"], "--class-order file: fashion-mnist is not Tiny ImageNet"),
        (["--labels-superset"], "--labels-superset is about a label file"),
        (["--data", "samples:imagenet"], "20 images, fewer than one batch of 500"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    changes: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    usual = {"-m": "fmnist_deit", "--data": CUT}
    given = [word for item in usual.items() if item[0] not in changes for word in item]
    arguments = ["train", *given, "--out", str(out), *QUICK, *changes]
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()


def test_nothing_is_trained_on_a_test_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "sketch", wnid_folders([1, 2]))
    arguments = ["train", "-m", "fmnist_deit", "--data", f"sketch={data}", *QUICK]
    assert main([*arguments, "--out", str(tmp_path / "run")]) == 1
    assert "imagenet-sketch is a test set; nothing may be trained on it" in capsys.readouterr().err


def test_a_missing_option_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-m", "fmnist_deit"]) != 0
    assert "Missing option" in capsys.readouterr().err
