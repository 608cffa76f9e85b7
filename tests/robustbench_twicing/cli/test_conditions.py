"""From options to conditions."""

from fractions import Fraction
from typing import Any

import pytest

from attacks import ATTACKS
from robustbench_twicing.cli.conditions import make_conditions
from robustbench_twicing.cli.options import EvalOptions
from robustbench_twicing.errors import UserError
from robustbench_twicing.protocols import PROTOCOLS


def keys(**options: Any) -> list[str]:
    return [condition.key for condition in make_conditions(EvalOptions(**options))]


def test_the_default_is_quick() -> None:
    budgets = ("0.5", "1", "4")
    assert keys() == [
        "pixel:clean",
        *(f"pixel:{attack}@{eps}/255" for attack in ("fgsm", "pgd") for eps in budgets),
    ]


@pytest.mark.parametrize(("suite", "count"), [("pixel", 16), ("paper", 14), ("protocols", 10)])
def test_suites_of_ours(suite: str, count: int) -> None:
    found = keys(suite=suite)
    assert len(found) == len(set(found)) == count


def test_attacks_take_the_suites_budgets_or_those_given() -> None:
    assert keys(attacks="clean, pgd") == [
        "pixel:clean",
        *(f"pixel:pgd@{n}/255" for n in (0.5, 1, 4)),
    ]
    assert keys(attacks="spsa", suite="pixel") == ["pixel:spsa@1/255"]
    assert keys(attacks="noise", eps="8/255,2/255") == ["pixel:noise@8/255", "pixel:noise@2/255"]
    assert keys(eps="8/255") == ["pixel:clean", "pixel:fgsm@8/255", "pixel:pgd@8/255"]
    assert keys(attacks="clean", eps="8/255") == ["pixel:clean"]


def test_the_protocol_may_be_another_than_the_suites() -> None:
    conditions = make_conditions(EvalOptions(protocol="paper", attacks="clean,pgd", eps="1/255"))
    assert [condition.key for condition in conditions] == ["paper:clean", "paper:pgd@1/255"]
    assert {condition.threat for condition in conditions} == {PROTOCOLS["paper"].threat}
    assert keys(suite="paper", protocol="paper") == keys(suite="paper")


def test_the_paper_suite_contradicts_another_protocol() -> None:
    with pytest.raises(UserError, match="--suite paper is protocol paper, --protocol says pixel"):
        make_conditions(EvalOptions(suite="paper", protocol="pixel"))


def test_constants_are_set_by_attack_and_marked() -> None:
    options = EvalOptions(
        attacks="pgd,spsa",
        eps="1/255",
        set=["pgd.steps=40", "pgd.random_start=False"],
        spsa_steps=3,
        spsa_samples=16,
    )
    pgd, spsa = make_conditions(options)
    assert pgd.settings == {**ATTACKS["pgd"].settings, "steps": 40, "random_start": False}
    assert pgd.changed == {"steps": 20, "random_start": True}
    assert spsa.settings["steps"] == 3
    assert spsa.settings["samples"] == 16
    assert spsa.changed == {"steps": 40, "samples": 128}


def test_the_last_of_two_settings_counts() -> None:
    (pgd,) = make_conditions(
        EvalOptions(attacks="pgd", eps="1/255", set=["pgd.steps=40", "pgd.steps=7"])
    )
    assert pgd.settings["steps"] == 7


def test_a_suites_constants_give_way_to_the_command_lines(tmp_path: Any) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "conditions:\n- {attack: pgd, eps: [1/255], settings: {steps: 5, rel_step: 0.5}}\n"
        "- {attack: fgsm, eps: [2/255], protocol: paper}\n"
    )
    pgd, fgsm = make_conditions(EvalOptions(suite=str(path), set=["pgd.steps=7"]))
    assert pgd.settings == {**ATTACKS["pgd"].settings, "steps": 7, "rel_step": 0.5}
    assert fgsm.key == "paper:fgsm@2/255"
    assert fgsm.eps == Fraction(2, 255)


def test_an_attack_of_a_suite_without_a_budget_needs_one(tmp_path: Any) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("conditions:\n- attack: pgd\n")
    with pytest.raises(UserError, match="attack pgd has no budget; give --eps"):
        make_conditions(EvalOptions(suite=str(path)))
    assert keys(suite=str(path), eps="1/255") == ["pixel:pgd@1/255"]
