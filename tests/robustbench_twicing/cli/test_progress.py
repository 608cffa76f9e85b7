"""Progress in a log: percent, images, time, and never more than all."""

import time

import pytest

from robustbench_twicing.cli.progress import duration, show_progress
from robustbench_twicing.evaluation.progress import Step, silent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that a test sets by hand."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_a_log_says_how_far_it_is_every_ten_seconds(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress(8, 80) as report:
        for second, step in [
            (1, Step("net", "clean", 0, 10)),
            (11, Step("net", "pgd@1/255", 0, 30)),
            (12, Step("net", "", 4, 0)),
            (20, Step("net", "pgd@1/255", 0, 40)),
            (22, Step("net", "", 4, 0)),
        ]:
            clock[0] = second
            report(step)
    assert capsys.readouterr().err.splitlines() == [
        "net pgd@1/255: 50 %, 0/8 images, 0.00/s, 0:11 so far, 0:11 left",
        "net: 100 %, 8/8 images, 0.36/s, 0:22 so far, 0:00 left",
    ]


def test_what_was_done_before_counts_neither_as_work_nor_as_speed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress(8, 80) as report:
        report(Step("net", "", 6, 60, resumed=True))
        clock[0] = 10
        report(Step("net", "clean", 0, 20))
        report(Step("net", "", 2, 0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "net clean: 100 %, 0/2 images, 0.00/s, 0:10 so far, 0:00 left"
    assert "2/2 images, 0.20/s" in lines[1]


def test_a_run_that_was_complete_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(8, 80) as report:
        report(Step("net", "", 8, 80, resumed=True))
    assert capsys.readouterr().err == ""


def test_images_that_cannot_be_read_take_no_work(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress(2, 20) as report:
        clock[0] = 1
        report(Step("net", "", 2, 0))
    message = capsys.readouterr().err
    assert message == "net: 100 %, 2/2 images, 2.00/s, 0:01 so far, 0:00 left\n"


@pytest.mark.parametrize("resumed", [False, True])
def test_a_terminal_shows_a_bar(
    resumed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with show_progress(8, 80) as report:
        if resumed:
            report(Step("net", "", 4, 40, resumed=True))
        report(Step("net", "pgd@1/255", 0, 20))
        report(Step("net", "", 2, 0))
        bar = report.bar  # type: ignore[attr-defined]
        (task,) = bar.tasks
        assert task.percentage == (50 if resumed else 25)
        assert task.fields["images"].startswith("2/4 images" if resumed else "2/8 images")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0:00"),
        (59.6, "1:00"),
        (61, "1:01"),
        (3599.4, "59:59"),
        (3723, "1:02:03"),
        (360_000, "100:00:00"),
        (float("inf"), "?"),
        (-3, "0:00"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_reporting_to_nobody() -> None:
    silent(Step("net", "", 1, 1))
