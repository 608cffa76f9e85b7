"""Alternation, warm-up and ratios, on a clock whose times are known."""

import pytest

from robustbench_twicing.classifiers.timing import alternate, median_ratio


class Clock:
    """Moves only when work is done on it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_ways_take_turns_and_the_warm_up_does_not_count(clock: Clock) -> None:
    calls: list[str] = []

    def way(name: str, durations: list[float]) -> None:
        calls.append(name)
        clock.now += durations.pop(0)

    durations = {"a": [9.0, 8.0, 1.0, 2.0, 3.0], "b": [7.0, 7.0, 4.0, 5.0, 6.0]}
    ways = {name: (lambda name=name: way(name, durations[name])) for name in durations}
    seconds = alternate(ways, 3, warm_up=2, clock=clock)
    assert calls == ["a", "b"] * 5
    assert seconds == {"a": [1, 2, 3], "b": [4, 5, 6]}


def test_one_round_warms_up_unless_told(clock: Clock) -> None:
    durations = [5.0, 1.0]

    def way() -> None:
        clock.now += durations.pop(0)

    assert alternate({"a": way}, 1, clock=clock) == {"a": [1.0]}


def test_the_ratio_is_that_of_rounds_not_of_medians() -> None:
    """A machine that is ten times slower in the last rounds changes nothing."""
    floor = [1.0, 1.0, 10.0, 10.0, 10.0]
    assert median_ratio([2 * each for each in floor], floor) == 2
    assert median_ratio([1.0, 9.0, 20.0], [1.0, 1.0, 10.0]) == 2
    with pytest.raises(ValueError, match="zip"):
        median_ratio([1.0], floor)
