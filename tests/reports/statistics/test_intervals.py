"""Wilson's interval agrees with a paper and with a library."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from reports.statistics.intervals import wilson


def test_newcombes_example() -> None:
    """81 of 263: 0.2553 to 0.3662 (Newcombe 1998, Statistics in Medicine 17, table I)."""
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


@pytest.mark.parametrize(
    ("successes", "low", "high"), [(0, 0.0, 0.1611), (1, 0.0089, 0.2361), (20, 0.8389, 1.0)]
)
def test_the_ends_of_twenty(successes: int, low: float, high: float) -> None:
    interval = wilson(successes, 20)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@pytest.mark.slow
@given(st.integers(1, 50_000), st.floats(0, 1), st.sampled_from([0.9, 0.95, 0.99]))
def test_it_equals_statsmodels(trials: int, share: float, level: float) -> None:
    successes = round(share * trials)
    wanted = proportion_confint(successes, trials, alpha=1 - level, method="wilson")
    assert wilson(successes, trials, level) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.slow
@given(st.integers(1, 10_000), st.data())
def test_it_holds_the_share_and_mirrors(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials <= high <= 1
    mirrored = wilson(trials - successes, trials)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((low, high), abs=1e-9)


def test_more_confidence_is_a_wider_interval() -> None:
    assert wilson(81, 263, 0.99).low < wilson(81, 263).low
    assert wilson(81, 263, 0.99).high > wilson(81, 263).high


def test_no_trial_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (1, 0), (0, -1)])
def test_impossible_counts_are_a_bug_of_the_caller(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="is not a count"):
        wilson(successes, trials)
