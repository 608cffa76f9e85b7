"""Streams that are closed, full or gone lose no result; what takes long says so."""

import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from robustbench_twicing.cli import results, terminal
from robustbench_twicing.cli.app import main
from robustbench_twicing.cli.terminal import _Waiting, patiently, prepare_streams
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.cli.conftest import Site

ROOT = Path(__file__).parents[3]
FULL = Path("/dev/full")
full = pytest.mark.skipif(not FULL.exists(), reason="needs a file that is always full")


def shell(line: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """``$0`` is Python, ``$1`` and so on are the arguments."""
    return subprocess.run(
        ["sh", "-c", line, sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


@pytest.mark.slow
@full
def test_a_full_standard_output_is_one_line() -> None:
    done = shell('"$0" run_eval.py models > /dev/full')
    assert done.returncode == 1
    assert done.stderr == (
        "robustbench-twicing: standard output cannot be written to: No space left on device\n"
    )


@pytest.mark.slow
def test_closed_streams_are_no_mistake() -> None:
    assert shell('"$0" run_eval.py --version <&- >&- 2>&-').returncode == 0
    assert shell('"$0" run_eval.py attacks --no-such-option <&- >&- 2>&-').returncode == 2


OPEN = """
import os, sys
from robustbench_twicing.cli.terminal import _Waiting, patiently, prepare_streams
prepare_streams()
print("nowhere", file=sys.stdout)
print("nowhere", file=sys.stderr)
assert not sys.stdin.read()
assert os.open(sys.argv[1], os.O_RDWR | os.O_CREAT) > 2
for number in range(3):
    os.fstat(number)
"""


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_no_file_gets_the_number_of_a_closed_stream(closed: str, tmp_path: Path) -> None:
    """What a library writes to a stream by its number would end in that file."""
    done = shell(f'"$0" -c "$1" "$2" < /dev/null {closed}', OPEN, str(tmp_path / "file"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "file").read_text() == ""


@full
def test_work_goes_on_when_nobody_hears_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal was closed, or the disk with the log is full."""
    with FULL.open("w") as stream:
        for name in ("stdin", "stdout"):
            monkeypatch.setattr(sys, name, getattr(sys, name))
        monkeypatch.setattr(sys, "stderr", stream)
        prepare_streams()
        assert sys.stderr.write("unheard") == 7
        sys.stderr.flush()
        assert sys.stderr.fileno() == stream.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@pytest.mark.slow
def test_a_reader_that_is_gone_takes_no_results_with_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(*arguments: Any, **options: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(results, "print_report", unread)
    with pytest.raises(BrokenPipeError):
        site.eval("--attacks", "clean")
    assert site.results()["clean"]["status"] == "ok"


@pytest.mark.slow
def test_tables_are_shown_where_files_cannot_be_written(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*arguments: Any, **options: Any) -> list[Path]:
        raise UserError("run/results.csv cannot be written: Read-only file system")

    monkeypatch.setattr(results, "save_tables", refuse)
    assert site.eval("--attacks", "clean") == 1
    out, err = capsys.readouterr()
    assert "clean" in out
    assert err.splitlines()[-1] == (
        "robustbench-twicing: run/results.csv cannot be written: Read-only file system"
    )
    assert main(["report", str(site.root / "run")]) == 0
    again, err = capsys.readouterr()
    assert again == out
    assert err == (
        "run/results.csv cannot be written: Read-only file system; --out DIR writes into another "
        "folder\n"
    )


def test_what_takes_long_is_said_in_a_log_and_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", 0.0)
    monkeypatch.setattr(terminal, "LOG_EVERY", -1.0)
    with patiently("reading") as advance:
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer):
                thread.join()
        advance(3, 8)
    assert capsys.readouterr().err == "reading\nreading, 3 of 8\n"


@pytest.mark.parametrize(("patience", "hidden"), [(60.0, False), (0.0, True)])
def test_what_is_quick_or_hidden_says_nothing(
    patience: float,
    hidden: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(terminal, "PATIENCE", patience)
    monkeypatch.setattr(terminal, "LOG_EVERY", -1.0)
    with patiently("reading", hidden=hidden) as advance:
        advance(1, 2)
    assert capsys.readouterr().err == ""
    for timer in (one for one in threading.enumerate() if isinstance(one, threading.Timer)):
        timer.join(30)
        assert not timer.is_alive()


def test_a_terminal_shows_a_bar_that_is_gone_afterwards() -> None:
    stream = io.StringIO()
    shown = _Waiting("reading")
    shown.advance(3, 8)
    shown.console = terminal.Console(file=stream, force_terminal=True, width=60)
    shown.show()
    assert shown.live is not None
    shown.live.refresh()
    shown.end()
    shown.show()  # too late
    assert "━" in stream.getvalue()
    assert "reading, 3 of 8" in stream.getvalue()
    assert not shown.live.is_started
