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
from robustbench_twicing.conditions.ball import check_adversarial
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.threat_model import PROTOCOLS

from .fragile import BUDGET, CASES, COUNT, SIDE, ShortAutoAttack, batch, classifier, images, small

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
    "foolbox:FGM",
    "foolbox:L2FastGradientAttack",
    "foolbox:L2BasicIterativeAttack",
    "foolbox:L2AdamBasicIterativeAttack",
    "foolbox:L2MomentumIterativeFastGradientMethod",
    "foolbox:L2DeepFoolAttack",
    "foolbox:L2CarliniWagnerAttack",
    "foolbox:DDNAttack",
    "foolbox:NewtonFoolAttack",
    "foolbox:L2ContrastReductionAttack",
}
FINDS_NOTHING = {name for name, _ in CASES if name == "torchattacks:Square" or "Repeated" in name}
"""With so few queries; they give back the clean image."""


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyautoattack.AutoAttack", ShortAutoAttack)


def condition(name: str, protocol: str) -> Condition:
    return find_attack(name).condition(BUDGET[protocol], protocol, small(name))


def run(name: str, protocol: str, made: AttackBatch) -> Tensor:
    asked = condition(name, protocol)
    assert asked.sweep is not None
    (x_adv,) = asked.sweep(made, [asked.eps], threat=asked.threat, settings=asked.settings)
    return x_adv


def check(protocol: str, made: AttackBatch, x_adv: Tensor) -> None:
    threat = PROTOCOLS[protocol].threat
    check_adversarial(made.x, x_adv, float(BUDGET[protocol]), threat, std_of(made.model))


def global_states() -> list[Any]:
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    return [random.getstate(), kind, list(keys), rest, torch.get_rng_state().tolist()]


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_it_leaves_everything_as_it_was(name: str, protocol: str) -> None:
    model = classifier()
    made = batch(model)
    model.requires_grad_(True)
    model.train()
    network: Any = model.network
    network.bn.eval()
    modes = [module.training for module in model.modules()]
    state = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    y, before = made.y.clone(), global_states()
    x_adv = run(name, protocol, made)
    assert global_states() == before
    assert torch.equal(made.x, images())
    assert torch.equal(made.y, y)
    assert not made.x.requires_grad
    assert not x_adv.requires_grad
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(tensor, state[key]) for key, tensor in model.state_dict().items())
    assert all(weight.grad is None and weight.requires_grad for weight in model.parameters())
    hooks = (model._forward_hooks, model._forward_pre_hooks, model._backward_hooks)
    assert not any(hooks)


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_it_stays_in_its_ball_draws_as_told_and_does_something(name: str, protocol: str) -> None:
    model = classifier()
    made = batch(model)
    first, again, other = (run(name, protocol, batch(model, seed=seed)) for seed in (0, 0, 1))
    check(protocol, made, first)
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (name in DRAWS_NOTHING | FINDS_NOTHING)
    assert torch.equal(first, made.x) == (name in FINDS_NOTHING)


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_it_attacks_the_model_in_eval_mode(name: str, protocol: str) -> None:
    model = classifier()
    made = batch(model)
    wanted = run(name, protocol, made)
    model.train()
    assert torch.equal(run(name, protocol, made), wanted)


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_no_budget_gives_the_image_bit_for_bit(name: str, protocol: str) -> None:
    asked, made = condition(name, protocol), batch(classifier())
    assert asked.sweep is not None
    budgets = [0 * asked.eps, asked.eps, 0 * asked.eps]
    zero, some, again = asked.sweep(made, budgets, threat=asked.threat, settings=asked.settings)
    assert torch.equal(zero, made.x)
    assert torch.equal(again, made.x)
    assert zero is not made.x
    assert torch.equal(some, run(name, protocol, made))


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_it_takes_one_image(name: str, protocol: str) -> None:
    made = batch(classifier(), count=1)
    check(protocol, made, run(name, protocol, made))


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_it_takes_images_that_are_all_wrong_already(name: str, protocol: str) -> None:
    made = batch(classifier(), wrong=tuple(range(COUNT)))
    check(protocol, made, run(name, protocol, made))


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("autoattack", "pixel"),
        ("autoattack", "l2"),
        ("torchattacks:PGD", "pixel"),
        ("torchattacks:PGDL2", "l2"),
        ("foolbox:PGD", "pixel"),
        ("foolbox:L2PGD", "l2"),
    ],
)
def test_nothing_is_printed_of_a_model_without_parameters(
    name: str, protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    class Bare(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            weights = torch.sin(torch.arange(10 * 3 * SIDE * SIDE)).view(10, -1)
            return 0.2 * x.flatten(1) @ weights.T

    made = batch(classifier(Bare()))
    check(protocol, made, run(name, protocol, made))
    assert capsys.readouterr() == ("", "")
