"""Random streams: of attacks, by image alone; of code that draws from global state, by batch."""

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

Generators = torch.Generator | Sequence[torch.Generator]
"""One generator per image, or one for the whole batch."""


def derive_seed(seed: int, *keys: object) -> int:
    """A 63-bit seed from a base seed and anything that JSON can write."""
    text = json.dumps([seed, *keys], sort_keys=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def image_generators(
    seed: int,
    images: Sequence[str],
    attack: str,
    settings: Mapping[str, object],
    budget: str,
    restart: int = 0,
) -> list[torch.Generator]:
    """One CPU generator per image, keyed by everything but the model: comparisons are paired."""
    return [
        torch.Generator().manual_seed(
            derive_seed(seed, image, attack, dict(settings), budget, restart)
        )
        for image in images
    ]


@contextmanager
def seeded_globally(seed: int) -> Iterator[None]:
    """Seed Python's, numpy's and torch's global generators; restore their states at the end."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - lent, not used
    on_gpu = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = range(torch.cuda.device_count() if on_gpu else 0)
    with torch.random.fork_rng(devices=devices):
        try:
            random.seed(seed)
            np.random.seed(seed % 2**32)  # noqa: NPY002
            torch.default_generator.manual_seed(seed)
            if on_gpu:  # a GPU that nobody uses is not started for it
                torch.cuda.manual_seed_all(seed)
            yield
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002


@contextmanager
def network_draws(seed: int, images: Sequence[str], *keys: object) -> Iterator[None]:
    """Seed what a network draws from global generators while it looks at a batch.

    A network draws for a whole batch, so that its numbers depend on the batch, which is known by
    its first image. They do not depend on the model: comparisons are paired.

    Args:
        seed: base seed of the run.
        images: ids of the images of the batch.
        keys: what the network is asked for.
    """
    with seeded_globally(derive_seed(seed, "network", *images[:1], *keys)):
        yield


def uniform_like(x: Tensor, generator: Generators) -> Tensor:
    """Uniform numbers in [0, 1) shaped like ``x``, drawn on the generator's device, moved to x's.

    Args:
        x: batch (N, ...).
        generator: one for the batch, or a sequence of N, one per image.

    Raises:
        ValueError: the sequence does not have one generator per image.
    """
    return _drawn(torch.rand, x, generator)


def normal_like(x: Tensor, generator: Generators) -> Tensor:
    """Standard normal numbers shaped like ``x``; otherwise as `uniform_like`."""
    return _drawn(torch.randn, x, generator)


def _drawn(draw: Callable[..., Tensor], x: Tensor, generator: Generators) -> Tensor:
    if isinstance(generator, torch.Generator):
        numbers = draw(x.shape, generator=generator, device=generator.device, dtype=x.dtype)
        return numbers.to(x.device)
    if len(generator) != len(x):
        raise ValueError(f"{len(generator)} generators for {len(x)} images")
    rows = [
        draw(x.shape[1:], generator=of_image, device=of_image.device, dtype=x.dtype)
        for of_image in generator
    ]
    return torch.stack(rows).to(x.device)
