"""What a plan charges each condition with is what a run counts for it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from attacks import ATTACKS, find_attack
from reports import merge, results
from robustbench_twicing.conditions.charges import charges
from robustbench_twicing.conditions.condition import Condition, clean
from tests.tiny import convnet, noise, run

IMAGES, IN_8_BITS = 8, 1
LINF = [Fraction(0), Fraction(1, 255), Fraction(2, 255)]
SMALL = {"steps": 3, "samples": 4}


def attacked(
    name: str,
    budgets: Sequence[Fraction] = LINF,
    protocol: str = "pixel",
    constants: Mapping[str, Any] = SMALL,
) -> list[Condition]:
    return [find_attack(name).condition(eps, protocol, constants) for eps in budgets]


SIDES = [Fraction(2), Fraction(4)]
TWICE = {"steps": 3, "restarts": 2}
RUNS: Mapping[str, list[Condition]] = {
    "clean alone": [clean()],
    "own attacks": [
        clean(),
        *(condition for name in ("noise", "fgsm", "pgd", "spsa") for condition in attacked(name)),
    ],
    "no clean images": [*attacked("pgd"), *attacked("fgsm")],
    "several restarts": [clean(), *attacked("pgd", constants=TWICE)],
    "two labels": [
        *(clean(protocol) for protocol in ("pixel", "paper")),
        *attacked("fgsm"),
        *attacked("fgsm", protocol="paper"),
        *attacked("pgd", protocol="paper"),
    ],
    "L2": [clean("l2"), *attacked("pgd", LINF, "l2"), *attacked("fgsm", LINF, "l2")],
    "patches": [
        clean("patch"),
        *attacked("patch", SIDES, "patch", {"steps": 3}),
        *attacked("patch-gradient", SIDES, "patch", {"steps": 3}),
    ],
    "mean gradients": [
        clean(),
        *(
            condition.averaging(3)
            for name in ("fgsm", "pgd")
            for condition in attacked(name, LINF[1:])
        ),
    ],
}


def check(conditions: Sequence[Condition], out: Path, draws: int = 1) -> None:
    scored = [condition.scored_in(draws) for condition in conditions]
    done = run(convnet(), noise(IMAGES), conditions, out, draws=draws, batch_size=IMAGES)
    table = results(merge([done.folder])).set_index(["protocol", "condition"])
    rows: Any = table.to_dict("index")
    charged = charges(scored, draws)
    assert set(charged) == {condition.key for condition in conditions}
    for condition in conditions:
        row = rows[condition.protocol, condition.id]
        in_8_bits = IN_8_BITS if condition.is_attacked else 0
        counted = (row["n_forward"] - in_8_bits) / IMAGES, row["n_backward"] / IMAGES
        assert row["status"] == "ok"
        assert charged[condition.key] == counted, condition.key


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_run_counts_what_was_charged(name: str, tmp_path: Path) -> None:
    check(RUNS[name], tmp_path / "run")


@pytest.mark.slow
def test_every_draw_is_charged(tmp_path: Path) -> None:
    check([clean(), *attacked("fgsm"), *attacked("pgd")], tmp_path / "run", draws=3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries' own imports
@pytest.mark.parametrize(
    "name", ["torchattacks:PGD", "torchattacks:TPGD", "foolbox:LinfPGD", "foolbox:MIFGSM"]
)
def test_attacks_of_libraries_cost_what_was_charged(name: str, tmp_path: Path) -> None:
    check([clean(), *attacked(name, LINF[:2])], tmp_path / "run")


def test_what_is_not_known_beforehand_stays_unknown() -> None:
    unknown = Condition("a@1/255", "a", Fraction(1, 255), passes=None, white_box=True)
    assert charges([unknown]) == {unknown.key: None}
    assert charges([]) == {}


def test_all_attacks_that_share_the_gradient_say_so() -> None:
    sharing = {name for name, spec in ATTACKS.items() if spec.clean_gradient(spec.settings)}
    assert sharing == {"fgsm", "patch-gradient"}
