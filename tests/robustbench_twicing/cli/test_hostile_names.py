"""Names that would steer a terminal, a browser or a spreadsheet are shown, and do nothing."""

import io
import os
from pathlib import Path

import pytest
import torch
from rich.table import Table
from rich.text import Text

from robustbench_twicing.cli.app import main
from robustbench_twicing.cli.terminal import Console
from tests.palette import write

HOSTILE = ("\x1b[2J\x1b[31mred", "\x9b31m", "\u202egnp.exe", "\x07", "\ud800", "a\rb")


def printed(console: Console) -> str:
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("name", HOSTILE)
def test_the_console_steers_nothing(name: str) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=60)
    table = Table(title="x")
    table.add_column("name")
    table.add_row(Text(name, style="bold"))
    console.print(table, Text(name), name)
    own = "\x1b[1m"
    assert own in printed(console), "rich's own style is left"
    left = printed(console).replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\x1b[3m", "")
    assert all(each.isprintable() or each == "\n" for each in left)


def test_a_name_between_colons_is_no_emoji() -> None:
    console = Console(file=io.StringIO(), width=60)
    console.print("model.py:two: on clean", markup=False)
    assert printed(console) == "model.py:two: on clean\n"


@pytest.mark.parametrize("name", HOSTILE)
def test_inspect_shows_hostile_keys(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.pth"
    torch.save({"model": {name: torch.zeros(2)}, "arch": name, name: 1, "args": {name: name}}, path)
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert all(each.isprintable() or each == "\n" for each in out)
    assert "args" in out


def test_an_error_about_a_hostile_name_is_one_safe_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("a.png,\x1b[31mred\u202e\n")
    write(tmp_path / "photos", {"a.png": 0})
    assert main(["data", str(tmp_path / "photos"), "--labels", str(labels)]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert r"\x1b[31mred\u202e" in err


@pytest.mark.slow
def test_folders_with_hostile_names_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "photos", {"n01440764/\x1b[31m[bold]x[/].png": 0, "n01440764/[/].png": 0})
    (tmp_path / "photos" / "n01440764" / "bad\x1b[2J.png").write_bytes(b"")
    assert main(["data", str(tmp_path / "photos"), "--full"]) == 0
    out = capsys.readouterr().out
    assert r"bad\x1b[2J.png" in out
    assert "\x1b" not in out


def test_an_argument_that_is_no_text_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"photos-\xff")
    assert main(["data", name]) == 1
    assert "the argument 'photos-\\udcff' is not valid UTF-8" in capsys.readouterr().err
