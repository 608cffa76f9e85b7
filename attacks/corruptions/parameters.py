"""What every corruption is given: a severity's constants, and a random stream for each image."""

from collections.abc import Mapping

from numpy.random import MT19937, RandomState, SeedSequence

from robustbench_twicing.data.imagenet_c import SEVERITIES
from robustbench_twicing.errors import UserError
from robustbench_twicing.seeds import derive_seed

Levels = Mapping[str, tuple[float, ...]]
"""Constant's name to its five values, severity 1 first."""


def at(levels: Levels, severity: int) -> dict[str, float]:
    """The constants of one severity.

    Raises:
        UserError: ``severity`` is not 1, 2, 3, 4 or 5.
    """
    if severity not in SEVERITIES:
        raise UserError(f"severity {severity!r} does not exist; ImageNet-C has 1, 2, 3, 4 and 5")
    return {name: values[severity - 1] for name, values in levels.items()}


def image_rng(seed: int, corruption: str, severity: int, image_id: str) -> RandomState:
    """A fresh generator that depends on these four and on nothing else.

    It is numpy's legacy `RandomState`, whose stream is guaranteed never to change.

    Args:
        seed: the run's base seed.
        corruption: a key of `CORRUPTIONS`.
        severity: 1 to 5; severities are drawn independently, as in the official data.
        image_id: the image's id in its dataset.
    """
    key = derive_seed(seed, "imagenet-c", corruption, severity, image_id)
    return RandomState(MT19937(SeedSequence([key])))
