"""What a run charges each condition with: passes of its own, and its share of what others share."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .condition import CLEAN, Condition


class Passes(NamedTuple):
    """Images through the network forward and backward, per image."""

    forward: int
    backward: int

    def plus(self, forward: int, backward: int) -> "Passes":
        """With more of them."""
        return Passes(self.forward + forward, self.backward + backward)


def charges(conditions: Sequence[Condition], draws: int = 1) -> Mapping[str, Passes | None]:
    """Passes by condition's key, as results.csv counts them without those in 8 bits.

    The clean pass serves all protocols. An attack of budget 0 gives the clean image back. The
    gradient at the clean images is computed once per attacked label and charged to the first
    condition that asks for it; whatever the first attack by gradients is, the diagnostics ask for
    it there.

    Args:
        conditions: of one data set, in order.
        draws: of the network, in which every image is scored.

    Returns:
        None where passes are not known beforehand.
    """
    charged = {condition.key: _own(condition, draws) for condition in conditions}
    for key, (forward, backward) in _shared(conditions, draws):
        passes = charged[key]
        charged[key] = None if passes is None else passes.plus(forward, backward)
    return charged


def _own(condition: Condition, draws: int) -> Passes | None:
    """Without the pass over the clean images and the gradient there, which conditions share."""
    if condition.passes is None:
        return None
    if condition.attack == CLEAN:
        return Passes(0, 0)
    forward, backward = condition.passes
    if condition.is_sweep and condition.eps == 0:
        restarts = condition.settings.get("restarts", 1)
        tried = restarts if isinstance(restarts, int) and restarts > 1 else 0
        return Passes(draws + tried, 0)
    if condition.clean_gradient:
        mean_of = condition.expectation
        return Passes(forward - (mean_of if mean_of > 1 else 0), backward - mean_of)
    return Passes(forward, backward)


def _shared(conditions: Sequence[Condition], draws: int) -> list[tuple[str, tuple[int, int]]]:
    """The clean pass, charged to the first condition where none is it, and the gradients there."""
    shared: list[tuple[str, tuple[int, int]]] = []
    unattacked = [condition for condition in conditions if condition.attack == CLEAN]
    for charged in (unattacked or conditions)[:1]:
        shared.append((charged.key, (draws if unattacked else 1, 0)))
    computed: set[tuple[str, int]] = set()
    first = next((condition for condition in conditions if condition.white_box), None)
    if first is not None:
        shared.append((first.key, (0, 1)))
        computed.add((first.threat.label, 1))
    for condition in conditions:
        gradient = condition.threat.label, condition.expectation
        if condition.clean_gradient and gradient not in computed:
            computed.add(gradient)
            shared.append((condition.key, (condition.expectation, condition.expectation)))
    return shared
