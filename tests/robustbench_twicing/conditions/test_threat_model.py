"""The ball, and the check that refuses what lies outside of it."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from robustbench_twicing.conditions.ball import ball, check_adversarial
from robustbench_twicing.conditions.distances import distances, sides_changed
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.errors import BrokenAttackError
from robustbench_twicing.files.printable import count

NORMALIZED = ThreatModel(space="normalized", clip=False)
STD = torch.tensor([0.2, 0.25, 0.3])
EPS = 4 / 255


def flat(value: float) -> Tensor:
    return torch.full((2, 3, 4, 4), value)


def test_the_pixel_ball_ends_at_valid_pixels() -> None:
    x = torch.tensor([0.0, 0.01, 0.5, 0.99, 1.0]).view(1, 1, 1, 5)
    low, high = ball(x, 0.1, PIXEL)
    assert low.flatten().tolist() == pytest.approx([0, 0, 0.4, 0.89, 0.9])
    assert high.flatten().tolist() == pytest.approx([0.1, 0.11, 0.6, 1, 1])
    low, high = ball(x, 0.1, ThreatModel(clip=False))
    assert low.flatten().tolist() == pytest.approx([-0.1, -0.09, 0.4, 0.89, 0.9])
    assert high.flatten().tolist() == pytest.approx([0.1, 0.11, 0.6, 1.09, 1.1])


def test_a_normalised_budget_is_eps_times_std_per_channel() -> None:
    low, high = ball(flat(0.5), 0.1, NORMALIZED, STD)
    assert (high - 0.5)[0, :, 0, 0].tolist() == pytest.approx([0.02, 0.025, 0.03])
    assert (0.5 - low)[1, :, 3, 3].tolist() == pytest.approx([0.02, 0.025, 0.03])


def test_a_normalised_budget_without_std_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="std"):
        ball(flat(0.5), 0.1, NORMALIZED)


def test_the_ball_of_no_budget_is_the_image() -> None:
    x = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    low, high = ball(x, 0.0, PIXEL)
    assert torch.equal(low, x)
    assert torch.equal(high, x)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(("excess", "allowed"), [(0.0, True), (5e-7, True), (3e-6, False)])
def test_one_pixel_outside_the_ball_is_refused(sign: int, excess: float, allowed: bool) -> None:
    x, x_adv = flat(0.5), flat(0.5)
    x_adv[1, 2, 3, 0] += sign * (EPS + excess)
    if allowed:
        check_adversarial(x, x_adv, EPS, PIXEL)
        return
    with pytest.raises(BrokenAttackError, match="left its ball of 4/255 by"):
        check_adversarial(x, x_adv, EPS, PIXEL)


@pytest.mark.parametrize("eps", [1e-9, 1e-7, 1e-6, 1e-5, 1e-4, EPS])
def test_the_tolerance_is_rounding_and_a_hundredth_of_the_budget(eps: float) -> None:
    """min(1e-6, 0.01 eps) + 2^-23; around 0, where float32 rounds nothing of this size."""
    allowed = min(1e-6, 0.01 * eps) + 2.0**-23
    x = torch.zeros(1, 3, 2, 2)
    unclipped = ThreatModel(clip=False)
    check_adversarial(x, x - (eps + 0.99 * allowed), eps, unclipped)
    with pytest.raises(BrokenAttackError, match="left its ball"):
        check_adversarial(x, x - (eps + 1.01 * allowed), eps, unclipped)


def test_a_tiny_budget_cannot_be_doubled() -> None:
    x = flat(0.5)
    with pytest.raises(BrokenAttackError, match="left its ball"):
        check_adversarial(x, x + 2e-6, 1e-6, PIXEL)


def test_the_largest_change_of_any_pixel_is_measured() -> None:
    x = flat(0.5)
    x_adv = x.clone()
    x_adv[0, 2, 3, 1] -= 0.25
    x_adv[0, 1, 0, 0] += 0.125
    x_adv[1] += 0.0625
    assert check_adversarial(x, x_adv, 0.25, PIXEL).linf.tolist() == [0.25, 0.0625]


@pytest.mark.parametrize(
    ("eps", "value", "words"),
    [
        (EPS, math.nan, "returned values that are not finite (NaN or infinity)"),
        (EPS, 0.75, "left its ball of 4/255 by 59.8/255"),
        (0.0, 0.75, "changed the image at a budget of 0"),
        (0.75, 1.25, "left the valid range [0, 1]: 0.5 to 1.25"),
    ],
)
def test_the_images_are_counted_and_the_first_is_named(
    eps: float, value: float, words: str
) -> None:
    x = torch.full((4, 3, 4, 4), 0.5)
    x_adv = x.clone()
    x_adv[2, 1, 3, 0] = x_adv[3, 0, 0, 0] = value
    with pytest.raises(BrokenAttackError) as refusal:
        check_adversarial(x, x_adv, eps, PIXEL, images=["a.png", "b.png", "c.png", "d.png"])
    assert str(refusal.value) == f"{words} in 2 of 4 images, first c.png"
    with pytest.raises(BrokenAttackError) as refusal:
        check_adversarial(x, x_adv, eps, PIXEL)
    assert str(refusal.value) == f"{words} in 2 of 4 images"


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_a_normalised_ball_is_checked_per_channel(channel: int) -> None:
    x, x_adv = flat(0.5), flat(0.5)
    x_adv[0, channel] += 0.1 * STD[channel]
    check_adversarial(x, x_adv, 0.1, NORMALIZED, STD)
    x_adv[0, channel] += 1e-4
    with pytest.raises(BrokenAttackError, match="left its ball"):
        check_adversarial(x, x_adv, 0.1, NORMALIZED, STD)


@pytest.mark.parametrize("value", [-1e-5, 1 + 1e-5])
def test_pixels_that_do_not_exist_are_refused_where_they_are_clipped(value: float) -> None:
    x = flat(float(round(value)))
    x_adv = x.clone()
    x_adv[0, 0, 0, 0] = value
    with pytest.raises(BrokenAttackError, match="valid range"):
        check_adversarial(x, x_adv, EPS, PIXEL)
    check_adversarial(x, x_adv, EPS, ThreatModel(clip=False))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    x_adv = flat(0.5)
    x_adv[1, 1, 1, 1] = value
    with pytest.raises(BrokenAttackError, match="not finite"):
        check_adversarial(flat(0.5), x_adv, EPS, PIXEL)


@pytest.mark.parametrize(
    "x_adv",
    [torch.full((1, 3, 4, 4), 0.5), torch.full((2, 3, 4, 5), 0.5), torch.tensor(0.5)],
)
def test_another_shape_is_refused(x_adv: Tensor) -> None:
    with pytest.raises(BrokenAttackError, match=r"returned \(.*\) torch.float32 for \(2, 3, 4, 4"):
        check_adversarial(flat(0.5), x_adv, EPS, PIXEL)


def test_another_number_format_is_refused() -> None:
    with pytest.raises(BrokenAttackError, match=r"torch\.float64 for"):
        check_adversarial(flat(0.5), flat(0.5).double(), EPS, PIXEL)


def test_no_budget_means_no_change_at_all() -> None:
    x, x_adv = flat(0.5), flat(0.5)
    check_adversarial(x, x_adv, 0.0, PIXEL)
    x_adv[0, 0, 0, 0] += 6e-8
    with pytest.raises(BrokenAttackError, match="changed the image at a budget of 0"):
        check_adversarial(x, x_adv, 0.0, PIXEL)


def test_every_pixel_value_moved_by_every_usual_budget_passes() -> None:
    x = (torch.arange(256).float() / 255).view(1, 1, 1, 256)
    for budget in (0.1, 0.25, 0.5, 1, 2, 4, 8):
        for threat in (PIXEL, ThreatModel(clip=False)):
            for bound in ball(x, budget / 255, threat):
                check_adversarial(x, bound, budget / 255, threat)


@pytest.mark.parametrize(("norm", "name"), [("l2", "L2"), ("patch", "patches")])
@pytest.mark.parametrize("other", [{"space": "normalized"}, {"clip": False}])
def test_other_norms_are_of_valid_pixels(norm: Any, name: str, other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"budgets of {name} are of pixels"):
        ThreatModel(norm=norm, **other)


PATCH = ThreatModel(norm="patch")
POSITIONS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7)), max_size=5)


@given(st.lists(POSITIONS, min_size=1, max_size=3), st.integers(1, 8))
def test_a_patch_is_what_one_square_holds(images: list[list[tuple[int, int]]], side: int) -> None:
    """Whatever an attack says of its mask, and whichever channel it changed."""
    x = torch.full((len(images), 3, 6, 8), 0.5)
    x_adv = x.clone()
    needed = []
    for number, positions in enumerate(images):
        for row, column in positions:
            x_adv[number, (row + column) % 3, row, column] = 1
        ends = [max(along) - min(along) + 1 for along in zip(*positions, strict=True)]
        needed.append(max(ends, default=0))
    assert sides_changed(x, x_adv).tolist() == needed
    if max(needed) <= side:
        check_adversarial(x, x_adv, side, PATCH)
        return
    many = sum(of_image > side for of_image in needed)
    with pytest.raises(BrokenAttackError) as refusal:
        check_adversarial(x, x_adv, side, PATCH)
    assert str(refusal.value) == (
        f"left its patch of {side} px: what it changed needs {max(needed)} px in {many} of "
        f"{count(len(images), 'image')}"
    )


def test_inside_a_patch_pixels_are_free_and_valid() -> None:
    x, x_adv = flat(0.5), flat(0.5)
    x_adv[:, :, 1:3, 2:4] = torch.tensor([0.0, 1.0])
    measured = check_adversarial(x, x_adv, 2, PATCH)
    assert measured.linf.tolist() == [0.5, 0.5]
    assert measured.l0.tolist() == [4, 4]
    x_adv[0, 0, 1, 2] = -(2.0**-20)
    with pytest.raises(BrokenAttackError, match="left the valid range"):
        check_adversarial(x, x_adv, 2, PATCH)


def test_distances_are_lengths_of_the_change() -> None:
    x = flat(0.5)
    x_adv = x.clone()
    x_adv[0, 0, 0, 0] += 0.25
    x_adv[0, 2, 0, 0] -= 0.25
    x_adv[0, 1, 1, 1] += 0.125
    measured = distances(x, x_adv)
    assert measured.linf.tolist()[0] == 0.25
    assert measured.l0.tolist()[0] == 2
    assert measured.l2.tolist()[0] == pytest.approx((2 * 0.25**2 + 0.125**2) ** 0.5, rel=1e-15)


def test_lengths_of_many_small_changes_have_no_error_of_float32() -> None:
    x = torch.full((1, 3, 224, 224), 0.5)
    x_adv = x + 2**-10
    assert distances(x, x_adv).l2.item() == pytest.approx((3 * 224 * 224) ** 0.5 / 2**10, rel=1e-14)


@pytest.mark.parametrize(("images", "size"), [(1, 300), (5, 224), (129, 32)])
def test_many_images_are_measured_as_one_by_one(images: int, size: int) -> None:
    """In pieces, none of which is a single image of several."""
    x = torch.rand(images, 3, size, size, generator=torch.Generator().manual_seed(0))
    x_adv = x.clone()
    x_adv[:, :, ::2, 1::3] = 1 - x[:, :, ::2, 1::3]
    measured, change = distances(x, x_adv), (x_adv - x).numpy()
    assert measured.linf.tolist() == np.abs(change).max((1, 2, 3)).tolist()
    assert measured.l0.tolist() == (change != 0).any(1).sum((1, 2)).tolist()
    exact = x_adv.double() - x.double()
    assert torch.equal(measured.l2, torch.linalg.vector_norm(exact, dim=(1, 2, 3)))
