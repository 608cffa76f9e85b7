"""Resampling of position embeddings, on grids whose answer is known."""

import pytest
import torch

from robustbench_twicing.checkpoints.state_dict import resample_positions
from robustbench_twicing.errors import UserError


def ramp(side: int) -> torch.Tensor:
    """Class row (7, 8), then a row ramp in channel 0 and a column ramp in channel 1."""
    steps = (torch.arange(side) + 0.5) / side
    grid = torch.stack(torch.meshgrid(steps, steps, indexing="ij"), dim=-1)
    return torch.cat([torch.tensor([[[7.0, 8.0]]]), grid.reshape(1, side * side, 2)], dim=1)


@pytest.mark.parametrize(("old", "new"), [(24, 14), (14, 24), (7, 14)])
def test_a_ramp_stays_a_ramp_and_is_not_turned(old: int, new: int) -> None:
    positions = resample_positions(ramp(old), (new, new), 1)
    assert positions.shape == (1, 1 + new * new, 2)
    assert positions[0, 0].tolist() == [7.0, 8.0]
    expected = ramp(new)[0, 1:].view(new, new, 2)
    found = positions[0, 1:].view(new, new, 2)
    # Within a fifth of a step: torch's cubic (a = -0.75) does not reproduce a line exactly.
    torch.testing.assert_close(found, expected, atol=0.2 / min(old, new), rtol=0)


def cubic(distance: float) -> float:
    """Keys' kernel with a = -0.75."""
    a, d = -0.75, abs(distance)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def matrix(old: int, new: int) -> torch.Tensor:
    """(new, old): four taps around each half-pixel centre, edges repeated, no antialiasing."""
    weights = torch.zeros(new, old, dtype=torch.float64)
    for row in range(new):
        center = (row + 0.5) * old / new - 0.5
        for tap in range(int(center // 1) - 1, int(center // 1) + 3):
            weights[row, min(max(tap, 0), old - 1)] += cubic(center - tap)
    return weights


@pytest.mark.parametrize(("old", "grid"), [(24, (14, 14)), (5, (3, 8)), (7, (14, 6))])
def test_it_is_the_bicubic_of_the_textbook(old: int, grid: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(old, old, generator=generator)
    positions = torch.cat([torch.zeros(1, 1, 1), values.reshape(1, old * old, 1)], dim=1)
    found = resample_positions(positions, grid, 1)[0, 1:, 0].view(*grid)
    expected = matrix(old, grid[0]) @ values.double() @ matrix(old, grid[1]).T
    torch.testing.assert_close(found.double(), expected, atol=2e-5, rtol=0)


def test_a_grid_that_is_not_square_has_rows_before_columns() -> None:
    found = resample_positions(ramp(8), (8, 16), 1)[0, 1:].view(8, 16, 2)
    assert (found[1:, :, 0] > found[:-1, :, 0]).all()
    torch.testing.assert_close(found[..., 0], found[:, :1, 0].expand(8, 16))


def test_extra_rows_are_kept_and_half_precision_becomes_single() -> None:
    positions = torch.cat([torch.tensor([[[5.0, 6.0]]]), ramp(4)], dim=1).half()
    found = resample_positions(positions, (2, 2), 2)
    assert found.dtype == torch.float32
    assert found[0, :2].tolist() == [[5.0, 6.0], [7.0, 8.0]]
    assert found.shape == (1, 6, 2)


@pytest.mark.parametrize("tokens", [1, 3, 11])
def test_patches_that_are_no_square_are_refused(tokens: int) -> None:
    with pytest.raises(UserError, match=f"pos_embed covers {tokens} tokens .* has 5"):
        resample_positions(torch.zeros(1, tokens, 2), (2, 2), 1)
