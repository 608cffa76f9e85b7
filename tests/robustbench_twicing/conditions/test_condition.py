"""Conditions: stable ids, neighbours that share work, and functions as conditions."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.cli.api_conditions import read_conditions
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import (
    Condition,
    clean,
    condition_id,
    sweep_groups,
)
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.errors import UserError
from robustbench_twicing.seeds import Generators
from tests.tiny import Linear


def sweep(batch: AttackBatch, budgets: Any, **settings: Any) -> Iterator[Tensor]:
    """An attack that does nothing."""
    for _ in budgets:
        yield batch.x


def other_sweep(batch: AttackBatch, budgets: Any, **settings: Any) -> Iterator[Tensor]:
    """Another one."""
    return sweep(batch, budgets, **settings)


def identity(model: nn.Module, x: Tensor, y: Tensor, *, generator: Generators) -> Tensor:
    """An attack function that does nothing."""
    return x


def test_an_id_has_one_spelling_per_budget() -> None:
    assert condition_id("pgd", Fraction(8, 510)) == condition_id("pgd", Fraction(4, 255))
    assert condition_id("pgd", Fraction(1, 510)) == "pgd@0.5/255"


def attack(name: str = "a", levels: int = 1, **changes: Any) -> Condition:
    eps = Fraction(levels, 255)
    made = Condition(condition_id(name, eps), name, eps, sweep=sweep, settings={"steps": 3})
    return replace(made, **changes)


def test_neighbours_of_one_attack_run_together_and_in_order() -> None:
    conditions = [clean(), attack(levels=1), attack(levels=4), attack("b"), attack(levels=8)]
    groups = sweep_groups(conditions)
    assert [[each.id for each in group] for group in groups] == [
        ["clean"],
        ["a@1/255", "a@4/255"],
        ["b@1/255"],
        ["a@8/255"],
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": {"steps": 4}},
        {"threat": ThreatModel(clip=False)},
        {"sweep": other_sweep},
        {"attack": "b"},
        {"protocol": "paper"},
    ],
)
def test_what_differs_in_anything_but_its_budget_runs_alone(changes: dict[str, Any]) -> None:
    assert len(sweep_groups([attack(), attack(levels=4, **changes)])) == 2
    assert len(sweep_groups([attack(), attack(levels=4)])) == 1


def test_no_conditions_are_no_groups() -> None:
    assert sweep_groups([]) == []


def test_clean_conditions_never_share() -> None:
    assert len(sweep_groups([clean(), clean()])) == 2


def test_functions_become_conditions_with_canonical_ids() -> None:
    conditions = read_conditions({"clean": None, "mine@8/510": identity})
    assert [each.id for each in conditions] == ["clean", "mine@4/255"]
    assert conditions[0] == clean()
    assert conditions[1].attack == "mine"
    assert conditions[1].eps == Fraction(4, 255)
    assert conditions[1].threat == PIXEL


def test_a_condition_is_taken_as_it_is() -> None:
    assert read_conditions({attack().id: attack()}) == [attack()]


def test_a_function_is_called_with_a_generator_per_image() -> None:
    seen: dict[str, Any] = {}

    def spy(model: nn.Module, x: Tensor, y: Tensor, *, generator: Any, eps: float) -> Tensor:
        seen.update(model=model, x=x, y=y, generator=generator, eps=eps)
        return x + eps

    (condition,) = read_conditions({"mine@1/255": partial(spy, eps=1 / 255)})
    model, x, y = Linear(), torch.zeros(2, 3, 8, 8), torch.tensor([0, 1])
    batch = AttackBatch(model, x, y, images=["a", "b"], seed=3)
    assert condition.sweep is not None
    made = list(condition.sweep(batch, [condition.eps], threat=PIXEL, settings={}))
    assert len(made) == 1
    assert torch.equal(made[0], x + 1 / 255)
    assert seen["model"] is model
    assert seen["x"] is x
    assert seen["y"] is y
    seeds = [each.initial_seed() for each in seen["generator"]]
    assert len(set(seeds)) == 2
    assert seeds == [
        each.initial_seed() for each in batch.generators("function", {}, condition.eps)
    ]


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"pgd": identity}, "'pgd' names no budget; write it like pgd@4/255"),
        ({"@4/255": identity}, "names no budget"),
        ({"pgd@": identity}, "is not a number"),
        ({"pgd@4": identity}, "write 4/255"),
        ({"nobody@4/255": None}, "no attack is called 'nobody'"),
        ({"mine@4/255": identity, "mine@8/510": identity}, "'mine@4/255' is given twice"),
        ({"clean": None, "again": clean()}, "condition 'again' is given the condition 'clean'"),
    ],
)
def test_a_bad_mapping_says_what_is_wrong(conditions: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_conditions(conditions)
