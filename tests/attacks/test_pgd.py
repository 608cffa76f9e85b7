"""PGD reaches what can be worked out on paper."""

from fractions import Fraction

import pytest
import torch
from torch import Tensor, nn

from attacks import ATTACKS, fgsm, pgd
from attacks.pgd import REL_STEP, STEPS
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.gradient import input_gradient
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.ball import ball
from robustbench_twicing.conditions.threat_model import PIXEL, PROTOCOLS, ThreatModel
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.seeds import image_generators
from tests.tiny import PREPROCESSING, Halfspace, Linear, convnet, images

EPS = 4 / 255
PAPER = PROTOCOLS["paper"].threat


def generators(count: int = 4, seed: int = 0) -> list[torch.Generator]:
    return image_generators(seed, [str(n) for n in range(count)], "pgd", {}, "4/255")


def test_the_constants_are_the_papers() -> None:
    assert (STEPS, REL_STEP) == (20, 0.15)


@pytest.mark.parametrize("level", [100, 200])
@pytest.mark.parametrize(("over", "fooled"), [(-1e-3, False), (1e-3, True)])
@pytest.mark.parametrize("random_start", [False, True])
def test_it_finds_the_boundary_of_a_halfspace(
    level: int, over: float, fooled: bool, random_start: bool
) -> None:
    x = torch.full((3, 3, 8, 8), level / 255)
    y = torch.full((3,), int(level > 127))
    margin = abs(level / 255 - 0.5)
    x_adv = pgd(
        Halfspace(), x, y, eps=margin + over, random_start=random_start, generator=generators(3)
    )
    assert (Halfspace()(x_adv).argmax(1) != y).tolist() == [fooled] * 3


@pytest.mark.parametrize("threat", [PIXEL, ThreatModel(clip=False)])
def test_on_a_linear_model_every_pixel_reaches_the_corner(threat: ThreatModel) -> None:
    """20 steps of 0.15 eps cross the ball from any start; the gradient's sign never changes."""
    model, x, y = Linear(), images(), torch.tensor([0, 1, 0, 1])
    away = model.weight.flip(0)[y] - model.weight[y]
    low, high = ball(x, EPS, threat)
    x_adv = pgd(model, x, y, eps=EPS, threat=threat, generator=generators())
    assert torch.equal(x_adv, torch.where(away > 0, high, low))


def test_on_a_linear_classifier_a_normalised_ball_is_filled_to_the_corner() -> None:
    network = Linear()
    network.weight.mul_(0.01)  # for probabilities that float32 tells from 0 and 1
    model = Classifier(network, PREPROCESSING, ModelRecord("linear"))
    x, weight = images(), network.weight
    predicted = model(x).argmax(1)
    away = weight.flip(0)[predicted] - weight[predicted]
    low, high = ball(x, EPS, PAPER, model.std)
    x_adv = pgd(model, x, predicted, eps=EPS, threat=PAPER, generator=generators())
    assert torch.equal(x_adv, torch.where(away > 0, high, low))


def test_steps_are_a_share_of_the_budget() -> None:
    x, y = torch.full((1, 3, 8, 8), 0.5), torch.tensor([0])
    for steps, rel_step, share in [(1, 0.15, 0.15), (3, 0.15, 0.45), (2, 0.4, 0.8), (9, 0.2, 1)]:
        x_adv = pgd(Linear(), x, y, eps=EPS, steps=steps, rel_step=rel_step, random_start=False)
        moved = (x_adv - x).abs()
        assert torch.allclose(moved, torch.full_like(x, share * EPS), atol=1e-6)


def test_one_whole_step_from_the_image_is_fgsm() -> None:
    model, x, y = convnet(), images(), torch.tensor([0, 1, 2, 3])
    one = pgd(model, x, y, eps=EPS, steps=1, rel_step=1, random_start=False)
    assert torch.equal(one, fgsm(model, x, y, eps=EPS))


def test_no_step_leaves_the_start_which_fills_the_ball_evenly() -> None:
    x = torch.full((4, 3, 64, 64), 0.5)
    start = pgd(Linear(side=64), x, torch.tensor([0] * 4), eps=EPS, steps=0, generator=generators())
    share = (start - x) / EPS
    assert share.abs().max() <= 1 + 1e-5
    assert share.mean().abs() < 0.01
    assert share.pow(2).mean().sub(1 / 3).abs() < 0.01
    assert share.min() < -0.99
    assert share.max() > 0.99
    assert not torch.equal(start[0], start[1])


def test_the_start_lies_in_the_valid_range() -> None:
    x = torch.zeros(4, 3, 8, 8)
    start = pgd(Linear(), x, torch.tensor([0] * 4), eps=EPS, steps=0, generator=generators())
    assert start.min() == 0
    assert start.max() <= EPS


def test_each_step_is_taken_at_the_last_iterate() -> None:
    """Two steps by hand, on a model whose gradient changes its sign on the way."""
    model, x, y = convnet(), images(), torch.tensor([0, 1, 2, 3])
    eps, low_high = 0.5, ball(images(), 0.5, PIXEL)
    by_hand = x.clone()
    signs = []
    for _ in range(4):
        gradient = input_gradient(model, by_hand, y)
        signs.append(gradient.sign())
        by_hand = (by_hand + 0.4 * eps * gradient.sign()).clamp(*low_high)
    assert not torch.equal(signs[0], signs[-1])
    found = pgd(model, x, y, eps=eps, steps=4, rel_step=0.4, random_start=False)
    assert torch.allclose(found, by_hand, atol=1e-6)


def test_it_raises_the_loss_more_than_one_step_does() -> None:
    model, x = convnet(), images()
    y = model(x).argmax(1)
    loss = nn.CrossEntropyLoss(reduction="sum")
    losses = [
        loss(model(each), y).item()
        for each in (
            x,
            fgsm(model, x, y, eps=0.2),
            pgd(model, x, y, eps=0.2, generator=generators()),
        )
    ]
    assert losses[0] < losses[1] < losses[2]


def test_it_moves_away_from_the_label_it_is_told_to() -> None:
    model, x = Linear(classes=3), images()
    predicted = model(x).argmax(1)
    wrong = (predicted + 1) % 3
    away = ThreatModel(label="predicted")
    at_prediction = pgd(model, x, wrong, eps=EPS, threat=away, generator=generators())
    assert torch.equal(at_prediction, pgd(model, x, predicted, eps=EPS, generator=generators()))


class Summed(nn.Module):
    """Sums its pixels: autograd hands back one number that stands for all of them."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        total = x.flatten(1).sum(1)
        return torch.stack([total, 96 - total], 1)


def test_a_gradient_that_autograd_expanded_is_followed() -> None:
    x, y = torch.full((2, 3, 8, 8), 0.5), torch.tensor([0, 1])
    x_adv = pgd(Summed(), x, y, eps=EPS, generator=generators(2))
    assert torch.allclose((x_adv - x)[0], torch.full((3, 8, 8), -EPS), atol=1e-6)
    assert torch.allclose((x_adv - x)[1], torch.full((3, 8, 8), EPS), atol=1e-6)


def test_a_random_start_without_a_generator_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="needs a generator"):
        pgd(Linear(), images(), torch.tensor([0] * 4), eps=EPS)


SETTINGS = {"steps": 3, "rel_step": 0.15, "random_start": True}


@pytest.mark.parametrize("threat", [PIXEL, PAPER])
def test_a_sweep_is_each_budget_alone_with_streams_of_its_own(threat: ThreatModel) -> None:
    model, x, y = convnet(), images(), torch.tensor([0, 1, 2, 3])
    budgets = [Fraction(4, 255), Fraction(0), Fraction(1, 255)]
    batch = AttackBatch(model, x, y, images=list("abcd"), seed=7)
    settings = {**SETTINGS, "restarts": 1}
    swept = list(ATTACKS["pgd"].sweep(batch, budgets, threat=threat, settings=settings))
    assert torch.equal(swept[1], x)
    for eps, found in zip(budgets, swept, strict=True):
        streams = batch.generators("pgd", SETTINGS, eps)
        alone = pgd(model, x, y, eps=float(eps), threat=threat, steps=3, generator=streams)
        assert torch.equal(found, alone)


def test_of_several_restarts_each_image_keeps_the_worst() -> None:
    model, x, y = convnet(), images(), torch.tensor([0, 1, 2, 3])
    eps = Fraction(64, 255)
    batch = AttackBatch(model, x, y, images=list("abcd"), seed=7)
    runs = []
    for restart in range(3):
        streams = batch.generators("pgd", SETTINGS, eps, restart)
        runs.append(pgd(model, x, y, eps=float(eps), steps=3, generator=streams))
    logits = torch.stack([model(run) for run in runs]).double()
    fooled = logits.argmax(2) != y
    loss = nn.CrossEntropyLoss(reduction="none")(logits.movedim(2, 1), y.expand(3, 4))
    best = (loss + 1000 * fooled).argmax(0)
    assert len(set(best.tolist())) > 1, "one restart is the worst for all, which tests nothing"
    (found,) = ATTACKS["pgd"].sweep(
        batch, [eps], threat=PIXEL, settings={**SETTINGS, "restarts": 3}
    )
    for index, restart in enumerate(best.tolist()):
        assert torch.equal(found[index], runs[restart][index])
