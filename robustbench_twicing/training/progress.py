"""How far a training is, in plain lines."""

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

EVERY = 10.0
"""Seconds between two lines."""


class Progress(NamedTuple):
    """Where a training stands.

    Attributes:
        epoch: from 1.
        step: steps taken of all.
        steps: all of them.
        loss: mean of the last batches; not a number before the first.
        lr: learning rate.
    """

    epoch: int
    step: int
    steps: int
    loss: float
    lr: float


Report = Callable[[Progress], None]


class Lines:
    """Writes a line every few seconds: step, loss, rate, time left; the first call is the start.

    Args:
        label: what is trained.
        batch_size: images a step.
    """

    def __init__(self, label: str, batch_size: int) -> None:
        self.label, self.batch_size = label, batch_size
        self.first: tuple[int, float] | None = None
        self.written = 0.0

    def __call__(self, now: Progress) -> None:
        clock = time.monotonic()
        if self.first is None:
            self.first = (now.step, clock)
            return
        if clock - self.written < EVERY and now.step < now.steps:
            return
        self.written = clock
        rate = (now.step - self.first[0]) / max(clock - self.first[1], 1e-9)
        left = (now.steps - now.step) / rate if rate else 0.0
        sys.stderr.write(
            f"{self.label}: epoch {now.epoch}, step {now.step}/{now.steps}, loss {now.loss:.3f}, "
            f"lr {now.lr:.2e}, {rate * self.batch_size:.0f} images/s, {left / 60:.1f} min left\n"
        )
