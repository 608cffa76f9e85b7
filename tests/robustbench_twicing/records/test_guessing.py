"""How probable it is that guesses match the labels as often: a binomial tail, by hand."""

import numpy as np
import pytest
from scipy.stats import binom

from robustbench_twicing.records.guessing import chance_of, is_guessing, label_mistake

TWO = np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("at_least", "chance"), [(0, 1), (1, 15 / 16), (3, 5 / 16), (4, 1 / 16), (None, 1 / 16)]
)
def test_four_tosses_of_a_coin(at_least: int | None, chance: float) -> None:
    assert chance_of(TWO, TWO, at_least) == pytest.approx(chance, rel=1e-12)


def test_it_is_the_upper_tail_of_a_binomial_distribution() -> None:
    generator = np.random.default_rng(0)
    target, prediction = generator.integers(0, 10, (2, 500))
    shares = [np.bincount(of, minlength=10) / 500 for of in (target, prediction)]
    right = int((target == prediction).sum())
    wanted = binom.sf(right - 1, 500, float(shares[0] @ shares[1]))
    assert chance_of(target, prediction) == pytest.approx(wanted, rel=1e-9)


def test_five_right_of_five_are_no_guesses_and_four_of_four_might_be() -> None:
    assert is_guessing(TWO, TWO)
    five = np.array([0, 1, 0, 1, 0])
    assert not is_guessing(five, five)


def test_labels_off_by_one_are_named() -> None:
    answers = np.resize(np.arange(10), 50)
    assert label_mistake(answers + 1, answers) == "labels-plus-1"
    assert label_mistake(answers[answers > 0] - 1, answers[answers > 0]) == "labels-minus-1"
