"""What every attack of the table promises, whichever it is."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import attacks
from attacks import ATTACKS, fgsm
from robustbench_twicing.classifiers.classifier import std_of
from robustbench_twicing.cli.options.evaluation import EvalOptions
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.ball import check_adversarial
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from tests.tiny import Linear, network_for

EPS, SIDE = Fraction(4, 255), Fraction(4)
"""Of most attacks, and of patches in pixels."""
SMALL = {"steps": 3, "samples": 8}
COUNT = 7
DRAWS = {name for name, spec in ATTACKS.items() if spec.draws}
CASES = [(name, protocol) for name, spec in ATTACKS.items() for protocol in spec.protocols]


@dataclass(frozen=True)
class Attack:
    """One attack under one protocol, as a function and as a sweep."""

    name: str
    protocol: str

    @property
    def eps(self) -> Fraction:
        return SIDE if PROTOCOLS[self.protocol].threat.norm == "patch" else EPS

    def condition(self, eps: Fraction | None = None) -> Condition:
        budget = self.eps if eps is None else eps
        return ATTACKS[self.name].condition(budget, self.protocol, SMALL)

    def function(self, eps: Fraction) -> Callable[..., Tensor]:
        made = self.condition(eps)
        function = ATTACKS[self.name].function
        assert function is not None
        taken = inspect.signature(function).parameters
        settings: dict[str, Any] = {
            name: value for name, value in made.settings.items() if name in taken
        }
        if "threat" in taken:
            settings["threat"] = made.threat
        if "eps" in taken:
            settings["eps"] = float(eps)
        bound = partial(function, **settings)
        if "generator" in taken:
            return bound
        return lambda model, x, y, *, generator: bound(model, x, y)

    def sweep(self, batch: AttackBatch, *budgets: Fraction) -> list[Tensor]:
        made = self.condition()
        assert made.sweep is not None
        return list(made.sweep(batch, budgets, threat=made.threat, settings=made.settings))


@pytest.fixture(params=CASES, ids=["-".join(case) for case in CASES])
def attack(request: pytest.FixtureRequest) -> Attack:
    return Attack(*request.param)


with_budget = pytest.mark.parametrize(
    "attack",
    [Attack(*case) for case in CASES if not ATTACKS[case[0]].about.finds_radius],
    ids=lambda attack: f"{attack.name}-{attack.protocol}",
)
"""Others look for the nearest example instead."""


def images(count: int = COUNT) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (count, 3, 8, 8), generator=generator) / 255


Y = torch.tensor([0, 1, 2, 3, 4, 0, 1])
NAMES = [f"{number}.png" for number in range(COUNT)]


def batch(model: nn.Module, count: int = COUNT, *, first: int = 0, seed: int = 0) -> AttackBatch:
    part = slice(first, first + count)
    return AttackBatch(
        model, images()[part], Y[part], images=NAMES[part], seed=seed, keep_graph=True
    )


def call(attack: Attack, model: nn.Module, x: Tensor, eps: Fraction | None = None) -> Tensor:
    budget = attack.eps if eps is None else eps
    generators = AttackBatch(model, x, Y, images=NAMES).generators(attack.name, {}, budget)
    return attack.function(budget)(model, x, Y, generator=generators[: len(x)])


@pytest.mark.parametrize("training", [True, False])
def test_it_leaves_model_and_input_as_they_were(attack: Attack, training: bool) -> None:
    model = network_for(attack.name)
    dropout = next(module for module in model.modules() if isinstance(module, nn.Dropout))
    model.requires_grad_(True)
    model.train(training)
    dropout.train(not training)
    modes = [module.training for module in model.modules()]
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    x = images()
    call(attack, model, x)
    assert torch.equal(x, images())
    assert not x.requires_grad
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(tensor, state[name]) for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_it_attacks_the_model_in_eval_mode(attack: Attack) -> None:
    model = network_for(attack.name)
    wanted = call(attack, model, images())
    assert torch.equal(call(attack, model.train(), images()), wanted)


@with_budget
def test_it_stays_in_its_ball_and_uses_it(attack: Attack) -> None:
    model, x = network_for(attack.name), images()
    threat = PROTOCOLS[attack.protocol].threat
    x_adv = call(attack, model, x)
    check_adversarial(x, x_adv, float(attack.eps), threat, std_of(model))
    if threat.norm == "patch":
        changed = (x_adv != x).any(1).flatten(1).sum(1)
        assert (changed > 0.8 * float(SIDE) ** 2).all(), "much of the square stays as it was"
        return
    if threat.norm == "l2":
        length = (x_adv - x).flatten(1).norm(dim=1)
        assert (length > 0.5 * float(EPS)).all(), "an image is hardly moved"
        return
    scale = model.std.view(3, 1, 1) if threat.space == "normalized" else torch.ones(3, 1, 1)
    share = ((x_adv - x) / (float(EPS) * scale)).abs().amax((2, 3))
    assert (share > 0.3).all(), "a channel is hardly moved"
    assert not x_adv.requires_grad
    if threat.clip:
        assert x_adv.min() >= 0
        assert x_adv.max() <= 1
    else:
        assert x_adv.max() > 1


@with_budget
def test_no_budget_gives_the_image_bit_for_bit(attack: Attack) -> None:
    x = images()
    x_adv = call(attack, network_for(attack.name), x, Fraction(0))
    assert torch.equal(x_adv, x)
    (swept,) = attack.sweep(batch(network_for(attack.name)), Fraction(0))
    assert torch.equal(swept, x)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_and_another_another(attack: Attack) -> None:
    (first,), (again,), (other,) = (
        attack.sweep(batch(network_for(attack.name), seed=seed), attack.eps) for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert torch.equal(first, other) == (attack.name not in DRAWS)


def test_it_does_not_touch_the_global_stream(attack: Attack) -> None:
    model = network_for(attack.name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        before = torch.random.get_rng_state()
        first = call(attack, model, images())
        assert torch.equal(torch.random.get_rng_state(), before)
        torch.manual_seed(2)
        assert torch.equal(call(attack, model, images()), first)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 4])
def test_any_batch_size_and_the_last_partial_batch_give_the_same(attack: Attack, size: int) -> None:
    """All but the sign of a few gradients that are 0 up to rounding."""
    model = network_for(attack.name)
    (whole,) = attack.sweep(batch(model), attack.eps)
    parts = [
        attack.sweep(batch(model, min(size, COUNT - first), first=first), attack.eps)[0]
        for first in range(0, COUNT, size)
    ]
    apart = (torch.cat(parts) - whole).abs() > 1e-5
    assert apart.float().mean() <= (1e-4 if attack.name != "spsa" else 1e-2)


def test_order_does_not_matter(attack: Attack) -> None:
    order = [4, 2, 6, 0, 1, 3, 5]
    model = network_for(attack.name)
    (whole,) = attack.sweep(batch(model), attack.eps)
    shuffled = AttackBatch(
        model, images()[order], Y[order], images=[NAMES[n] for n in order], keep_graph=True
    )
    (x_adv,) = attack.sweep(shuffled, attack.eps)
    assert ((x_adv - whole[order]).abs() > 1e-5).float().mean() <= 1e-2


@pytest.mark.slow
@with_budget
def test_budgets_of_a_sweep_come_in_order_and_do_not_touch_each_other(attack: Attack) -> None:
    budgets = [2 * attack.eps, Fraction(0), attack.eps / 4]
    model = network_for(attack.name)
    swept = attack.sweep(batch(model), *budgets)
    assert len(swept) == 3
    for eps, together in zip(budgets, swept, strict=True):
        (alone,) = attack.sweep(batch(model), eps)
        assert torch.equal(together, alone)


def test_images_that_are_wrong_already_are_attacked_without_a_fuss(attack: Attack) -> None:
    model = network_for(attack.name)
    wrong = (model(images()).argmax(1) + 1) % 5
    made = AttackBatch(model, images(), wrong, images=NAMES, keep_graph=True)
    (x_adv,) = attack.sweep(made, attack.eps)
    condition = attack.condition()
    check_adversarial(images(), x_adv, condition.reach, condition.threat, std_of(model))


@pytest.mark.parametrize(
    "attack", [Attack(*case) for case in CASES if case[0] in DRAWS and case[1] != "patch"]
)
def test_another_budget_draws_other_numbers(attack: Attack) -> None:
    """The same image under another budget starts elsewhere in its ball."""
    (one, other) = attack.sweep(batch(network_for(attack.name)), EPS, 2 * EPS)
    model = network_for(attack.name)
    scale = model.std.view(3, 1, 1) if attack.protocol == "paper" else torch.ones(3, 1, 1)
    inside = (images() > 0.1) & (images() < 0.9)
    shares = [(x - images()) / (float(eps) * scale) for x, eps in ((one, EPS), (other, 2 * EPS))]
    assert ((shares[0] - shares[1]).abs()[inside] > 1e-3).float().mean() > 0.1


def test_every_entry_is_described() -> None:
    for name, spec in ATTACKS.items():
        assert spec.name == name
        assert callable(spec.function)
        assert all(hasattr(EvalOptions(), option) for option in spec.shorts.values())
        assert set(spec.shorts) <= set(spec.settings)
        assert spec.knowledge
        assert spec.source
        finds_radius = spec.about.finds_radius
        made = Attack(name, spec.protocols[0])
        budget = "patch:4" if made.eps == SIDE else "4/255"
        assert made.condition().id == (f"radius/{name}" if finds_radius else f"{name}@{budget}")


def test_settings_in_place_of_the_protocols_are_marked() -> None:
    made = ATTACKS["pgd"].condition(EPS, overrides={"steps": 7, "unknown": 1})
    assert made.settings == {**ATTACKS["pgd"].settings, "steps": 7}
    assert made.changed == {"steps": 20}
    assert ATTACKS["pgd"].condition(EPS, overrides={"steps": 20}).changed == {}


def test_an_attack_beats_noise_on_a_linear_model() -> None:
    model, x = Linear(classes=5), images()
    y = model(x).argmax(1)
    loss = nn.CrossEntropyLoss(reduction="sum")
    generator: Any = torch.Generator().manual_seed(0)
    random = attacks.noise(model, x, y, eps=float(EPS), generator=generator)
    assert loss(model(fgsm(model, x, y, eps=float(EPS))), y) > loss(model(random), y)
