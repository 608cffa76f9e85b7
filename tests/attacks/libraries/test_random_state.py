"""Global generators are seeded inside, and as before outside."""

import random
from typing import Any

import numpy as np
import pytest
import torch

from attacks.libraries.random_state import seeded_globally


def draws() -> list[float]:
    return [random.random(), float(np.random.rand()), float(torch.rand(()))]  # noqa: NPY002


def states() -> list[Any]:
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    return [random.getstate(), kind, list(keys), rest, torch.get_rng_state().tolist()]


@pytest.mark.parametrize("seed", [0, 2**32, 2**63 - 1])
def test_the_same_seed_draws_the_same_from_all_three(seed: int) -> None:
    found = []
    for each in (seed, seed, seed // 2 + 1):
        with seeded_globally(each):
            found.append(draws())
    assert found[0] == found[1]
    assert all(one != other for one, other in zip(found[0], found[2], strict=True))


def test_afterwards_all_are_as_before() -> None:
    before = states()
    with seeded_globally(1):
        draws()
        torch.manual_seed(7)
        random.seed(7)
        np.random.seed(7)  # noqa: NPY002
    assert states() == before


def test_after_a_failure_too() -> None:
    before = states()
    with pytest.raises(ZeroDivisionError), seeded_globally(1):
        _ = draws()[0] / 0
    assert states() == before
