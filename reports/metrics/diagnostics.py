"""Signs that an attack was weak or a number misleads, from the counts of one evaluation."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import inf
from typing import NamedTuple

from robustbench_twicing.conditions.condition import Condition

from ..merging.counts import Answers, Counts

LARGE_BUDGET = Fraction(64, 255)
"""In pixels; a gradient attack that leaves a model standing here has not worked."""
NOTABLE_BUDGET = Fraction(8, 255)
"""In pixels; a gradient attack that takes no image off a model here has followed nothing."""
LARGE_LENGTH, NOTABLE_LENGTH = 20.0, 3.0
"""The same of L2 for images of 224 x 224 pixels; lengths grow with the side."""
STILL_RIGHT = 0.05
"""Share of right images at a large budget that calls for a flag."""
STILL_RIGHT_OF_ONE_STEP = 0.2
"""Likewise after one step, which oversteps: the answers are guesses, one in ten of ten classes."""
USED = 0.9
"""Share of the budget that an attack's largest change is expected to reach."""
ROUNDING_SHARE = 0.01
"""Change of accuracy by 8-bit rounding, or by a larger budget, that calls for a flag."""
EQUAL_LOSSES = 1e-12
"""Relative difference up to which two losses are equal."""


class Scored(NamedTuple):
    """A condition that was scored.

    Attributes:
        condition: what was done to the images.
        counts: of its records.
        trained: whether the network was trained at all.
        answers: labels and clean predictions of its images, in any order.
        side: of the images, in pixels.
    """

    condition: Condition
    counts: Counts
    trained: bool = True
    answers: Answers | None = None
    side: int = 224

    @property
    def eps(self) -> Fraction:
        """Declared budget, in the protocol's own space."""
        return self.condition.eps

    @property
    def right(self) -> int:
        """Images right under the condition."""
        return self.counts.right

    @property
    def leaves_label(self) -> bool:
        """Whether it follows gradients away from the label; a targeted attack need not leave it."""
        return self.condition.white_box and not self.condition.about.targeted

    def is_about_clean_images(self) -> bool:
        """Whether its images are a data set's own, scored over the data set's own classes."""
        return self.condition.class_subset is None and self.condition.images is None

    def is_at_least(self, budget: Fraction, length: float = inf) -> bool:
        """Whether the budget is of L-infinity in pixels, or of L2, and no smaller."""
        if self.condition.threat.norm == "l2":
            return float(self.eps) >= length * self.side / 224
        is_linf = self.condition.threat.norm == "linf"
        return is_linf and self.eps >= budget and self.condition.threat.space == "pixel"


def diagnose(result: Scored, others: Sequence[Scored]) -> list[str]:
    """Flags of one condition; the others are those of the same model, images and protocol.

    Args:
        result: an attacked condition; clean and budget 0 have nothing to diagnose. What is to be
            said of attacks stands at these, not at their worst case, nor where their images are
            scored on another network.
        others: all scored conditions, ``result`` among them.
    """
    if not result.counts.scored:
        return []
    flags = list(_guessing(result))
    if result.eps == 0 or result.condition.is_worst or result.condition.is_transferred:
        return flags
    alone = [flag for check in ALONE for flag in check(result)]
    return flags + alone + [flag for check in COMPARED for flag in check(result, others)]


def _guessing(result: Scored) -> Iterator[str]:
    """Of the clean images, whatever the condition; of few of them nothing can be told."""
    told = result.trained and result.is_about_clean_images()
    if not told or result.answers is None:
        return
    if result.answers.is_guessing:
        yield "at-chance"
        if result.answers.label_mistake:
            yield f"looks-like-{result.answers.label_mistake}"


def _zero_gradient(result: Scored) -> Iterator[str]:
    zero = result.counts.zero_gradients
    if result.condition.white_box and zero:
        yield f"zero-gradient-{_percent(zero / result.counts.gradients)}"


def _loss_not_higher(result: Scored) -> Iterator[str]:
    """Over the images that were right before: many attacks leave the others as they are."""
    counts = result.counts
    if not result.leaves_label or not counts.before:
        return
    # Logits of tiny scale have losses that are all equal to the last digit, and tell nothing.
    lowest, highest = counts.lowest_loss, counts.highest_loss
    alike = highest - lowest <= EQUAL_LOSSES * max(abs(lowest), abs(highest))
    if counts.loss_change <= 0 and not (alike and counts.before > 1):
        yield "loss-not-higher"


def _unbroken(result: Scored) -> Iterator[str]:
    large = result.is_at_least(LARGE_BUDGET, LARGE_LENGTH)
    share = STILL_RIGHT_OF_ONE_STEP if result.condition.about.one_step else STILL_RIGHT
    if result.leaves_label and large and result.right > share * result.counts.scored:
        yield "unbroken-at-large-budget"


def _not_lower(result: Scored) -> Iterator[str]:
    """A few images may change sides by chance; none in sum is what noise does."""
    before = result.counts.before
    notable = result.is_at_least(NOTABLE_BUDGET, NOTABLE_LENGTH)
    if result.leaves_label and notable and 0 < before <= result.right:
        yield "accuracy-not-lower"


def _not_used(result: Scored) -> Iterator[str]:
    """Where the images stayed right. Many attacks give back an image that they could not fool.

    Every pixel has a side of the valid range that is 1/2 away or more.
    """
    left = result.counts.linf_right
    reach = min(float(result.eps), 0.5) if result.is_at_least(Fraction(0)) else 0.0
    if not result.condition.about.control and 0 < left < USED * reach:
        yield f"budget-not-used-{_percent(left / reach)}"


def _rounding(result: Scored) -> Iterator[str]:
    """Over the rows that were scored both ways."""
    both = result.counts.rounded
    change = result.counts.rounded_right - result.counts.unrounded_right
    if abs(change) > max(1, ROUNDING_SHARE * both):
        sample = "" if both == result.counts.scored else f"-of-{both}"
        yield f"8bit-{change:+d}{sample}-right"


def _saturated(result: Scored) -> Iterator[str]:
    share = result.counts.saturated / result.counts.scored
    if result.condition.white_box and share > ROUNDING_SHARE:
        yield f"saturated-{_percent(share)}"


def _not_monotone(result: Scored, others: Sequence[Scored]) -> Iterator[str]:
    of_attack = [rival for rival in others if rival.condition.attack == result.condition.attack]
    smaller = [rival.right for rival in of_attack if rival.eps < result.eps]
    if result.condition.about.control:
        return  # noise climbs nothing, and may do less by chance
    if smaller and result.right - min(smaller) > max(1, ROUNDING_SHARE * result.counts.scored):
        yield "not-monotone"


def _weaker_than_fgsm(result: Scored, others: Sequence[Scored]) -> Iterator[str]:
    if result.condition.about.iterated and _beaten(result, others, lambda by: by.about.one_step):
        yield "fgsm-beats-pgd"


def _weaker_than_black_box(result: Scored, others: Sequence[Scored]) -> Iterator[str]:
    if result.leaves_label and _beaten(
        result, others, lambda by: by.about.gradient_free and not by.white_box
    ):
        yield "black-box-beats-white-box"


def _weaker_than_noise(result: Scored, others: Sequence[Scored]) -> Iterator[str]:
    """Where noise fools some images; at a budget that does nothing, equals prove nothing."""
    noise = [rival for rival in _at(result.eps, others) if rival.condition.about.control]
    before = result.counts.before - max(1, ROUNDING_SHARE * result.counts.scored)
    as_strong = any(rival.right <= min(result.right, before - 1) for rival in noise)
    aims_elsewhere = result.condition.about.control or result.condition.about.targeted
    if not aims_elsewhere and result.right and as_strong:
        yield "noise-as-strong"


ALONE: tuple[Callable[[Scored], Iterator[str]], ...] = (
    _zero_gradient,
    _loss_not_higher,
    _unbroken,
    _not_lower,
    _not_used,
    _rounding,
    _saturated,
)
COMPARED: tuple[Callable[[Scored, Sequence[Scored]], Iterator[str]], ...] = (
    _not_monotone,
    _weaker_than_fgsm,
    _weaker_than_black_box,
    _weaker_than_noise,
)


def _at(eps: Fraction, others: Sequence[Scored]) -> list[Scored]:
    return [rival for rival in others if rival.eps == eps]


def _beaten(result: Scored, others: Sequence[Scored], by: Callable[[Condition], bool]) -> bool:
    rivals = [rival for rival in _at(result.eps, others) if by(rival.condition)]
    few = ROUNDING_SHARE * result.counts.scored
    return any(result.right - rival.right >= few for rival in rivals)


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
