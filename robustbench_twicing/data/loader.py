"""Batches of images, the next one being made while the last is attacked or scored."""

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .decoding import BadImageError
from .image_maker import Made, Maker, Wanted, make
from .worker_pool import WorkerPool

CHUNK = 4
"""Images of one task of a worker process."""
AHEAD = 2
"""Batches that worker processes are ahead of the network."""


class Absent(NamedTuple):
    """An image that is not there: its position in the data set, and why."""

    position: int
    error: Exception


class LoadedBatch(NamedTuple):
    """One range of images, as they are or as one condition shows them.

    Attributes:
        part: number of the range.
        indices: positions in the data set of the images that are here.
        pixels: uint8 (N, H, W, 3).
        absent: the other images of the range: they could not be decoded, or the condition's source
            does not have them or failed to make them.
    """

    part: int
    indices: tuple[int, ...]
    pixels: NDArray[np.uint8]
    absent: tuple[Absent, ...] = ()


class LoadedPart(NamedTuple):
    """One range of images under all conditions.

    Attributes:
        clean: the images themselves.
        sourced: the same range from each source, in order; to be taken before the next part.
    """

    clean: LoadedBatch
    sourced: Iterator[LoadedBatch]


def load_parts(
    maker: Maker, parts: Iterable[int], *, batch_size: int, skip_bad: bool, workers: int = 1
) -> Generator[LoadedPart]:
    """As `load_batches`, part by part."""
    batches = load_batches(maker, parts, batch_size=batch_size, skip_bad=skip_bad, workers=workers)
    with closing(batches):
        for clean in batches:
            yield LoadedPart(clean, islice(batches, len(maker.sources)))


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
    kinds = (None, *range(len(maker.sources)))
    jobs = (
        _Job(part, kind, _range(part, batch_size, len(maker.data)))
        for part in parts
        for kind in kinds
    )
    made = _in_a_thread(maker, jobs) if workers == 1 else _in_processes(maker, jobs, workers)
    with closing(made):
        for job, images in made:
            batch = _assemble(job, images, maker.preprocessing.crop)
            bad = [each.error for each in batch.absent if isinstance(each.error, BadImageError)]
            if bad and not skip_bad:
                raise bad[0]
            yield batch


class _Job(NamedTuple):
    """The images of one part, of one kind (see `Wanted`)."""

    part: int
    kind: int | None
    indices: range


_Batches = Generator[tuple[_Job, list[Made]]]


def _range(part: int, batch_size: int, images: int) -> range:
    return range(part * batch_size, min((part + 1) * batch_size, images))


def _in_a_thread(maker: Maker, jobs: Iterable[_Job]) -> _Batches:
    with ThreadPoolExecutor(1, thread_name_prefix="images") as thread:

        def start(job: _Job) -> list[Future[list[Made]]]:
            return [thread.submit(maker.make, Wanted(job.kind, job.indices))]

        yield from _ahead(start, jobs, 1)


def _in_processes(maker: Maker, jobs: Iterable[_Job], workers: int) -> _Batches:
    """Small tasks, and more than one batch ahead, so that no process waits for another."""
    imports = {type(source).__module__ for source in maker.sources}
    with WorkerPool(workers, maker, imports=sorted(imports)) as pool:

        def start(job: _Job) -> list[Future[list[Made]]]:
            chunks = [job.indices[at : at + CHUNK] for at in range(0, len(job.indices), CHUNK)]
            return [pool.submit(make, Wanted(job.kind, chunk)) for chunk in chunks]

        yield from _ahead(start, jobs, AHEAD)


def _ahead(
    start: Callable[[_Job], list[Future[list[Made]]]], jobs: Iterable[_Job], count: int
) -> _Batches:
    """Results in order, with so many further jobs started before one is handed out."""
    waiting: deque[tuple[_Job, list[Future[list[Made]]]]] = deque()
    for job in jobs:
        waiting.append((job, start(job)))
        if len(waiting) > count:
            yield _finished(*waiting.popleft())
    while waiting:
        yield _finished(*waiting.popleft())


def _finished(job: _Job, futures: list[Future[list[Made]]]) -> tuple[_Job, list[Made]]:
    return job, list(chain.from_iterable(future.result() for future in futures))


def _assemble(job: _Job, images: Sequence[Made], crop: int) -> LoadedBatch:
    pairs = list(zip(job.indices, images, strict=True))
    here = {index: made for index, made in pairs if isinstance(made, np.ndarray)}
    return LoadedBatch(
        job.part,
        tuple(here),
        np.stack(list(here.values())) if here else np.empty((0, crop, crop, 3), np.uint8),
        tuple(Absent(index, made) for index, made in pairs if not isinstance(made, np.ndarray)),
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
