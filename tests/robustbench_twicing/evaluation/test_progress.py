"""When a run stops starting parts."""

import pytest

from robustbench_twicing.evaluation import progress
from robustbench_twicing.evaluation.progress import Stop


class Clock:
    """In place of the module `time`."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def test_without_a_deadline_it_goes_on_until_it_is_asked(clock: Clock) -> None:
    stop = Stop()
    clock.seconds = 1e9
    assert not stop.now
    stop.ask("SIGTERM")
    stop.ask("SIGINT")
    assert (stop.now, stop.reason) == (True, "SIGTERM")


def test_no_part_is_started_that_would_end_after_the_deadline(clock: Clock) -> None:
    """Parts of 10 and 7 seconds; at 121 of 130 another one of 10 would be too long."""
    stop = Stop(deadline=130.0)
    stop.part_begins()
    clock.seconds = 110.0
    stop.part_ends()
    assert not stop.now
    clock.seconds = 117.0
    stop.part_ends()
    assert not stop.now
    clock.seconds = 121.0
    assert (stop.now, stop.reason) == (True, "out of time")


def test_the_time_between_two_models_is_not_a_part(clock: Clock) -> None:
    stop = Stop(deadline=130.0)
    clock.seconds = 125.0
    stop.part_begins()
    clock.seconds = 126.0
    stop.part_ends()
    assert not stop.now
