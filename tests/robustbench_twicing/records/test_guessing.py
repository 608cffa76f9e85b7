"""How probable it is that guesses match the labels as often: a binomial tail, by hand."""

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from robustbench_twicing.records.guessing import (
    LEVEL,
    _chance_in_any_order,
    _right,
    chance_of,
    is_guessing,
    label_mistake,
)

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


def test_of_nearly_one_class_the_others_decide() -> None:
    """19 of one class and one of another, all right: in one order of 20."""
    nearly = np.array([4] * 19 + [9])
    assert chance_of(nearly, nearly) > LEVEL
    assert not is_guessing(nearly, nearly)
    assert is_guessing(nearly[1:], nearly[1:])  # one order in 19
    assert is_guessing(nearly, nearly[::-1])
    assert is_guessing(nearly, np.full(20, 4))


def test_answers_in_any_order_are_hypergeometric() -> None:
    """Of two classes and 200 images: right is twice what the rarer class has in common."""
    generator = np.random.default_rng(0)
    target, prediction = (np.arange(200) < 150).astype(int), (np.arange(200) < 130).astype(int)
    for _ in range(5):
        answers = generator.permutation(prediction)
        both = int((target & answers).sum())
        wanted = hypergeom.sf(both - 1, 200, 150, 130)
        chance = _chance_in_any_order(_right, target, answers)
        assert chance == pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / 199) + 0.01)
        shuffled = generator.permutation(200)
        assert chance == _chance_in_any_order(_right, target[shuffled], answers[shuffled])


def test_a_set_of_nearly_one_class_is_in_no_other_order() -> None:
    """Every answer mostly stands for that class, whatever the answers are."""
    nearly = np.array([4] * 99 + [9])
    for answers in (np.resize([3, 5], 100), np.resize([0, 1, 2], 100)):
        assert label_mistake(nearly, answers) == ""
    even = np.resize(np.arange(10), 100)
    assert label_mistake(even, 9 - even) == "classes-in-another-order"
