"""Attacks under L2: closed forms of a linear network, lengths, and what must not move."""

from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn

from attacks import ATTACKS
from attacks.fgsm import fgsm
from attacks.l2 import lengths, projected, random_point, unit_direction
from attacks.noise import noise
from attacks.pgd import pgd
from attacks.pgd_any import pgd_any
from attacks.spsa import spsa
from robustbench_twicing.conditions.ball import check_adversarial
from robustbench_twicing.conditions.budgets import format_budget, parse_budget, parse_budgets
from robustbench_twicing.conditions.distances import distances
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.errors import BrokenAttackError, UserError

L2 = PROTOCOLS["l2"].threat
EPS = 0.5


class TwoClasses(nn.Module):
    """Logits 0 and w . x + b; the margin of class 1 is the second."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.w = torch.randn(3 * 8 * 8, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        margin = x.flatten(1) @ self.w
        return torch.stack([torch.zeros_like(margin), margin], 1)


@pytest.fixture
def net() -> TwoClasses:
    return TwoClasses()


@pytest.fixture
def x() -> Tensor:
    """Far from the ends of the pixel range, so that nothing is clamped."""
    return torch.rand(4, 3, 8, 8, generator=torch.Generator().manual_seed(1)) * 0.2 + 0.4


Y = torch.ones(4, dtype=torch.long)


def generators(count: int = 4) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(index) for index in range(count)]


def test_one_step_lowers_a_linear_margin_by_eps_times_the_norm(net: TwoClasses, x: Tensor) -> None:
    x_adv = fgsm(net, x, Y, eps=EPS, threat=L2)
    fall = (net(x) - net(x_adv))[:, 1]
    assert fall == pytest.approx(float(EPS * net.w.norm()) * torch.ones(4), rel=1e-5)


@pytest.mark.parametrize("random_start", [False, True])
def test_pgd_ends_at_the_point_of_the_ball_that_is_worst(
    random_start: bool, net: TwoClasses, x: Tensor
) -> None:
    x_adv = pgd(
        net, x, Y, eps=EPS, threat=L2, random_start=random_start, generator=generators(), steps=60
    )
    worst = x - EPS * (net.w / net.w.norm()).view(3, 8, 8)
    assert (x_adv - worst).abs().max() < (1e-4 if random_start else 1e-6)


@pytest.mark.parametrize("attack", [fgsm, pgd, pgd_any, noise, spsa])
@pytest.mark.parametrize("eps", [0.01, 0.25, 3.0])
def test_no_change_is_longer_than_the_budget(attack: object, eps: float, net: TwoClasses) -> None:
    x = torch.rand(4, 3, 8, 8, generator=torch.Generator().manual_seed(2))
    few = {"steps": 2, "samples": 4} if attack is spsa else {}
    made = attack(net, x, Y, eps=eps, threat=L2, generator=generators(), **few)  # type: ignore[operator]
    check_adversarial(x, made, eps, L2)
    measured = distances(x, made)
    assert measured.l2.max() <= eps * (1 + 1e-6) + 2**-23
    assert measured.l2.min() > 0
    d = x[0].numel()
    assert (measured.linf <= measured.l2).all()
    assert (measured.l2 <= d**0.5 * measured.linf * (1 + 1e-12)).all()


def test_where_the_gradient_is_zero_nothing_moves(x: Tensor) -> None:
    class Constant(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.ones(len(x), 2) + 0 * x.sum((1, 2, 3))[:, None]

    assert fgsm(Constant(), x, Y, eps=EPS, threat=L2).equal(x)
    assert pgd(Constant(), x, Y, eps=EPS, threat=L2, random_start=False).equal(x)


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-30])
def test_a_step_does_not_depend_on_the_scale_of_the_gradient(scale: float) -> None:
    gradient = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(3))
    direction = unit_direction(scale * gradient)
    assert lengths(direction).flatten().tolist() == pytest.approx([1, 1], rel=1e-6)


def test_a_random_start_is_uniform_in_the_ball() -> None:
    """The mean radius of a ball of d dimensions is d / (d + 1) of its own."""
    x = torch.full((2000, 1, 1, 2), 0.5)
    radius = lengths(random_point(x, 0.2, torch.Generator().manual_seed(0)) - x) / 0.2
    assert float(radius.mean()) == pytest.approx(2 / 3, abs=0.02)


def test_scaled_then_clamped() -> None:
    x = torch.tensor([0.9, 0.5]).view(1, 1, 1, 2)
    x_adv = projected(x, x + torch.tensor([3.0, 4.0]).view(1, 1, 1, 2), 1.0)
    assert x_adv.flatten().tolist() == pytest.approx([1.0, 1.0])
    inside = projected(x, x + 0.01, 1.0)
    assert inside.sub(x).flatten().tolist() == pytest.approx([0.01, 0.01])


@pytest.mark.parametrize(("eps", "share"), [(0.5, 1.001), (0.01, 1.001)])
def test_what_leaves_the_ball_is_refused(eps: float, share: float) -> None:
    x = torch.full((1, 3, 224, 224), 0.5)
    change = torch.full_like(x, eps * share / x.numel() ** 0.5)
    with pytest.raises(BrokenAttackError, match=f"left its L2 ball of {eps:g}"):
        check_adversarial(x, x + change, eps, L2)
    check_adversarial(x, x + change / share, eps, L2)


@pytest.mark.parametrize(
    ("text", "budget", "written"),
    [
        ("0.5", Fraction(1, 2), "l2:0.5"),
        ("l2:0.5", Fraction(1, 2), "l2:0.5"),
        ("3", Fraction(3), "l2:3"),
        ("128/255", Fraction(128, 255), "l2:128/255"),
        ("0", Fraction(0), "l2:0"),
        ("1/3", Fraction(1, 3), "l2:1/3"),
    ],
)
def test_budgets(text: str, budget: Fraction, written: str) -> None:
    assert parse_budget(text, "l2") == budget
    assert format_budget(budget, "l2") == written
    assert parse_budget(written, "l2") == budget


def test_lists_and_ranges_of_budgets() -> None:
    assert parse_budgets("0.5,1,3", "l2") == (Fraction(1, 2), Fraction(1), Fraction(3))
    assert parse_budgets("0:1:0.5", "l2") == (Fraction(0), Fraction(1, 2), Fraction(1))


@pytest.mark.parametrize("text", ["4/255", "1/255", "12.7/255"])
def test_a_budget_of_l_infinity_is_asked_about(text: str) -> None:
    with pytest.raises(UserError, match="was L-infinity meant"):
        parse_budget(text, "l2")


@pytest.mark.parametrize("text", ["-1", "1/0", "x", "", "0.5/"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="budget"):
        parse_budget(text, "l2")


def test_names_say_the_norm() -> None:
    assert ATTACKS["pgd"].condition(Fraction(1, 2), "l2").id == "pgd@l2:0.5"
    assert ATTACKS["pgd"].condition(Fraction(4, 255)).id == "pgd@4/255"
