"""Progress: time left, passes, models and conditions, and never more than all."""

import io
import time
from dataclasses import replace

import pytest
from rich.console import Console

from robustbench_twicing.cli.progress import Stage, computed, duration, show_progress
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.evaluation.progress import Step, silent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that a test sets by hand."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


CLEAN = Step("net", "clean", 0, 10, key="pixel:clean")
PGD = Step("net", "pgd@1/255", 0, 30, key="pixel:pgd@1/255")
KEYS = ["pixel:clean", "pixel:pgd@1/255"]


def test_a_log_says_how_far_it_is_every_ten_seconds(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress(8, 80, models=["net", "other"], conditions=KEYS) as report:
        for second, step in [
            (1, CLEAN),
            (11, PGD),
            (12, Step("net", "", 4, 0)),
            (20, PGD._replace(label="other", units=40)),
            (22, Step("other", "", 4, 0)),
        ]:
            clock[0] = second
            report(step)
    assert capsys.readouterr().err.splitlines() == [
        "0:11 left, 50 %, 40 of 80 passes, 3.6/s, model 1 of 2: net, condition 2 of 2: pgd@1/255",
        "done in 0:22, 100 %, 80 of 80 passes, 3.6/s, model 2 of 2: other",
    ]


def test_a_condition_of_two_protocols_counts_as_two() -> None:
    stage = Stage(2, 20, [], ["pixel:clean", "paper:clean", "paper:clean"])
    stage.add(Step("net", "clean", 0, 10, key="paper:clean"))
    assert stage.place == "net, condition 2 of 2: clean"


def test_conditions_without_a_pass_of_their_own_are_not_counted() -> None:
    images = replace(clean(), id="clean/imagenet-a-classes", class_subset="imagenet-a")
    assert computed([clean(), images, clean("paper")]) == ["pixel:clean", "paper:clean"]


def test_what_was_done_before_counts_neither_as_work_nor_as_speed(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with show_progress(8, 80) as report:
        report(Step("net", "", 6, 60, resumed=True))
        clock[0] = 10
        report(Step("net", "clean", 0, 20))
        report(Step("net", "", 2, 0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0:00 left, 100 %, 20 of 20 passes, 2/s, net, clean"
    assert lines[1].startswith("done in 0:10, 100 %, 20 of 20 passes, 2/s")


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
    assert message == "done in 0:01, 100 %, 20 of 20 passes, 20/s, net\n"


@pytest.mark.parametrize("width", [40, 80, 120])
def test_on_a_terminal_nothing_is_cut(width: int, clock: list[float]) -> None:
    """Whatever the labels are; the time left stands first."""
    label, attack = "deit_tiny_twicing_patch16_224[10-12]", "torchattacks:VMIFGSM@l2:0.5"
    stage = Stage(8, 12_345_678, [label, "b"], ["clean", attack])
    clock[0] = 3600
    stage.add(Step(label, attack, 0, 2_345_678))
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    console.print(stage)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\u2026" not in text
    assert all(len(line) <= width for line in text.splitlines())
    assert text.startswith("4:15:47 left")
    clock[0] += 47
    assert stage.left == "4:15:00 left", "it runs down until the next step"
    assert "652/s" in stage.passes
    words = " ".join(text.split())
    for part in (f"model 1 of 2: {label}", f"condition 2 of 2: {attack}", "652/s"):
        assert part in words or part in text.replace("\n", "")


def test_a_terminal_shows_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    with show_progress(8, 80) as report:
        report(Step("net", "", 4, 40, resumed=True))
        report(Step("net", "pgd@1/255", 0, 20))
    assert "20 of 40 passes" in capsys.readouterr().err


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
