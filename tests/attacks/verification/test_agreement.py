"""When two batches of adversarial images count as the same."""

import pytest
import torch

from attacks.verification.agreement import compare

PIXELS = 2 * 3 * 100 * 100


def pair(difference: float, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    one = torch.zeros(2, 3, 100, 100, dtype=torch.float64)
    other = one.clone()
    other.view(-1)[:count] = difference
    return one, other


@pytest.mark.parametrize(
    ("difference", "count", "agrees"),
    [
        (0.0, 0, True),
        (9e-7, PIXELS, True),
        (-9e-7, PIXELS, True),
        (2e-6, 6, True),
        (0.5, 6, True),
        (2e-6, 7, False),
        (-2e-6, 7, False),
        (2e-6, PIXELS, False),
        (float("nan"), 7, False),
        (float("inf"), 7, False),
    ],
)
def test_all_but_one_pixel_in_10_000_must_be_the_same(
    difference: float, count: int, agrees: bool
) -> None:
    row = compare("mine", "theirs", *pair(difference, count))
    assert row.agrees == agrees
    assert row.largest == pytest.approx(abs(difference), nan_ok=True)
    assert row.differing == (0 if abs(difference) < 1e-6 else count / PIXELS)
    assert row[:2] == ("mine", "theirs")
