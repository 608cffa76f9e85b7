"""What is counted of the records of every entry."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robustbench_twicing.records.guessing import is_guessing, label_mistake

NAN = float("nan")


class Counts(NamedTuple):
    """Of one entry. All but the first five are of the scored images alone.

    Attributes:
        skipped: images that could not be read.
        failed: images on which the attack failed.
        missing: images that are not there.
        inherited: images that were not attacked, since another attack has fooled them.
        scored: images that have a rank.
        right: top-1.
        top5: top-5.
        before: right before the attack.
        robust: right before and under the attack.
        linf: largest pixel change in [0, 1]; NaN where there is none.
        l2: likewise, largest Euclidean length of a change.
        l0: likewise, most pixel positions that were changed.
        linf_right: likewise of the images that stayed right.
        gradients: images whose gradient was computed.
        zero_gradients: those among them where it is 0 everywhere.
        saturated: images with a clean loss below `features.SATURATED_LOSS`.
        loss_change: loss minus clean loss, summed over the images that were right before.
        lowest_loss: of both losses of these images; NaN where there is none.
        highest_loss: likewise.
        goal_hits: images that are taken for the goal of a targeted attack.
        goal_hits_right: those among them that were right before.
        rounded: images that were scored in 8 bits, too.
        rounded_right: those among them that are right in 8 bits.
        unrounded_right: those among them that are right as they are.
        answered: images with a clean prediction.
        first_index: smallest position in the data set; 0 where there is none.
        last_index: largest position; -1 where there is none.
        answers: of position, label and clean prediction of all images a hash without order.
        images: likewise of position and image id.
        targets: likewise of position and label; None where a label is lacking.
        pixels: likewise of position and pixels; None where a hash of them is lacking.
        draws: images that are right, by draw of the network; zeros where it was asked once.
    """

    skipped: int = 0
    failed: int = 0
    missing: int = 0
    inherited: int = 0
    scored: int = 0
    right: int = 0
    top5: int = 0
    before: int = 0
    robust: int = 0
    linf: float = NAN
    l2: float = NAN
    l0: float = NAN
    linf_right: float = NAN
    gradients: int = 0
    zero_gradients: int = 0
    saturated: int = 0
    loss_change: float = 0.0
    lowest_loss: float = NAN
    highest_loss: float = NAN
    goal_hits: int = 0
    goal_hits_right: int = 0
    rounded: int = 0
    rounded_right: int = 0
    unrounded_right: int = 0
    answered: int = 0
    first_index: int = 0
    last_index: int = -1
    answers: int = 0
    images: int = 0
    targets: int | None = 0
    pixels: int | None = 0
    draws: tuple[int, ...] = ()

    def accuracies(self, draws: int) -> list[float]:
        """Top-1 of each draw in percent; none where the records do not have so many draws."""
        if draws == 1 or not self.scored or self.draws[:1] != (self.right,):
            return []
        return [100 * right / self.scored for right in self.draws[:draws]]

    @property
    def rows(self) -> int:
        """All records."""
        return self.scored + self.skipped + self.failed + self.missing + self.inherited


class RightBits(NamedTuple):
    """Which images of an entry are right: the bit of value 2^N is that of position N.

    Attributes:
        top1: those with rank 0.
        top5: those with a rank below 5.
    """

    top1: int
    top5: int


@dataclass(frozen=True, eq=False)
class Answers:
    """Clean predictions of some images, in any order.

    Attributes:
        target: labels (N,).
        prediction: classes (N,).
    """

    target: NDArray[np.int32]
    prediction: NDArray[np.int32]

    @cached_property
    def is_guessing(self) -> bool:
        """Whether they are no better than guesses."""
        return is_guessing(self.target, self.prediction)

    @cached_property
    def label_mistake(self) -> str:
        """As `label_mistake`."""
        return label_mistake(self.target, self.prediction)
