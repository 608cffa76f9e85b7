"""Whether answers are better than guesses, and what the answers of a mistaken set-up look like."""

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Classes = NDArray[np.integer[Any]]
LEVEL = 0.05
"""Answers that guesses would match this often are no better than these."""
SURE = 1e-4
"""Likewise, for a set-up that is named as the cause."""
SHUFFLES = 199
"""Of the answers, for a chance that depends on how often each class is a label and an answer."""
LEVEL_OF_ORDER = 0.01
"""Share of these in which labels may follow answers as closely as they do."""
PER_CLASS = 4
"""Images of a class, on average, that can tell which class stands for which."""


def chance_of(target: Classes, prediction: Classes, at_least: int | None = None) -> float:
    """How probable it is that as many answers are right if they know nothing of the images.

    Whoever guesses is right as often as his answers and the labels have classes in common by
    their numbers alone: in one of K cases, or more where one class prevails in both.

    Args:
        target: class indices (N,).
        prediction: answers (N,).
        at_least: right answers, if not those of the predictions.
    """
    from scipy.special import bdtrc  # a quarter of a second that most reports do not need

    classes = int(max(target.max(initial=0), prediction.max(initial=0))) + 1
    labels, answers = (np.bincount(of, minlength=classes) / len(of) for of in (target, prediction))
    right = int((target == prediction).sum()) if at_least is None else at_least
    return float(bdtrc(right - 1, len(target), float(labels @ answers)))


def is_guessing(target: Classes, prediction: Classes) -> bool:
    """Whether answers (N,) for labels of several classes (N,) are no better than guesses."""
    if len(np.unique(target)) < 2:
        return not (target == prediction).any()
    if chance_of(target, prediction) <= LEVEL:
        return False
    if (target == prediction).all():
        return _chance_of_all(target) > LEVEL
    return _chance_in_any_order(_right, target, prediction) > LEVEL


def _chance_of_all(target: Classes) -> float:
    """As `_chance_in_any_order`, of all labels as answers: in one of a multinomial's orders."""
    counts = np.unique(target, return_counts=True)[1].tolist()
    together = zip(accumulate(counts), counts, strict=True)
    return float(Fraction(1, prod(comb(whole, number) for whole, number in together)))


def _right(target: Classes, prediction: Classes) -> int:
    return int((target == prediction).sum())


def _follows(target: Classes, prediction: Classes) -> int:
    """Images of the class that their answer mostly stands for; of both, codes from 0."""
    answers = int(prediction.max()) + 1
    table = np.bincount(target * answers + prediction).astype(np.int64)
    table.resize(int(target.max()) + 1, answers)
    return int(table.max(0).sum())


def _chance_in_any_order(
    statistic: Callable[[Classes, Classes], int], target: Classes, prediction: Classes
) -> float:
    """How probable a statistic so high is if the same answers are given to the images in any order.

    Where nearly all labels are of one class, most answers are right, whoever gives them: only
    whether the few others are told apart says that the images were looked at. This is a permutation
    test (Fisher 1935) by `SHUFFLES` seeded orders.
    """
    rows = np.lexsort((prediction, target))  # records come in any order
    labels, answers = target[rows], prediction[rows]
    observed, draw = statistic(labels, answers), np.random.default_rng(0)
    reached = sum(statistic(labels, draw.permutation(answers)) >= observed for _ in range(SHUFFLES))
    return (1 + reached) / (1 + SHUFFLES)


def is_surely_better(target: Classes, prediction: Classes) -> bool:
    """Whether many answers are right, and guesses would hardly ever be right as often."""
    many = 3 * (target == prediction).sum() > len(target)
    return bool(many) and len(np.unique(target)) > 1 and chance_of(target, prediction) < SURE


def label_mistake(target: Classes, prediction: Classes) -> str:
    """What is wrong with the labels of a network that is no better than guessing; else empty.

    Returns:
        ``labels-plus-1`` where the label minus one would be right, ``labels-minus-1``, or
        ``classes-in-another-order`` where each class is mostly taken for one other.
    """
    for name, shift in (("labels-plus-1", -1), ("labels-minus-1", 1)):
        if is_surely_better(target + shift - min(0, shift), prediction - min(0, shift)):
            return name
    if len(target) < PER_CLASS * len(np.unique(target)) or len(np.unique(prediction)) < 2:
        return ""
    classes, answers = (np.unique(of, return_inverse=True)[1] for of in (target, prediction))
    agreed = _follows(classes, answers)
    by_chance = _chance_in_any_order(_follows, classes, answers) if 2 * agreed > len(target) else 1
    return "classes-in-another-order" if by_chance <= LEVEL_OF_ORDER else ""
