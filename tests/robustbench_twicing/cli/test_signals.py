"""A signal ends a run after the part at hand, or in time, and the run can be continued."""

import os
import signal
from collections.abc import Iterator

import pytest

from robustbench_twicing.cli import signals
from robustbench_twicing.cli.app import main
from tests.robustbench_twicing.cli.conftest import Site

pytestmark = pytest.mark.slow

BOTH = [signal.SIGTERM, signal.SIGINT]
NETWORK = """
import os
import signal
import time
from network import Brightness


class Sending(Brightness):
    sent = False

    def forward(self, x):
        second = x.flatten(1).mean(1).max() > 0.9  # it has a nearly white image
        if second and not self.sent:
            self.sent = True
            {action}
        return super().forward(x)


def build():
    return Sending()
"""
SEND = "os.kill(os.getpid(), {number})"


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """SIGINT is ignored in what was started with nohup."""
    before = {number: signal.getsignal(number) for number in BOTH}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for item, handler in before.items():
        signal.signal(item, handler)


def sending(site: Site, action: str) -> Site:
    """The site, with a network that does something in its second batch."""
    (site.root / "sending.py").write_text(NETWORK.format(action=action))
    return site._replace(model=f"{site.root / 'sending.py'}:build")


def status_of_a_child(site: Site) -> int:
    """Of an evaluation in a process of its own, because it ends its process."""
    child = os.fork()
    if child == 0:
        os._exit(site.eval("--attacks", "clean"))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def parts(site: Site) -> int:
    return len(list(site.root.rglob("part-*.parquet")))


def last_line(capsys: pytest.CaptureFixture[str]) -> str:
    err = capsys.readouterr().err
    assert "Traceback" not in err
    return str(err.splitlines()[-1])


@pytest.mark.parametrize("number", BOTH)
def test_one_signal_finishes_the_part(
    site: Site, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = sending(site, SEND.format(number=int(number)))
    assert stopped.eval("--attacks", "clean") == 4
    assert last_line(capsys) == (
        f"robustbench-twicing: stopped by {number.name}, 3 images left; what was finished is kept; "
        f"the same command with --out {site.root / 'run'} continues it"
    )
    assert parts(site) == 2
    assert stopped.eval("--attacks", "clean") == 0
    assert site.results()["clean"]["n_images"] == "11"


def test_a_second_signal_stops_at_once(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "ECHO", 0.05)
    send = SEND.format(number=int(signal.SIGTERM))
    stopped = sending(site, f"{send}; time.sleep(0.1); {send}; time.sleep(60)")
    assert stopped.eval("--attacks", "clean") == 4
    assert last_line(capsys).startswith("robustbench-twicing: stopped; what was finished is kept")
    assert parts(site) == 1


def test_one_signal_that_comes_twice_is_one(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """As from a scheduler to every process, and again from torchrun to its workers."""
    send = SEND.format(number=int(signal.SIGTERM))
    stopped = sending(site, f"{send}; {send}; {SEND.format(number=int(signal.SIGINT))}")
    assert stopped.eval("--attacks", "clean") == 4
    assert "stopped by SIGTERM, 3 images left" in last_line(capsys)
    assert parts(site) == 2


def test_a_signal_that_was_ignored_stays_ignored(site: Site) -> None:
    """As SIGINT in the background jobs of a script, which Ctrl-C is not meant for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopped = sending(site, SEND.format(number=int(signal.SIGINT)))
    assert stopped.eval("--attacks", "clean") == 0


def test_a_third_signal_ends_the_process(
    site: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Even where the second one has not: it may have come where nothing could be given up."""
    monkeypatch.setattr(signals, "ECHO", 0.05)
    send = SEND.format(number=int(signal.SIGINT))
    swallowed = f"exec('try:\\n time.sleep(0.1); {send}\\nexcept KeyboardInterrupt: pass')"
    stopped = sending(site, f"{send}; {swallowed}; {send}; time.sleep(60)")
    assert status_of_a_child(stopped) == 4
    assert "ended; what was finished is kept; the same command with --out" in capfd.readouterr().err
    assert parts(site) == 1


def test_a_part_that_takes_too_long_is_given_up(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "GRACE", 0.1)
    stopped = sending(site, SEND.format(number=int(signal.SIGINT)) + "; time.sleep(60)")
    assert stopped.eval("--attacks", "clean") == 4
    assert "SIGINT: stopping after this part" in (err := capsys.readouterr().err)
    assert err.splitlines()[-1].startswith("robustbench-twicing: stopped; what was finished")
    assert parts(site) == 1


def test_work_that_cannot_be_interrupted_is_ended(
    site: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As in a call that never comes back from a library: in a process of its own, it is ended."""
    monkeypatch.setattr(signals, "GRACE", 0.2)
    monkeypatch.setattr(signals, "LAST", 0.2)
    action = (
        SEND.format(number=int(signal.SIGTERM))
        + "; signal.setitimer(signal.ITIMER_REAL, 0); time.sleep(60)"
    )
    stopped = sending(site, action)
    assert status_of_a_child(stopped) == 4
    assert "ended; what was finished is kept; the same command with --out" in capfd.readouterr().err
    assert parts(site) == 1


def test_handlers_are_put_back(site: Site) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)]
    assert site.eval("--attacks", "clean") == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_out_of_time_nothing_is_started_and_the_run_can_be_continued(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval("--attacks", "clean", "--max-hours", "1e-9") == 4
    out, err = capsys.readouterr()
    assert "incomplete" in out
    assert "11 images left (out of time); what was finished is kept; the same command with" in err
    assert parts(site) == 0
    assert site.eval("--attacks", "clean", "--max-hours", "1") == 0


@pytest.mark.parametrize("hours", ["0", "-1", "nan", "inf"])
def test_bad_hours_are_refused(hours: str, site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.eval("--max-hours", hours) == 1
    assert "is not a positive number of hours" in capsys.readouterr().err
    assert not (site.root / "run").exists()


def test_a_signal_before_the_work_is_one_line(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("robustbench_twicing.cli.request.request.make_request", interrupted)
    assert main(["eval", "--model", "x", "--data", "y"]) == 4
    assert last_line(capsys).startswith("robustbench-twicing: interrupted; ")


def test_once_all_is_said_a_signal_adds_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While the interpreter ends it would be a traceback, and another status."""
    monkeypatch.setattr("sys.argv", ["robustbench-twicing", "--version"])
    assert main(["--version"]) == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert main() == 0
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
