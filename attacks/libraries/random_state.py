"""Global random state, lent to code that draws from it and put back afterwards."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def seeded_globally(seed: int) -> Iterator[None]:
    """Seed Python's, numpy's and torch's global generators; restore their states at the end."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 - lent, not used
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        try:
            random.seed(seed)
            np.random.seed(seed % 2**32)  # noqa: NPY002
            torch.manual_seed(seed)
            yield
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002
