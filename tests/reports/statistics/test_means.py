"""Bootstrap intervals of means: closed forms, and scipy's bootstrap."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from reports.statistics import means
from reports.statistics.means import mean_intervals

VALUES = np.random.default_rng(0).gamma(2.0, size=(40, 3))


def test_scipy_agrees() -> None:
    low, high = mean_intervals(VALUES, seed=0)
    for number, values in enumerate(VALUES.T):
        there = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=1)
        expected = there.confidence_interval
        width = expected.high - expected.low
        assert low[number] == pytest.approx(expected.low, abs=0.05 * width)
        assert high[number] == pytest.approx(expected.high, abs=0.05 * width)


def test_equal_values_have_no_width() -> None:
    low, high = mean_intervals(np.full((9, 1), 0.25), seed=0)
    assert low[0] == high[0] == pytest.approx(0.25)


def test_two_images_have_three_samples() -> None:
    """0 and 1: a quarter of the samples is 0, a quarter 1, so that the interval is all of it."""
    low, high = mean_intervals(np.array([[0.0], [1.0]]), seed=0)
    assert (low[0], high[0]) == (0, 1)


def test_the_seed_decides_and_numbers_do_not_meet() -> None:
    both = mean_intervals(VALUES, seed=3)
    alone = mean_intervals(VALUES[:, 1:2], seed=3)
    np.testing.assert_allclose([both[0][1], both[1][1]], np.ravel(alone))
    assert not np.allclose(both, mean_intervals(VALUES, seed=4))


def test_an_image_without_the_number_is_left_out() -> None:
    values = np.concatenate([VALUES, np.full((10, 3), np.nan)])
    values[:, 2] = np.nan
    values[0, 2] = 1.0  # one image says nothing of how a number varies
    low, high = mean_intervals(values, seed=0)
    assert np.isnan([low[2], high[2]]).all()
    whole = mean_intervals(VALUES, seed=0)
    np.testing.assert_allclose([low[:2], high[:2]], np.array(whole)[:, :2], rtol=0.05)


def test_memory_is_bounded_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mean_intervals(VALUES, seed=0, draws=100)
    monkeypatch.setattr(means, "MOST_COUNTS", 7 * len(VALUES))
    np.testing.assert_array_equal(mean_intervals(VALUES, seed=0, draws=100), whole)


def test_no_images_have_no_interval() -> None:
    assert np.isnan(mean_intervals(np.empty((0, 2)), seed=0)).all()
