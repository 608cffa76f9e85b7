"""SPSA: its estimate is the gradient, its path is Adam's, and it beats noise."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attacks import noise, spsa
from attacks.spsa import DELTA, LEARNING_RATE, SAMPLES, STEPS, margin, spsa_gradient
from robustbench_twicing.conditions.ball import ball, check_adversarial, unit
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.seeds import uniform_like
from tests.tiny import Linear, convnet, images

from .spsa_inputs import EPS, THREATS, away, generators, linear


def test_the_constants_are_the_papers() -> None:
    assert (STEPS, SAMPLES, LEARNING_RATE, DELTA) == (40, 128, 0.01, 0.01)


def test_the_margin_is_above_0_where_misclassified() -> None:
    logits = torch.tensor([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [1.0, 1.0, 0.0]])
    assert margin(logits, torch.tensor([0, 1, 0])).tolist() == [-1, 2, 0]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 5])
def test_the_estimate_is_the_gradient_of_a_linear_model(classes: int) -> None:
    """Its variance is |gradient|^2 / samples per pixel; none is beyond 5 standard deviations."""
    model = Linear(classes=classes, side=4).double()
    x = torch.full((3, 3, 4, 4), 0.5, dtype=torch.float64)
    logits = model(x)
    target = logits.argmax(1)  # one runner-up for all probes
    target[1] = logits[1].argmin()
    rivals = logits.scatter(1, target[:, None], float("-inf")).argmax(1)
    exact = model.weight[rivals] - model.weight[target]
    samples = 4000
    found = spsa_gradient(model, x, target, samples=samples, delta=1e-4, generator=generators(3))
    deviation = exact.flatten(1).norm(dim=1) / samples**0.5
    assert ((found - exact).abs().amax((1, 2, 3)) < 5 * deviation).all()
    length = (found * exact).sum((1, 2, 3)) / exact.square().sum((1, 2, 3))
    assert torch.allclose(length, torch.ones_like(length), atol=0.05)


def test_the_estimate_does_not_depend_on_the_length_of_the_probes_of_a_linear_model() -> None:
    model, x, target = Linear().double(), images().double(), torch.tensor([0, 1, 0, 1])
    short, long = (
        spsa_gradient(model, x, target, samples=16, delta=delta, generator=generators())
        for delta in (1e-3, 1e-1)
    )
    assert torch.allclose(short, long, atol=1e-9)


@pytest.mark.slow
@THREATS
def test_the_first_step_is_adams_along_the_gradients_sign(threat: ThreatModel) -> None:
    """Adam's first step has the length of its rate in every coordinate."""
    model, x = linear(), images().double()
    y = model(x).argmax(1)
    sign = away(model, y).sign()
    rate, eps = 0.003, 8 / 255
    first = eps * (2 * uniform_like(x, generators()) - 1)
    length = unit(x, threat, model.std)
    low, high = ball(x, eps, threat, model.std)
    begin = ((x + length * first).clamp(low, high) - x) / length
    wanted = (x + length * (begin + rate * sign)).clamp(low, high)
    found = spsa(
        model,
        x,
        y,
        eps=eps,
        threat=threat,
        steps=1,
        learning_rate=rate,
        samples=1500,
        chunk=1000,
        generator=generators(),
    )
    assert ((found - wanted).abs() < 1e-6).float().mean() > 0.85  # some estimates are near 0
    moved = ((found - x) / length - begin).abs()
    inside = (found > low + 1e-9) & (found < high - 1e-9)
    assert torch.allclose(moved[inside], torch.tensor(rate, dtype=torch.float64), atol=1e-5)


@pytest.mark.slow
@THREATS
def test_more_steps_reach_the_corner_of_a_linear_models_ball(threat: ThreatModel) -> None:
    model, x = linear(scale=0.01), images().double()
    y = model(x).argmax(1)
    found = spsa(model, x, y, eps=EPS, threat=threat, generator=generators())
    low, high = ball(x, EPS, threat, model.std)
    corner = torch.where(away(model, y) > 0, high, low)
    assert ((found - corner).abs() < 1e-9).float().mean() > 0.8


@THREATS
def test_it_stays_in_its_ball_however_long_the_steps(threat: ThreatModel) -> None:
    model, x = convnet(), images(32)
    y = torch.arange(32) % 5
    x_adv = spsa(
        model,
        x,
        y,
        eps=EPS,
        threat=threat,
        steps=3,
        samples=4,
        learning_rate=1.0,
        generator=generators(32),
    )
    check_adversarial(x, x_adv, EPS, threat, model.std)
    low, high = ball(x, EPS, threat, model.std)
    assert ((x_adv >= low) & (x_adv <= high)).all(), "rounding leads out of it"
    assert ((x_adv == low) | (x_adv == high)).float().mean() > 0.9


def test_without_a_budget_nothing_is_drawn_or_asked() -> None:
    class Silent(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise AssertionError

    x = images()
    x_adv = spsa(Silent(), x, torch.tensor([0, 1, 2, 3]), eps=0)
    assert torch.equal(x_adv, x)
    assert x_adv is not x


def test_misuse_is_a_bug_of_the_caller() -> None:
    x, y = images(), torch.tensor([0] * 4)
    with pytest.raises(ValueError, match="needs a generator"):
        spsa(Linear(), x, y, eps=EPS)
    wrong: Any = "itterate"
    with pytest.raises(ValueError, match="estimate_at='itterate' is not one of"):
        spsa(Linear(), x, y, eps=EPS, estimate_at=wrong, generator=generators())


def test_it_moves_away_from_the_label_it_is_told_to() -> None:
    model, x = Linear(classes=3), images()
    predicted = model(x).argmax(1)
    constants: Any = {"eps": EPS, "steps": 2, "samples": 4}
    away = ThreatModel(label="predicted")
    wrong = (predicted + 1) % 3
    found, wanted, other = (
        spsa(model, x, y, threat=threat, generator=generators(), **constants)
        for y, threat in ((wrong, away), (predicted, PIXEL), (wrong, PIXEL))
    )
    assert torch.equal(found, wanted)
    assert not torch.equal(found, other)


def trained() -> tuple[nn.Module, Tensor, Tensor]:
    """A logistic regression on two kinds of noisy images that a pattern tells apart."""
    generator = torch.Generator().manual_seed(0)
    pattern = torch.randn(3, 8, 8, generator=generator).sign()
    y = torch.arange(200) % 2
    shift = 0.05 * (2 * y.view(-1, 1, 1, 1) - 1) * pattern
    x = (0.5 + shift + 0.1 * torch.randn(200, 3, 8, 8, generator=generator)).clamp(0, 1)
    layer = nn.Linear(3 * 8 * 8, 2)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    model = nn.Sequential(nn.Flatten(), layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for _ in range(100):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model.requires_grad_(False), x[:40], y[:40]


@pytest.mark.slow
def test_it_beats_noise_of_the_same_budget() -> None:
    model, x, y = trained()
    eps = 24 / 255
    random = noise(model, x, y, eps=eps, generator=generators(40))
    found = spsa(model, x, y, eps=eps, steps=20, samples=64, generator=generators(40))
    right = {
        name: int((model(each).argmax(1) == y).sum())
        for name, each in (("clean", x), ("noise", random), ("spsa", found))
    }
    assert right["clean"] == 40
    assert right["noise"] >= 38
    assert right["spsa"] <= 5
