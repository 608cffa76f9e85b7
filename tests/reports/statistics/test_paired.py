"""Statistics of pairs agree with libraries, with closed forms and with simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, bootstrap
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from reports.statistics.paired import Pair, count_pair, difference_interval, holm, mcnemar

counts = st.integers(0, 300)


def test_cells_are_counted() -> None:
    first = np.array([1, 1, 1, 0, 0, 1, 0], bool)
    second = np.array([1, 0, 1, 1, 0, 0, 0], bool)
    pair = count_pair(first, second)
    assert pair == Pair(both=2, only_first=2, only_second=1, neither=2)
    assert pair.images == 7
    assert pair.difference == pytest.approx(second.mean() - first.mean())


def test_other_images_are_not_pairs() -> None:
    with pytest.raises(ValueError, match="3 and 2 images"):
        count_pair(np.zeros(3, bool), np.zeros(2, bool))


@pytest.mark.slow
@given(counts, counts, counts, counts)
def test_mcnemar_equals_statsmodels_and_the_binomial_test(a: int, b: int, c: int, d: int) -> None:
    p = mcnemar(Pair(a, b, c, d))
    assert p == pytest.approx(float(statsmodels_mcnemar([[a, b], [c, d]], exact=True).pvalue))
    if b + c:
        assert p == pytest.approx(binomtest(c, b + c).pvalue)
    assert 0 < p <= 1


def test_mcnemar_in_closed_form() -> None:
    """Ten to none: twice the chance of ten heads; the concordant images change nothing."""
    assert mcnemar(Pair(0, 0, 10, 0)) == pytest.approx(2 / 2**10)
    assert mcnemar(Pair(500, 10, 0, 7)) == pytest.approx(2 / 2**10)
    assert mcnemar(Pair(5, 3, 3, 5)) == 1
    assert mcnemar(Pair(9, 0, 0, 1)) == 1


@pytest.mark.slow
@settings(max_examples=15)  # statsmodels takes a tenth of a second for one
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    wanted = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(wanted), abs=1e-12)


def test_holms_example() -> None:
    """0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, never falling: all but the first are 0.06."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


@pytest.mark.slow
@given(counts, counts, counts, counts, st.integers(0, 3))
def test_the_interval_holds_the_difference(a: int, b: int, c: int, d: int, seed: int) -> None:
    pair = Pair(a, b, c, d)
    low, high = difference_interval(pair, seed=seed, draws=1000)
    assert -1 <= low <= high <= 1
    if pair.images:
        assert low <= pair.difference <= high


def test_the_interval_is_seeded() -> None:
    pair = Pair(50_000, 20_000, 30_000, 40_000)
    interval = [difference_interval(pair, seed=seed, draws=100) for seed in (1, 1, 2)]
    assert interval[0] == interval[1] != interval[2]


@pytest.mark.slow
def test_the_interval_mirrors_when_the_models_change_places() -> None:
    low, high = difference_interval(Pair(50, 20, 45, 40), seed=1, draws=200_000)
    other = difference_interval(Pair(50, 45, 20, 40), seed=2, draws=200_000)
    assert (-high, -low) == pytest.approx(tuple(other), abs=0.007)


@pytest.mark.slow
def test_it_is_scipys_bootstrap_of_the_paired_images() -> None:
    pair = Pair(100, 40, 60, 50)
    changes = np.repeat([0, -1, 1, 0], pair)
    interval = bootstrap(
        (changes,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    own = difference_interval(pair, seed=0, draws=20_000)
    assert own == pytest.approx((interval.low, interval.high), abs=0.005)


def test_many_images_give_the_normal_interval() -> None:
    pair = Pair(30_000, 2_000, 2_400, 15_600)
    n = pair.images
    variance = (pair.only_first + pair.only_second) / n - pair.difference**2
    reach = 1.959964 * (variance / n) ** 0.5
    low, high = difference_interval(pair, seed=0)
    assert (low, high) == pytest.approx(
        (pair.difference - reach, pair.difference + reach), abs=2e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize(("images", "rates"), [(100, (0.1, 0.2)), (300, (0.05, 0.05))])
def test_coverage_by_simulation(images: int, rates: tuple[float, float]) -> None:
    """Of 95 % intervals, about 95 % hold the truth; 600 tries know that to 2 points."""
    generator = np.random.default_rng(0)
    truth, held, tries = rates[1] - rates[0], 0, 600
    for seed in range(tries):
        b, c, rest = generator.multinomial(images, [*rates, 1 - sum(rates)])
        low, high = difference_interval(Pair(int(rest), int(b), int(c), 0), seed=seed, draws=1000)
        held += low <= truth <= high
    assert 0.92 <= held / tries <= 0.98


@pytest.mark.parametrize("images", [1, 10, 1000])
def test_no_disagreement_is_no_certainty(images: int) -> None:
    """The bounds are the share of disagreement that shows none with a chance of 2.5 %."""
    low, high = difference_interval(Pair(images, 0, 0, 0), seed=0)
    assert low == -high
    assert binom.pmf(0, images, high) == pytest.approx(0.025)


def test_no_image_says_nothing() -> None:
    pair = Pair(0, 0, 0, 0)
    assert np.isnan(pair.difference)
    assert difference_interval(pair, seed=0) == (-1, 1)
    assert mcnemar(pair) == 1
