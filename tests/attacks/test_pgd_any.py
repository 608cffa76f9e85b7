"""PGD that stops when the model is fooled: never weaker than PGD, and the same until then."""

from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attacks import ATTACKS, pgd, pgd_any
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.threat_model import PIXEL, PROTOCOLS, ThreatModel
from robustbench_twicing.seeds import image_generators
from tests.tiny import Linear, convnet

COUNT, STEPS = 24, 6
PAPER = PROTOCOLS["paper"].threat
THREATS = pytest.mark.parametrize("threat", [PIXEL, PAPER], ids=["pixel", "paper"])


def generators(count: int = COUNT) -> list[torch.Generator]:
    return image_generators(0, [str(n) for n in range(count)], "pgd", {}, "4/255")


def model() -> Classifier:
    """Float64, so that a batch that shrinks does not change a sign."""
    return convnet().double()


def images() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (COUNT, 3, 8, 8), generator=generator).double() / 255


def labels(network: nn.Module) -> Tensor:
    """The model's own answers, but for three images that are wrong already."""
    y: Tensor = network(images()).argmax(1)
    y[:3] = (y[:3] + 1) % 5
    return y


def iterates(network: nn.Module, y: Tensor, threat: ThreatModel, eps: float) -> Tensor:
    """PGD's start and every iterate (STEPS + 1, N, 3, H, W)."""
    return torch.stack(
        [
            pgd(
                network,
                images(),
                y,
                eps=eps,
                threat=threat,
                steps=steps,
                rel_step=0.2,
                generator=generators(),
            )
            for steps in range(STEPS + 1)
        ]
    )


@THREATS
def test_it_gives_back_the_first_iterate_that_fools(threat: ThreatModel) -> None:
    network = model()
    y, eps = labels(network), 0.15 if threat is PIXEL else 0.6
    path = iterates(network, y, threat, eps)
    fooled = torch.stack([network(each).argmax(1) != y for each in path])
    first = torch.where(fooled.any(0), fooled.int().argmax(0), STEPS)
    assert len(set(first.tolist())) > 2, "all are fooled at once, which tests nothing"
    assert not fooled.any(0).all()
    found = pgd_any(
        network,
        images(),
        y,
        eps=eps,
        threat=threat,
        steps=STEPS,
        rel_step=0.2,
        generator=generators(),
    )
    wanted = path[first, torch.arange(COUNT)]
    assert torch.allclose(found, wanted, atol=1e-12)
    survived = network(found).argmax(1) == y
    assert not (survived & fooled[STEPS]).any()


def test_it_compares_with_the_true_label_whichever_is_attacked() -> None:
    """A wrong image is fooled at its start, though the model's own answer still stands."""
    network = model()
    y = labels(network)
    constants: Any = {"eps": 0.01, "threat": PAPER, "generator": generators()}
    found = pgd_any(network, images(), y, **constants)
    start = pgd(network, images(), y, **{**constants, "generator": generators(), "steps": 0})
    assert torch.equal(found[:3], start[:3])
    assert not torch.isclose(found[3:], start[3:]).all(3).all(2).all(1).any()


def test_fooled_images_leave_the_batch() -> None:
    network = model()
    y, eps = labels(network), 0.15
    sizes: list[int] = []
    network.register_forward_hook(lambda module, inputs, output: sizes.append(len(output)))
    pgd_any(network, images(), y, eps=eps, steps=STEPS, rel_step=0.2, generator=generators())
    assert sizes[0] == COUNT
    assert sizes == sorted(sizes, reverse=True)
    assert 0 < sizes[-1] < sizes[0] - 3


def test_where_all_are_fooled_it_ends() -> None:
    network = model()
    y = (network(images()).argmax(1) + 1) % 5
    sizes: list[int] = []
    network.register_forward_hook(lambda module, inputs, output: sizes.append(len(output)))
    pgd_any(network, images(), y, eps=1e-3, generator=generators())
    assert sizes == [COUNT]


def test_without_a_budget_the_image_comes_back_and_nothing_is_drawn() -> None:
    x = images()
    found = pgd_any(Linear(), x, torch.zeros(COUNT, dtype=torch.long), eps=0)
    assert torch.equal(found, x)
    assert found is not x


def test_without_a_generator_it_is_a_bug_of_the_caller() -> None:
    with pytest.raises(ValueError, match="needs a generator"):
        pgd_any(model(), images(), labels(model()), eps=0.1)


@THREATS
def test_a_sweep_starts_where_pgd_with_the_same_constants_does(threat: ThreatModel) -> None:
    network = model()
    y = labels(network)
    batch = AttackBatch(network, images(), y, images=[f"{n}.png" for n in range(COUNT)], seed=7)
    settings: Any = {"steps": 1, "rel_step": 0.15}
    budgets = [Fraction(1, 255), Fraction(0), Fraction(2, 255)]
    swept = list(ATTACKS["pgd-any"].sweep(batch, budgets, threat=threat, settings=settings))
    assert torch.equal(swept[1], images())
    pgd_settings = {**settings, "random_start": True, "restarts": 1}
    sweep = ATTACKS["pgd"].sweep
    plain = list(sweep(batch, budgets, threat=threat, settings=pgd_settings))
    for found, last in zip(swept, plain, strict=True):
        right = network(found).argmax(1) == y
        assert right[3:].any()
        assert torch.allclose(found[right], last[right], atol=1e-12)


def test_its_note_says_that_it_is_another_number() -> None:
    (note,) = ATTACKS["pgd-any"].condition(Fraction(1, 255)).notes
    assert "right at every iterate" in note
