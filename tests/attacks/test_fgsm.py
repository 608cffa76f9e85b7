"""FGSM is exact: one step of the whole budget along the gradient's sign."""

from fractions import Fraction

import pytest
import torch

from attacks import fgsm
from attacks.fgsm import fgsm_sweep, step
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.threat_model import PIXEL, PROTOCOLS, ThreatModel
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import PREPROCESSING, Halfspace, Linear, convnet, images

EPS = 4 / 255
PAPER = PROTOCOLS["paper"].threat


@pytest.mark.parametrize("level", [100, 200])
@pytest.mark.parametrize(("over", "fooled"), [(-1e-3, False), (1e-3, True)])
def test_it_finds_the_boundary_of_a_halfspace(level: int, over: float, fooled: bool) -> None:
    x = torch.full((3, 3, 8, 8), level / 255)
    y = torch.full((3,), int(level > 127))
    margin = abs(level / 255 - 0.5)
    x_adv = fgsm(Halfspace(), x, y, eps=margin + over)
    assert (Halfspace()(x_adv).argmax(1) != y).tolist() == [fooled] * 3


def test_every_pixel_moves_by_eps_away_from_the_true_class() -> None:
    model, x, y = Linear(), images(), torch.tensor([0, 1, 0, 1])
    away = (model.weight.flip(0) - model.weight).sign()[y]
    assert torch.equal(fgsm(model, x, y, eps=EPS), (x + EPS * away).clamp(0, 1))
    free = ThreatModel(clip=False)
    assert torch.equal(fgsm(model, x, y, eps=EPS, threat=free), x + EPS * away)


def test_it_moves_away_from_the_label_it_is_told_to() -> None:
    model, x = Linear(classes=3), images()
    predicted = model(x).argmax(1)
    wrong = (predicted + 1) % 3
    at_prediction = fgsm(model, x, wrong, eps=EPS, threat=ThreatModel(label="predicted"))
    assert torch.equal(at_prediction, fgsm(model, x, predicted, eps=EPS))
    assert not torch.equal(at_prediction, fgsm(model, x, wrong, eps=EPS))


def test_a_normalised_budget_moves_each_channel_by_its_std() -> None:
    model = Classifier(Linear(), PREPROCESSING, ModelRecord("linear"))
    x, std = images(), torch.tensor([0.2, 0.25, 0.3]).view(3, 1, 1)
    moved = (fgsm(model, x, torch.tensor([0, 1, 0, 1]), eps=EPS, threat=PAPER) - x).abs()
    assert torch.allclose(moved, (EPS * std).expand_as(x), atol=1e-7)


def test_a_std_above_1_is_a_longer_step() -> None:
    x, std = torch.full((1, 3, 8, 8), 0.5), torch.tensor([0.5, 1.0, 2.0])
    moved = step(x, torch.ones_like(x), EPS, PAPER, std) - x
    assert torch.allclose(moved, (EPS * std).view(3, 1, 1).expand_as(x), atol=1e-7)


def test_where_there_is_no_gradient_nothing_moves() -> None:
    x = torch.full((1, 3, 8, 8), 0.5)
    gradient = torch.zeros_like(x)
    gradient[0, 0, 0, 0] = -1e-30
    moved = step(x, gradient, EPS, PIXEL, None) - x
    assert moved[0, 0, 0, 0].item() == pytest.approx(-EPS, abs=1e-7)
    assert moved.count_nonzero() == 1


@pytest.mark.parametrize("threat", [PIXEL, PAPER, ThreatModel(clip=False)])
def test_a_sweep_is_each_budget_alone(threat: ThreatModel) -> None:
    model, x, y = convnet(), images(), torch.tensor([0, 1, 2, 3])
    budgets = [Fraction(n, 255) for n in (4, 0, 1)]
    batch = AttackBatch(model, x, y, images=list("abcd"), keep_graph=True)
    swept = list(fgsm_sweep(batch, budgets, threat=threat, settings={}))
    alone = [fgsm(model, x, y, eps=float(eps), threat=threat) for eps in budgets]
    assert len(swept) == 3
    for one, other in zip(swept, alone, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(swept[1], x)
