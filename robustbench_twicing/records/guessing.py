"""Whether answers are better than guesses, and what the answers of a mistaken set-up look like."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Classes = NDArray[np.integer[Any]]
LEVEL = 0.05
"""Answers that guesses would match this often are no better than these."""
SURE = 1e-4
"""Likewise, for a set-up that is named as the cause."""
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
    return chance_of(target, prediction) > LEVEL


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
    table = np.zeros((int(target.max()) + 1, int(prediction.max()) + 1), np.int64)
    np.add.at(table, (target, prediction), 1)
    favourite = table.argmax(0)[prediction]  # the class that an answer mostly stands for
    agreed = int((favourite == target).sum())
    return "classes-in-another-order" if agreed > len(target) / 2 else ""
