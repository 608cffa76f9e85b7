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
    part: LoadedBatch,
    work: Callable[[LoadedBatch], T],
    *,
    batch_size: int,
    label: str,
    device: torch.device,
) -> list[T]:
    """Do some work on the images of a part, batch by batch; in halves where memory runs out.

    Args:
        part: the images; without any, nothing is done.
        work: done for each batch, and again for its halves when memory ran out.
        batch_size: images of a batch, at most.
        label: of the model, for messages.
        device: of the model.

    Returns:
        What the work gave for each batch or half, in order.

    Raises:
        UserError: memory runs out for a single image.
    """
    done: list[T] = []
    count = len(part.indices)
    waiting = [
        _piece(part, slice(first, first + batch_size)) for first in range(0, count, batch_size)
    ]
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
    return [_piece(batch, slice(cut)), _piece(batch, slice(cut, None))]


def _piece(batch: LoadedBatch, images: slice) -> LoadedBatch:
    return batch._replace(indices=batch.indices[images], pixels=batch.pixels[images])
