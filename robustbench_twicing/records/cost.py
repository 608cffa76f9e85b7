"""What a condition costs: images through the network, and seconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # costs are read from a run's records without torch
    from torch import Tensor, nn


@dataclass
class Cost:
    """Images through the network forward and backward, and wall-clock seconds, summed."""

    n_forward: int = 0
    n_backward: int = 0
    seconds: float = 0.0

    def add(self, other: "Cost") -> None:
        """Add another cost to this one."""
        self.n_forward += other.n_forward
        self.n_backward += other.n_backward
        self.seconds += other.seconds


@dataclass
class CostMeter:
    """Counts the passes of a model while a condition is measured."""

    costs: dict[str, Cost] = field(default_factory=dict)
    _now: Cost = field(default_factory=Cost)

    @contextmanager
    def watch(self, model: "nn.Module") -> Iterator[None]:
        """Count what goes through the model; its hooks are gone afterwards."""
        handle = model.register_forward_hook(self._forward)
        try:
            yield
        finally:
            handle.remove()

    @contextmanager
    def measure(self, condition: str, *, waited: float = 0.0) -> Iterator[None]:
        """Charge passes and time to a condition, with seconds that it has already taken."""
        self._now = self.costs.setdefault(condition, Cost())
        self._now.seconds += waited
        start = time.perf_counter()
        try:
            yield
        finally:
            self._now.seconds += time.perf_counter() - start

    @contextmanager
    def uncharged(self) -> Iterator[None]:
        """Passes inside are charged to no condition."""
        before, self._now = self._now, Cost()
        try:
            yield
        finally:
            self._now = before

    def _forward(self, module: "nn.Module", args: tuple[Any, ...], output: object) -> None:
        from torch import Tensor

        if not isinstance(output, Tensor):
            return
        images = len(output)
        self._now.n_forward += images
        if output.requires_grad:
            output.register_hook(partial(self._backward, images))  # type: ignore[no-untyped-call]

    def _backward(self, images: int, gradient: "Tensor") -> None:
        self._now.n_backward += images
