"""When memory runs out: halve the batch and try again."""

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

from ..classifiers.device import is_out_of_memory
from ..data.loader import LoadedBatch
from ..errors import UserError

log = logging.getLogger(__name__)
T = TypeVar("T")


def in_pieces_that_fit(
    batch: LoadedBatch, work: Callable[[LoadedBatch], T], *, label: str, device: torch.device
) -> list[T]:
    """Do some work on a batch, or on pieces of it where it does not fit into memory.

    Args:
        batch: the images; without any, nothing is done.
        work: done for each piece, and again for its halves when memory ran out.
        label: of the model, for messages.
        device: of the model.

    Returns:
        What the work gave for each piece, in order.

    Raises:
        UserError: memory runs out for a single image.
    """
    done: list[T] = []
    waiting = [batch] if batch.indices else []
    while waiting:
        piece = waiting.pop(0)
        try:
            done.append(work(piece))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            waiting = _halve(piece, label) + waiting
            if device.type == "cuda":
                torch.cuda.empty_cache()
    return done


def no_room(label: str) -> UserError:
    """What is wrong where memory does not even hold one image."""
    return UserError(f"{label}: memory ran out on a single image; use a smaller model or --crop")


def _halve(batch: LoadedBatch, label: str) -> list[LoadedBatch]:
    count = len(batch.indices)
    if count == 1:
        raise no_room(label)
    log.warning("%s: memory ran out with %d images; trying %d", label, count, -(-count // 2))
    cut = -(-count // 2)
    return [
        batch._replace(indices=batch.indices[part], pixels=batch.pixels[part])
        for part in (slice(cut), slice(cut, None))
    ]
