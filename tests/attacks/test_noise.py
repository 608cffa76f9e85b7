"""Noise: the whole budget in random directions, and no look at the model."""

from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attacks import ATTACKS, noise
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.ball import ball
from robustbench_twicing.conditions.threat_model import PIXEL, PROTOCOLS, ThreatModel
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.seeds import image_generators
from tests.tiny import PREPROCESSING

EPS = 4 / 255
PAPER = PROTOCOLS["paper"].threat
Y = torch.tensor([0, 1])


class Silent(nn.Module):
    """Refuses to be asked."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to nothing."""
        raise AssertionError("noise asks the model")


def model() -> Classifier:
    return Classifier(Silent(), PREPROCESSING, ModelRecord("silent"))


def greys() -> Tensor:
    return torch.full((2, 3, 8, 8), 0.5)


def generators(count: int = 2) -> list[torch.Generator]:
    return image_generators(0, [str(n) for n in range(count)], "noise", {}, "4/255")


@pytest.mark.parametrize("threat", [PIXEL, PAPER], ids=["pixel", "paper"])
def test_every_pixel_moves_by_the_whole_budget(threat: ThreatModel) -> None:
    x = greys()
    moved = noise(model(), x, Y, eps=EPS, threat=threat, generator=generators()) - x
    std = torch.tensor(PREPROCESSING.std).view(3, 1, 1) if threat is PAPER else torch.ones(3, 1, 1)
    assert torch.allclose(moved.abs(), EPS * std.expand_as(moved), atol=1e-6)
    assert 0.4 < (moved > 0).float().mean() < 0.6
    assert not torch.equal(moved[0] > 0, moved[1] > 0)
    assert not torch.equal(moved[:, 0] > 0, moved[:, 1] > 0)


def test_it_is_clipped_where_the_protocol_clips() -> None:
    x = torch.stack([torch.zeros(3, 8, 8), torch.ones(3, 8, 8)])
    found = noise(model(), x, Y, eps=EPS, generator=generators())
    low, high = ball(x, EPS, PIXEL)
    assert ((found == low) | (found == high)).all()
    assert found.min() == 0
    assert found.max() == 1
    free = noise(model(), x, Y, eps=EPS, threat=PAPER, generator=generators())
    assert free.min() < 0
    assert free.max() > 1


def test_one_generator_serves_a_batch() -> None:
    one: Any = torch.Generator().manual_seed(0)
    moved = noise(model(), greys(), Y, eps=EPS, generator=one) - 0.5
    assert not torch.equal(moved[0] > 0, moved[1] > 0)


def test_without_a_generator_it_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="needs a generator"):
        noise(model(), greys(), Y, eps=EPS)


def test_a_sweep_is_each_budget_alone_with_streams_of_its_own() -> None:
    batch = AttackBatch(model(), greys(), Y, images=["a", "b"], seed=7)
    budgets = [Fraction(4, 255), Fraction(0), Fraction(1, 255)]
    swept = list(ATTACKS["noise"].sweep(batch, budgets, threat=PIXEL, settings={}))
    assert torch.equal(swept[1], greys())
    for eps, found in zip(budgets, swept, strict=True):
        streams = batch.generators("noise", {}, eps)
        alone = noise(batch.model, batch.x, Y, eps=float(eps), generator=streams)
        assert torch.equal(found, alone)
    assert not torch.equal(swept[0] > 0.5, swept[2] > 0.5)
