"""What the suite promises of every library's attack, and what happens where one breaks it."""

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attacks import find_attack
from robustbench_twicing.classifiers.classifier import std_of
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.threat_model import check_adversarial

from .fragile import COUNT, EPS, EVERY, SIDE, ShortAutoAttack, batch, classifier, images, small

pytestmark = pytest.mark.slow

DRAWS_NOTHING = {
    "torchattacks:FGSM",
    "torchattacks:BIM",
    "torchattacks:MIFGSM",
    "torchattacks:UPGD",
    "torchattacks:FAB",
    "torchattacks:NIFGSM",
    "torchattacks:SINIFGSM",
    "torchattacks:PIFGSM",
    "torchattacks:PIFGSMPP",
    "foolbox:FGSM",
    "foolbox:LinfFastGradientAttack",
    "foolbox:LinfBasicIterativeAttack",
    "foolbox:LinfAdamBasicIterativeAttack",
    "foolbox:LinfMomentumIterativeFastGradientMethod",
    "foolbox:MIFGSM",
    "foolbox:LinfDeepFoolAttack",
    "foolbox:LInfFMNAttack",
}
FINDS_NOTHING = {"torchattacks:Square", "foolbox:LinfRepeatedAdditiveUniformNoiseAttack"}
"""With so few queries; they give back the clean image."""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyautoattack.AutoAttack", ShortAutoAttack)


def condition(name: str, **settings: Any) -> Condition:
    return find_attack(name).condition(EPS, overrides={**small(name), **settings})


def run(name: str, made: AttackBatch) -> Tensor:
    asked = condition(name)
    assert asked.sweep is not None
    (x_adv,) = asked.sweep(made, [EPS], threat=asked.threat, settings=asked.settings)
    return x_adv


def check(made: AttackBatch, x_adv: Tensor) -> None:
    check_adversarial(made.x, x_adv, float(EPS), condition("apgd").threat, std_of(made.model))


def global_states() -> list[Any]:
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    return [random.getstate(), kind, list(keys), rest, torch.get_rng_state().tolist()]


@pytest.mark.parametrize("name", EVERY)
def test_it_leaves_everything_as_it_was(name: str) -> None:
    model = classifier()
    made = batch(model)
    model.requires_grad_(True)
    model.train()
    network: Any = model.network
    network.bn.eval()
    modes = [module.training for module in model.modules()]
    state = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    y, before = made.y.clone(), global_states()
    x_adv = run(name, made)
    assert global_states() == before
    assert torch.equal(made.x, images())
    assert torch.equal(made.y, y)
    assert not made.x.requires_grad
    assert not x_adv.requires_grad
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(tensor, state[key]) for key, tensor in model.state_dict().items())
    assert all(each.grad is None and each.requires_grad for each in model.parameters())
    hooks = (model._forward_hooks, model._forward_pre_hooks, model._backward_hooks)
    assert not any(hooks)


@pytest.mark.parametrize("name", EVERY)
def test_it_stays_in_its_ball_draws_as_told_and_does_something(name: str) -> None:
    model = classifier()
    made = batch(model)
    first, again, other = (run(name, batch(model, seed=seed)) for seed in (0, 0, 1))
    check(made, first)
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (name in DRAWS_NOTHING | FINDS_NOTHING)
    assert torch.equal(first, made.x) == (name in FINDS_NOTHING)


@pytest.mark.parametrize("name", EVERY)
def test_it_attacks_the_model_in_eval_mode(name: str) -> None:
    model = classifier()
    made = batch(model)
    wanted = run(name, made)
    model.train()
    assert torch.equal(run(name, made), wanted)


@pytest.mark.parametrize("name", EVERY)
def test_no_budget_gives_the_image_bit_for_bit(name: str) -> None:
    asked, made = condition(name), batch(classifier())
    assert asked.sweep is not None
    budgets = [0 * EPS, EPS, 0 * EPS]
    found = list(asked.sweep(made, budgets, threat=asked.threat, settings=asked.settings))
    assert torch.equal(found[0], made.x)
    assert torch.equal(found[2], made.x)
    assert found[0] is not made.x
    assert torch.equal(found[1], run(name, made))


@pytest.mark.parametrize("name", EVERY)
def test_it_takes_one_image(name: str) -> None:
    made = batch(classifier(), count=1)
    check(made, run(name, made))


@pytest.mark.parametrize("name", EVERY)
def test_it_takes_images_that_are_all_wrong_already(name: str) -> None:
    made = batch(classifier(), wrong=tuple(range(COUNT)))
    check(made, run(name, made))


@pytest.mark.parametrize("name", ["autoattack", "torchattacks:PGD", "foolbox:PGD"])
def test_nothing_is_printed_of_a_model_without_parameters(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    class Bare(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            weights = torch.sin(torch.arange(10 * 3 * SIDE * SIDE)).view(10, -1)
            return 0.2 * x.flatten(1) @ weights.T

    made = batch(classifier(Bare()))
    check(made, run(name, made))
    assert capsys.readouterr() == ("", "")
