"""Random streams that depend on what is attacked, never on batch size, order or worker."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence

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
