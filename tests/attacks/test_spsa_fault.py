"""Under protocol paper SPSA has the fault of cleverhans 4.0.0, and under pixel it has not."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from attacks import spsa
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.seeds import image_keys, random_signs
from tests.tiny import PREPROCESSING, convnet, images

from .spsa_inputs import EPS, PAPER, THREATS, generators


class CleverhansDraws:
    """`torch.rand_like` for cleverhans: image by image its start, then the signs of each step."""

    def __init__(self, count: int, steps: int) -> None:
        self.draws = self._draws(count, steps)

    @staticmethod
    def _draws(count: int, steps: int) -> Iterator[tuple[int | None, torch.Generator, Tensor]]:
        for generator in generators(count):
            key = torch.empty(1, dtype=torch.int64)
            yield None, generator, key
            for step in range(steps):
                yield step, generator, key

    def __call__(self, like: Tensor) -> Tensor:
        step, generator, key = next(self.draws)
        if step is None:
            start = torch.rand(like.shape[1:], generator=generator, dtype=like.dtype)[None]
            key.copy_(image_keys(1, [generator]))
            return start
        numbers = step * len(like) + torch.arange(len(like))
        return (random_signs(key.expand(len(like)), numbers, like) + 1) / 2


@pytest.mark.parametrize("eps", [1 / 255, 4 / 255])
def test_under_protocol_paper_it_is_cleverhans_given_the_same_noise(
    eps: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = pytest.importorskip("cleverhans.torch.attacks.spsa", reason="needs cleverhans")
    model, x = convnet().double(), images(2).double()
    layer, steps, samples = model.normalize, 3, 8
    assert layer is not None
    monkeypatch.setattr(torch, "rand_like", CleverhansDraws(2, steps))
    wanted = reference.spsa(model.network, layer(x), eps, steps, spsa_samples=samples)
    monkeypatch.undo()
    wrong = (model(x).argmax(1) + 1) % 5
    constants: Any = {"eps": eps, "threat": PAPER, "steps": steps, "samples": samples}
    found = {
        where: layer(spsa(model, x, wrong, estimate_at=where, generator=generators(2), **constants))
        for where in ("twice-the-image", "iterate")
    }
    assert torch.allclose(found["twice-the-image"], wanted, atol=1e-9, rtol=0)
    assert (found["iterate"] - wanted).abs().max() > 1e-3


def probes(estimate_at: Any, threat: ThreatModel, steps: int) -> tuple[Classifier, Tensor]:
    """Centres (steps, N, 3, H, W) of the probes, in the network's input."""
    model, x, y = convnet().double(), images().double(), torch.tensor([0, 1, 2, 3])
    seen: list[Tensor] = []
    handle = model.network.register_forward_pre_hook(
        lambda module, inputs: seen.append(inputs[0].clone())
    )
    spsa(
        model,
        x,
        y,
        eps=EPS,
        threat=threat,
        steps=steps,
        samples=1,
        estimate_at=estimate_at,
        generator=generators(),
        chunk=8,
    )
    handle.remove()
    seen = [each for each in seen if len(each) == 8]  # the label's prediction has 4
    return model, torch.stack([(each[:4] + each[4:]) / 2 for each in seen])


def test_at_twice_the_image_the_iterate_does_not_enter() -> None:
    model, centres = probes("twice-the-image", PAPER, steps=3)
    assert model.normalize is not None
    wanted = 2 * model.normalize(images().double())
    assert len(centres) == 3
    assert torch.allclose(centres, wanted.expand_as(centres), atol=1e-9)
    model, centres = probes("twice-the-image", PIXEL, steps=2)
    assert model.normalize is not None
    wanted = model.normalize(2 * images().double())
    assert torch.allclose(centres, wanted.expand_as(centres), atol=1e-9)


@THREATS
def test_at_the_iterate_it_does(threat: ThreatModel) -> None:
    model, centres = probes("iterate", threat, steps=3)
    assert model.normalize is not None
    x, y = images().double(), torch.tensor([0, 1, 2, 3])
    for steps, centre in enumerate(centres):
        iterate = spsa(
            model, x, y, eps=EPS, threat=threat, steps=steps, samples=1, generator=generators()
        )
        assert torch.allclose(centre, model.normalize(iterate), atol=1e-9)
    assert (centres[0] - centres[2]).abs().max() > 1e-3


def test_the_probes_have_their_length_in_the_threat_models_space() -> None:
    for threat, scale in ((PIXEL, 1.0), (PAPER, torch.tensor(PREPROCESSING.std).view(3, 1, 1))):
        model, x = convnet().double(), images(1).double()
        seen: list[Tensor] = []
        model.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))  # noqa: B023
        spsa(
            model,
            x,
            torch.tensor([0]),
            eps=EPS,
            threat=threat,
            steps=1,
            samples=3,
            delta=0.02,
            generator=generators(1),
        )
        up, down = seen[-1].chunk(2)
        distance = (up - down).abs()
        assert torch.allclose(distance, (0.04 * torch.ones(3, 1, 1) * scale).double() + 0 * up)
        signs = (up - down).sign()
        assert 0.4 < (signs > 0).double().mean() < 0.6
        assert not torch.equal(signs[0], signs[1])
