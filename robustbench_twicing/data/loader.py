"""Batches of images, the next one being made while the last is attacked or scored."""

import hashlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .decoding import BadImageError
from .image_maker import ImageOrError, ImageRequest, Maker, make
from .worker_pool import WorkerPool

CHUNK = 4
"""Images of one task of a worker process."""
AHEAD = 2
"""Ranges of images that are begun before the network has asked for them, and tasks that every
worker process then has, at least. More would be claimed from other processes of the run."""


class Absent(NamedTuple):
    """An image that is not there: its position in the data set, and why."""

    position: int
    error: Exception

    @property
    def reason(self) -> str:
        """Why, without advice on what to do with an image that is left out."""
        error = self.error
        return error.finding if isinstance(error, BadImageError) else str(error)


class LoadedBatch(NamedTuple):
    """One range of images, as they are or as one source shows them.

    Attributes:
        part: number of the range.
        indices: positions in the data set of the images that are here.
        pixels: uint8 (N, H, W, 3).
        absent: the other images of the range: they could not be decoded, or the source does not
            have them or failed to make them.
        source: name of the source; None for the images as they are.
        waited: seconds for which the caller waited for these images.
    """

    part: int
    indices: tuple[int, ...]
    pixels: NDArray[np.uint8]
    absent: tuple[Absent, ...] = ()
    source: str | None = None
    waited: float = 0.0


def load_batches(
    maker: Maker, parts: Iterable[int], *, batch_size: int, skip_bad: bool, workers: int = 1
) -> Generator[LoadedBatch]:
    """Make the images of each part, ahead of their use: the clean ones, then those of each source.

    Args:
        maker: data, preprocessing and sources.
        parts: which ranges of ``batch_size`` images.
        batch_size: images per range; the last one may be shorter.
        skip_bad: list an image that cannot be decoded instead of stopping.
        workers: processes that make images; with 1, a thread of this process does.

    Raises:
        BadImageError: with its path, for an image that cannot be decoded, unless ``skip_bad``.
        UserError: a worker process died.
    """
    requests = (
        ImageRequest(source, _range(part, batch_size, len(maker.data)), part)
        for part in parts
        for source in (None, *maker.sources)
    )
    if workers == 1:
        batches = _in_a_thread(maker, requests)
    else:
        tasks = -(-batch_size // CHUNK)
        ahead = max(AHEAD, -(-AHEAD * workers // tasks))
        batches = _in_processes(maker, requests, workers, ahead)
    with closing(batches):
        start = time.perf_counter()
        for request, images in batches:
            batch = _assemble(request, images, maker.preprocessing.crop)
            undecoded = [
                absent.error for absent in batch.absent if isinstance(absent.error, BadImageError)
            ]
            if undecoded and not skip_bad:
                raise undecoded[0]
            yield batch._replace(waited=time.perf_counter() - start)
            start = time.perf_counter()


_Batches = Generator[tuple[ImageRequest, list[ImageOrError]]]


def _range(part: int, batch_size: int, images: int) -> range:
    return range(part * batch_size, min((part + 1) * batch_size, images))


def _in_a_thread(maker: Maker, requests: Iterable[ImageRequest]) -> _Batches:
    with ThreadPoolExecutor(1, thread_name_prefix="images") as thread:

        def start(request: ImageRequest) -> list[Future[list[ImageOrError]]]:
            return [thread.submit(maker.make, request)]

        yield from _ahead(start, requests, AHEAD)


def _in_processes(
    maker: Maker, requests: Iterable[ImageRequest], workers: int, ahead: int
) -> _Batches:
    """In small tasks, so that no process waits for another."""
    imports = {type(source).__module__ for source in maker.sources.values()}
    with WorkerPool(workers, maker, imports=sorted(imports)) as pool:

        def start(request: ImageRequest) -> list[Future[list[ImageOrError]]]:
            indices = request.indices
            chunks = [indices[at : at + CHUNK] for at in range(0, len(indices), CHUNK)]
            return [pool.submit(make, request._replace(indices=chunk)) for chunk in chunks]

        yield from _ahead(start, requests, ahead)


def _ahead(
    start: Callable[[ImageRequest], list[Future[list[ImageOrError]]]],
    requests: Iterable[ImageRequest],
    count: int,
) -> _Batches:
    """Results in order, with so many further requests started before one is handed out."""
    waiting: deque[tuple[ImageRequest, list[Future[list[ImageOrError]]]]] = deque()
    for request in requests:
        waiting.append((request, start(request)))
        if len(waiting) > count:
            yield _finished(*waiting.popleft())
    while waiting:
        yield _finished(*waiting.popleft())


def _finished(
    request: ImageRequest, futures: list[Future[list[ImageOrError]]]
) -> tuple[ImageRequest, list[ImageOrError]]:
    return request, list(chain.from_iterable(future.result() for future in futures))


def _assemble(request: ImageRequest, images: Sequence[ImageOrError], crop: int) -> LoadedBatch:
    pairs = list(zip(request.indices, images, strict=True))
    decoded = {index: image for index, image in pairs if isinstance(image, np.ndarray)}
    return LoadedBatch(
        request.part,
        tuple(decoded),
        np.stack(list(decoded.values())) if decoded else np.empty((0, crop, crop, 3), np.uint8),
        tuple(Absent(index, image) for index, image in pairs if not isinstance(image, np.ndarray)),
        request.source,
    )


def to_tensor(pixels: NDArray[np.uint8], device: torch.device) -> Tensor:
    """uint8 (N, H, W, 3) to float32 pixels (N, 3, H, W) in [0, 1]."""
    bytes_ = torch.from_numpy(pixels)
    if device.type == "cuda":
        # From pinned memory the copy runs beside what the GPU still computes; torch keeps the
        # pinned memory until the copy is done.
        bytes_ = bytes_.pin_memory().to(device, non_blocking=True)
    return bytes_.to(device).permute(0, 3, 1, 2).contiguous().float() / 255


def pixels_hash(pixels: NDArray[np.uint8]) -> str:
    """First 16 hex digits of the SHA-256 of one image's pixels, to tell whether two runs saw it."""
    return hashlib.sha256(pixels.tobytes()).hexdigest()[:16]
