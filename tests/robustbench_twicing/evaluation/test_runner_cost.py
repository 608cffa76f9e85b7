"""Costs are counts, exact in closed form."""

from fractions import Fraction
from pathlib import Path

import pytest

from attacks import ATTACKS
from robustbench_twicing.conditions.condition import clean
from tests.tiny import convnet, network_for, noise, run, table

BUDGETS = [Fraction(n, 255) for n in (1, 2, 4, 8)]
IMAGES = 7
SCORED = IMAGES + 1
"""Once all of them, and one in eight rounded to 8 bits."""


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_a_sweep_of_fgsm_shares_one_gradient_and_the_clean_pass(
    batch_size: int, tmp_path: Path
) -> None:
    """Each budget is scored as it is, one image in 8 bits, too, and attacked for nothing."""
    conditions = [clean(), *(ATTACKS["fgsm"].condition(eps) for eps in BUDGETS)]
    done = run(convnet(), noise(IMAGES), conditions, tmp_path / "run", batch_size=batch_size)
    rows = table(done)
    forward = {name: row["n_forward"] for name, row in rows.items()}
    backward = {name: row["n_backward"] for name, row in rows.items()}
    assert forward.pop("clean") == IMAGES
    assert set(forward.values()) == {SCORED}
    assert backward["fgsm@1/255"] == sum(backward.values()) == IMAGES


@pytest.mark.slow
def test_pgd_is_a_pass_both_ways_a_step(tmp_path: Path) -> None:
    """The gradient at the clean images, for the diagnostics, is charged to the first."""
    conditions = [clean(), *(ATTACKS["pgd"].condition(eps) for eps in BUDGETS[:2])]
    rows = table(run(convnet(), noise(IMAGES), conditions, tmp_path / "run", batch_size=3))
    assert (rows["clean"]["n_forward"], rows["clean"]["n_backward"]) == (IMAGES, 0)
    assert rows["pgd@1/255"]["n_forward"] == 20 * IMAGES + SCORED
    assert rows["pgd@2/255"]["n_forward"] == 20 * IMAGES + SCORED
    assert rows["pgd@1/255"]["n_backward"] == 21 * IMAGES
    assert rows["pgd@2/255"]["n_backward"] == 20 * IMAGES


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "protocol"),
    [(name, protocol) for name, spec in ATTACKS.items() for protocol in spec.protocols],
)
def test_what_the_plan_says_is_what_is_counted(name: str, protocol: str, tmp_path: Path) -> None:
    small = {"steps": 3, "samples": 8}
    budgets = [Fraction(2), Fraction(4)] if protocol == "patch" else BUDGETS[:2]
    attacks = [ATTACKS[name].condition(eps, protocol, small) for eps in budgets]
    if ATTACKS[name].about.finds_radius:
        attacks = attacks[:1]
    # The gradient at the clean images is charged to the first attack that knows the network.
    first = "patch" if protocol == "patch" else "fgsm"
    conditions = [clean(protocol), ATTACKS[first].condition(Fraction(0), protocol), *attacks]
    rows = table(run(network_for(name), noise(IMAGES), conditions, tmp_path / "run"))
    for attack in attacks:
        assert attack.passes is not None
        forward, backward = attack.passes
        if ATTACKS[name].stops_early:  # the plan is what it costs at most
            assert 0 < rows[attack.id]["n_backward"] <= backward * IMAGES
            continue
        assert rows[attack.id]["n_forward"] == forward * IMAGES + 1
        shared = ATTACKS[name].about.one_step or name == "patch-gradient"
        assert rows[attack.id]["n_backward"] == (backward - shared) * IMAGES


@pytest.mark.slow
def test_the_clean_pass_is_charged_to_the_clean_images_whatever_the_order(tmp_path: Path) -> None:
    attack = ATTACKS["fgsm"].condition(BUDGETS[0])
    for name, conditions in (("first", [clean(), attack]), ("last", [attack, clean()])):
        rows = table(run(convnet(), noise(IMAGES), conditions, tmp_path / name))
        assert rows["clean"]["n_forward"] == IMAGES
        assert rows[attack.id]["n_forward"] == SCORED


@pytest.mark.slow
def test_without_clean_images_their_pass_is_charged_to_the_first_condition(tmp_path: Path) -> None:
    condition = ATTACKS["fgsm"].condition(BUDGETS[0])
    rows = table(run(convnet(), noise(IMAGES), [condition], tmp_path / "run"))
    assert rows[condition.id]["n_forward"] == IMAGES + SCORED
    assert rows[condition.id]["n_backward"] == IMAGES


@pytest.mark.slow
def test_time_is_summed_over_parts(tmp_path: Path) -> None:
    done = run(convnet(), noise(IMAGES), [clean()], tmp_path / "run", batch_size=3)
    (evaluation,) = done.folder.manifest.evaluations
    total = done.folder.records(evaluation).costs["pixel:clean"].seconds
    assert total == table(done)["clean"]["seconds"] > 0
    done.folder.part_path(evaluation, 0).unlink()
    assert done.folder.records(evaluation).costs["pixel:clean"].seconds < total
