"""Attacks on a GPU: the same draws as on the CPU, generators of either device."""

from functools import partial
from typing import Any

import pytest
import torch

from attacks import fgsm, noise, pgd, pgd_any, spsa
from robustbench_twicing.conditions.ball import check_adversarial
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.seeds import image_generators
from tests.tiny import convnet

pytestmark = pytest.mark.cuda
EPS = 4 / 255
NAMES = ["a", "b", "c"]
ATTACKS = [
    fgsm,
    noise,
    partial(pgd, steps=3),
    partial(pgd_any, steps=3),
    partial(spsa, steps=2, samples=8),
]
SPACES = [PIXEL, ThreatModel(space="normalized"), ThreatModel(label="predicted", clip=False)]


@pytest.mark.parametrize("threat", SPACES, ids=["pixel", "normalized", "predicted"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_the_same_adversarial_images_as_on_the_cpu(attack: Any, threat: ThreatModel) -> None:
    x, y = torch.rand(3, 3, 8, 8).double(), torch.arange(3)
    found, wanted = (
        attack(
            convnet().double().to(device),
            x.to(device),
            y.to(device),
            eps=EPS,
            threat=threat,
            generator=image_generators(0, NAMES, "any", {}, "4/255"),
        ).cpu()
        for device in ("cuda", "cpu")
    )
    assert ((found - wanted).abs() < 1e-6).double().mean() > 0.99


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_generator_of_the_gpu_serves_too(attack: Any) -> None:
    model, x, y = convnet().cuda(), torch.rand(3, 3, 8, 8).cuda(), torch.arange(3).cuda()
    once, again = (
        attack(model, x, y, eps=EPS, generator=torch.Generator("cuda").manual_seed(0))
        for _ in range(2)
    )
    check_adversarial(x, once, EPS, PIXEL)
    torch.testing.assert_close(once, again)
