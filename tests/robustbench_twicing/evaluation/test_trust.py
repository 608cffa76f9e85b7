"""What must not go unnoticed: changed models, labels and code, foreign parts, racing starts."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from torch import Tensor, nn

from attacks import fgsm
from robustbench_twicing import evaluate
from robustbench_twicing.cli.app import main
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.atomic import write_atomically, write_once
from robustbench_twicing.records.run_folder import RunFolder
from tests.tiny import convnet, noise, table

MODEL = """import torch
def net():
    model = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    return torch.nn.Sequential(model, torch.nn.Linear(3, 2))
"""


def spoil_labels(model: nn.Module, x: Tensor, y: Tensor, *, generator: object) -> Tensor:
    y.zero_()
    return x.clone()


def writes(content: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(content)

    return write


@pytest.mark.slow
def test_an_attack_that_changes_the_labels_spoils_only_its_own_row() -> None:
    attacks = {"clean": None, "evil@4/255": spoil_labels, "fgsm@0/255": partial(fgsm, eps=0)}
    rows = table(evaluate(convnet(), noise(8), attacks))
    assert rows["evil@4/255"]["status"] == "error"
    assert rows["fgsm@0/255"]["top1"] == rows["clean"]["top1"]


def test_id_and_function_must_say_the_same_budget() -> None:
    with pytest.raises(UserError, match=r"bound to eps=0\.00392157, which is 1/255"):
        evaluate(convnet(), noise(2), {"fgsm@4/255": partial(fgsm, eps=1 / 255)})


def test_another_function_under_the_same_id_is_another_run(tmp_path: Path) -> None:
    evaluate(convnet(), noise(4), {"mine@0/255": partial(fgsm, eps=0)}, out=tmp_path / "run")
    with pytest.raises(UserError, match=r"settings\.function"):
        evaluate(convnet(), noise(4), {"mine@0/255": spoil_labels}, out=tmp_path / "run")


@pytest.mark.slow
def test_a_part_of_another_run_is_refused(tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("other", 1)):
        evaluate(convnet(seed), noise(4), {"clean": None}, out=tmp_path / name, seed=seed)
    shutil.rmtree(tmp_path / "one" / "parts")
    shutil.copytree(tmp_path / "other" / "parts", tmp_path / "one" / "parts")
    folder = RunFolder.open(tmp_path / "one")
    with pytest.raises(UserError, match="belongs to another run"):
        folder.records(folder.manifest.evaluations[0])


def test_only_the_first_of_two_writers_succeeds(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    assert write_once(path, writes("first"))
    assert not write_once(path, writes("second"))
    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["run.json"]


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "results.csv").mkdir()
    (tmp_path / "results.csv" / "kept").touch()
    with pytest.raises(UserError, match=r"results\.csv cannot be written"):
        write_atomically(tmp_path / "results.csv", writes("x"))


@pytest.mark.slow
def test_skipping_bad_images_continues_a_run_that_stopped_at_one(tmp_path: Path) -> None:
    data = noise(8, bad=[6])
    with pytest.raises(UserError):
        evaluate(convnet(), data, {"clean": None}, out=tmp_path / "run", batch_size=4)
    done = evaluate(
        convnet(), data, {"clean": None}, out=tmp_path / "run", batch_size=4, on_bad_image="skip"
    )
    assert table(done)["clean"]["n_images"] == 7


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--checkpoint", "nowhere.pth"], "nowhere.pth"),
        (["--num-classes", "7"], "--num-classes does nothing"),
        (["--weights", "ema"], "--weights does nothing"),
        (["--attention", "fused"], "--attention does nothing"),
    ],
)
def test_options_that_own_code_cannot_use_are_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.py").write_text(MODEL)
    model = f"{tmp_path / 'm.py'}:net"
    command = ["eval", "--model", model, "--data", "samples:imagenet", "--limit", "2", *arguments]
    assert main([*command, "--out", str(tmp_path / "run")]) == 1
    assert message in capsys.readouterr().err


def test_a_suite_file_never_runs_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "evil.py").write_text("open('PWNED', 'w').close()\n")
    suite = tmp_path / "evil.yaml"
    suite.write_text(f"conditions:\n  - attack: {tmp_path / 'evil.py'}:f\n    eps: [1/255]\n")
    command = ["plan", "--model", "timm:test_vit=random:0", "--data", "samples:imagenet"]
    assert main([*command, "--suite", str(suite)]) == 1
    assert "never runs code" in capsys.readouterr().err
    assert not Path("PWNED").exists()
