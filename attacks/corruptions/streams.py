"""One random stream per corrupted image, whatever the order, the batch or the worker."""

from numpy.random import MT19937, RandomState, SeedSequence

from robustbench_twicing.seeds import derive_seed


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
