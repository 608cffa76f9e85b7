"""Random streams: of attacks, by image alone; of code that draws from global state, by batch."""

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from numpy.random.mtrand import get_bit_generator, set_bit_generator
from torch import Tensor
from torch.nn.functional import embedding

Generators = torch.Generator | Sequence[torch.Generator]
"""One generator per image, or one for the whole batch."""
SIGNS_OF_A_WORD = 64
"""Random bits of one number of SplitMix64."""
_kept: ContextVar[bool] = ContextVar("kept", default=False)
"""Whether somebody further out restores the states of Python's and numpy's generators."""


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
def states_kept() -> Iterator[None]:
    """Python's and numpy's global generators are at the end what they were before.

    Inside another such context that is left to it: numpy's state takes longer to read and to write
    than a batch of small images to be scored.
    """
    if _kept.get():
        yield
        return
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - lent, not used
    token = _kept.set(True)
    try:
        yield
    finally:
        _kept.reset(token)
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002


def random_state() -> list[Tensor]:
    """Of the generators of torch that everything in the process shares."""
    started = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = torch.cuda.get_rng_state_all() if started else []
    return [torch.get_rng_state(), *devices]


def set_random_state(states: list[Tensor]) -> None:
    """Put back what `random_state` gave."""
    torch.set_rng_state(states[0])
    for device, state in enumerate(states[1:]):
        torch.cuda.set_rng_state(state, device)


@contextmanager
def seeded_globally(seed: int) -> Iterator[None]:
    """Seed Python's, numpy's and torch's global generators; restore their states at the end.

    Inside `states_kept`, Python's and numpy's are restored at the end of that, but numpy's global
    generator is of its old kind at once, for no other can be seeded.
    """
    bits, states = get_bit_generator(), random_state()
    with states_kept():
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        torch.default_generator.manual_seed(seed)
        if len(states) > 1:  # a GPU that nobody uses is not started for it
            torch.cuda.manual_seed_all(seed)
        try:
            yield
        finally:
            set_bit_generator(bits)
            set_random_state(states)


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


def image_keys(count: int, generator: Generators) -> Tensor:
    """A key of 63 random bits for each of N images, (N,) int64, on the CPU; for `random_signs`.

    Args:
        count: N.
        generator: one for the batch, or a sequence of N, one per image.

    Raises:
        ValueError: the sequence does not have one generator per image.
    """
    return _drawn(_random_key, torch.empty(count, dtype=torch.int64), generator).view(count)


def _random_key(shape: torch.Size, **options: Any) -> Tensor:
    return torch.randint(2**63 - 1, shape, **options)


def random_signs(keys: Tensor, numbers: Tensor, like: Tensor) -> Tensor:
    """Signs, -1 and 1 with equal probability, as a function of a key and a number alone.

    They are the bits of SplitMix64 (Steele et al. 2014), the lowest first, started at the key and
    entered at the place that the number says. Every bit is computed from its own place, by integer
    arithmetic: on a GPU there are the same signs, and nothing waits for a generator on the CPU.

    Args:
        keys: of P draws (P,), int64.
        numbers: of the draw among those with one key (P,), from 0, int64.
        like: a tensor (N, ...) whose images' shape, number format and device are wanted.

    Returns:
        P draws, each shaped like one image of ``like``: (P, ...).
    """
    shape = like.shape[1:]
    count = shape.numel()
    words = -(-count // SIGNS_OF_A_WORD)
    places = numbers[:, None] * words + torch.arange(1, words + 1, device=keys.device)
    bits = _mixed(keys[:, None] + places * _signed(0x9E3779B97F4A7C15)).view(torch.uint8)
    byte = torch.arange(256, device=like.device)[:, None] >> torch.arange(8, device=like.device)
    signs: Tensor = embedding(bits.int(), ((byte & 1) * 2 - 1).to(like.dtype))
    return signs.flatten(1)[:, :count].view(-1, *shape)


def _mixed(state: Tensor) -> Tensor:
    """The output function of SplitMix64."""
    state = (state ^ _shifted(state, 30)) * _signed(0xBF58476D1CE4E5B9)
    state = (state ^ _shifted(state, 27)) * _signed(0x94D049BB133111EB)
    return state ^ _shifted(state, 31)


def _shifted(state: Tensor, places: int) -> Tensor:
    """To the right, with zeros from the left."""
    shifted: Tensor = (state >> places) & (2 ** (64 - places) - 1)
    return shifted


def _signed(constant: int) -> int:
    """The 64 bits of a constant as torch's int64 has them."""
    return constant - 2**64
