"""Whether an attack left the network as it was; if not, it is put back."""

import logging

import torch
from torch import Tensor, nn

from ...classifiers.gradient import input_gradient
from ...classifiers.network_state import NetworkState
from ...errors import BrokenAttackError, ModelChangedError
from ...files.printable import name_some
from ...records.cost import CostMeter
from ...seeds import random_state, set_random_state
from .agreement import ROUNDING, agree

log = logging.getLogger(__name__)
CHANGES_ITSELF = "changes-itself"


class NetworkGuard:
    """Looks at a network after each attack on a batch.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits.
        state: of the model, before any attack.
        x: clean pixels, of which the first image's logits must stay what they are.
        meter: not charged with the passes that this costs.

    Attributes:
        changed_by_itself: the network changes its parameters, its buffers or torch's settings while
            it computes; these may be what they like from now on.
    """

    def __init__(self, model: nn.Module, state: NetworkState, x: Tensor, meter: CostMeter) -> None:
        self._model, self._state, self._meter = model, state, meter
        self._x = x[:1].clone()
        self._random = random_state()
        self._logits = self._answers()
        by_itself = state.changes()
        self.changed_by_itself = bool(by_itself.certain)
        state.forget([*by_itself.certain, *by_itself.possible])

    def begin(self) -> None:
        """An attack begins."""
        self._random = random_state()

    def put_back(self) -> None:
        """Restore the network, whoever changed it."""
        self._state.restore()

    def check(self) -> None:
        """Refuse an attack that changed something, which is put back.

        An attribute of which nobody but the network knows the purpose may change, as long as the
        network's answers do not.

        Raises:
            BrokenAttackError: with the names of what was changed.
            ModelChangedError: it cannot be put back.
        """
        changes = self._state.changes()
        if changes.possible and not changes.certain and self._answers_as_before():
            self._state.forget(changes.possible)
            changes.possible.clear()
        names = [*changes.certain, *changes.possible]
        if names:
            self._state.restore()
            if self._state.changes().certain:
                raise ModelChangedError(f"an attack changed {name_some(names)} for good")
        elif self._drew_random_numbers():
            names = ["the state of torch's random generator (draw from the one that is given)"]
        if names:
            raise BrokenAttackError(f"changed {name_some(names)}; the network was put back")

    def check_answers(self, attack: str) -> None:
        """End the run where the network answers otherwise than before, and nothing shows why.

        Raises:
            ModelChangedError: naming the attack.
        """
        if self._answers_as_before():
            return
        with torch.random.fork_rng(_devices(self._x)):
            before, logits = random_state(), self._look()
            draws = not _equal(before, random_state()) or not agree(logits, self._look(), ROUNDING)
        if not draws:  # a network that draws random numbers is flagged as such
            raise ModelChangedError(
                f"after {attack} the network gives other logits for an unchanged image than before "
                "it, so that no number after it could be trusted; what was finished is kept; leave "
                "that attack out, or make the network's answer depend on its input alone"
            )

    def _answers_as_before(self) -> bool:
        try:
            return agree(self._logits, self._answers(), ROUNDING)
        except (Exception, SystemExit) as error:
            log.debug("the network fails after an attack: %s", error)
            return False

    def _answers(self) -> Tensor:
        """Logits (1, K) of the first image, with the random numbers left as they are."""
        with torch.random.fork_rng(_devices(self._x)):
            return self._look()

    def _look(self) -> Tensor:
        with torch.no_grad(), self._meter.uncharged():
            logits: Tensor = self._model(self._x)
        return logits

    def _drew_random_numbers(self) -> bool:
        """Whether the attack did, and not the network that it asked; they are put back then."""
        before, now = self._random, random_state()
        if _equal(before, now):
            return False
        with self._meter.uncharged():
            input_gradient(self._model, self._x, self._logits.argmax(1))
        drawn_by_network = not _equal(now, random_state())
        if not drawn_by_network:
            set_random_state(before)
        return not drawn_by_network


def _equal(states: list[Tensor], others: list[Tensor]) -> bool:
    return len(states) == len(others) and all(map(torch.equal, states, others))


def _devices(x: Tensor) -> list[torch.device]:
    return [x.device] if x.is_cuda else []
