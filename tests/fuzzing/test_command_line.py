"""Damaged files through the command line: exit status 1 and one line, never a traceback."""

import contextlib
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.cli.app import main
from robustbench_twicing.errors import UserError

from .bytewise import BYTEWISE
from .pictures import good_images
from .rounds import Kind, fuzz
from .run_folders import good_run
from .test_checkpoints import KINDS as CHECKPOINTS
from .test_checkpoints import change_header
from .test_images import MUTATIONS as IMAGES
from .test_texts import SUITE
from .textwise import JSONWISE, TEXTWISE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DONE, MISTAKE, ERROR_ROWS, INCOMPLETE = 0, 1, 3, 4
SMALL = ("--data", "fashion-mnist:test1000", "--limit", "4", "--device", "cpu")
MODEL = ("--model", "fmnist_deit=bundled")
FILE = "model.safetensors"


def run_main(*arguments: str) -> None:
    """Run a command.

    Raises:
        UserError: with its one line, where it refuses.
        AssertionError: more than a line, or another exit status.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(arguments)
    said = err.getvalue()
    assert all(each.isprintable() or each == "\n" for each in out.getvalue()), "steers a terminal"
    if status == MISTAKE:
        assert said.startswith("robustbench-twicing: "), said
        assert said.count("\n") == 1, said
        raise UserError(said)
    assert status in (DONE, ERROR_ROWS, INCOMPLETE), status


def evaluate(folder: Path, damaged: Path) -> None:
    """A checkpoint through `eval`."""
    model = ("--model", f"fmnist_deit={damaged}")
    run_main("eval", *model, *SMALL, "--attacks", "clean", "--out", str(folder / "run"))


def plan(folder: Path, damaged: Path) -> None:
    """A suite through `plan`."""
    run_main("plan", *MODEL, *SMALL, "--suite", str(damaged))


def look(folder: Path, damaged: Path) -> None:
    """A folder of images through `data`."""
    (folder / "n01440764").mkdir()
    damaged.rename(folder / "n01440764" / damaged.name)
    run_main("data", str(folder), "--full")


def label(folder: Path, damaged: Path) -> None:
    """A label file through `data`."""
    (folder / "photos").mkdir()
    (folder / "photos" / "a.png").write_bytes(good_images()["a.png"]["a.png"])
    run_main("data", str(folder / "photos"), "--labels", str(damaged))


def report(folder: Path, damaged: Path) -> None:
    """A run folder through `report`."""
    run_main("report", str(folder), "--format", "json", "--out", str(folder / "out"))


COMMANDS: dict[str, Kind] = {
    "inspect": CHECKPOINTS["torch"]._replace(read=lambda _, file: run_main("inspect", str(file))),
    "eval": Kind(
        {"bundled": {FILE: bundled_file("fmnist_deit").read_bytes()}},
        {"": (*BYTEWISE, *(change_header,) * 10)},
        evaluate,
    ),
    "plan": Kind({"suite": {"suite.yaml": SUITE.encode()}}, {"": TEXTWISE}, plan),
    "data": Kind(good_images(), IMAGES, look, names_folder=True, mib=1024),
    "labels": Kind({"a": {"labels.csv": b"file,wnid\na.png,n01440764\n"}}, {"": TEXTWISE}, label),
    "report": Kind(
        {"run": good_run()}, {".json": JSONWISE, "": BYTEWISE}, report, names_folder=True, mib=400
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_damaged_files_end_a_command_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fuzz(f"{name}-command", COMMANDS[name], tmp_path)


def _unfinished_run(path: Path) -> None:
    path.mkdir()
    (path / "run.json").write_text('{"schema": 1}')


HOSTILE: dict[str, Callable[[Path], object]] = {
    "inspect {}": lambda path: path.write_bytes(b"\x80\x02cos\nsystem\n(X\x08\0\0\0touch abctR."),
    "plan --model fmnist_deit=bundled --data fashion-mnist:test1000 --suite {}.yaml": (
        lambda path: path.with_suffix(".yaml").write_text("!!python/object/apply:os.system [ls]")
    ),
    "report {}": _unfinished_run,
}


@pytest.mark.parametrize("command", HOSTILE)
def test_the_program_itself_ends_in_one_line(command: str, tmp_path: Path) -> None:
    HOSTILE[command](tmp_path / "hostile")
    arguments = [each.format(tmp_path / "hostile") for each in command.split()]
    done = subprocess.run(
        [sys.executable, ROOT / "run_eval.py", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == MISTAKE, done.stderr
    assert done.stderr.startswith("robustbench-twicing: ")
    assert done.stderr.count("\n") == 1
    assert "hostile" in done.stderr
    assert done.stdout == ""
