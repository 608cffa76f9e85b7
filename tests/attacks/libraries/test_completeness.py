"""No attack with an L-infinity budget is left out in silence."""

import inspect
from typing import Any

import foolbox
import torchattacks

from attacks import find_attack
from attacks.libraries import FOOLBOX, PRESETS, TORCHATTACKS

from .fragile import BLACK_BOX, EPS, EVERY

LEFT_OUT_OF_TORCHATTACKS = {
    "CW": "L2",
    "DeepFool": "L2",
    "EADEN": "L1 and L2",
    "EADL1": "L1",
    "PGDL2": "L2",
    "PGDRSL2": "L2",
    "JSMA": "L0",
    "OnePixel": "L0",
    "Pixle": "L0",
    "SparseFool": "L0",
    "GN": "noise without a bound",
    "VANILA": "does nothing",
    "LGV": "needs training data",
    "MultiAttack": "needs a list of attacks",
}
LEFT_OUT_OF_FOOLBOX = {
    "Attack": "abstract",
    "GenAttack": "targeted only",
    "LinfinityBrendelBethgeAttack": "needs starting points that are adversarial",
    "DatasetAttack": "needs other images",
    "BinarizationRefinementAttack": "refines another attack",
    "HopSkipJumpAttack": "L2 by default",
    "BoundaryAttack": "L2",
    "NewtonFoolAttack": "L2",
    "VirtualAdversarialAttack": "L2",
    "FGM": "L2",
    "DDNAttack": "L2",
    "InversionAttack": "without a budget",
    "GaussianBlurAttack": "without a budget",
    "BinarySearchContrastReductionAttack": "without a budget",
    "LinearSearchContrastReductionAttack": "without a budget",
    "LinearSearchBlendedUniformNoiseAttack": "without a budget",
    "SaltAndPepperNoiseAttack": "without a budget",
    "PointwiseAttack": "L0",
    "EADAttack": "L1",
    "SparseL1DescentAttack": "L1",
    "SpatialAttack": "rotations and shifts",
}


def test_no_attack_with_an_l_infinity_budget_is_left_out() -> None:
    base: Any = torchattacks.attack.Attack
    found = {
        name for name, each in vars(torchattacks).items() if _is(each, base) and each is not base
    }
    assert found == {*TORCHATTACKS, *LEFT_OUT_OF_TORCHATTACKS}
    base = foolbox.attacks.base.Attack
    names = {name for name, each in vars(foolbox.attacks).items() if _is(each, base)}
    other = {name for name in names if name[:2] in ("L0", "L1", "L2")}
    assert names - other == {*FOOLBOX, *LEFT_OUT_OF_FOOLBOX}


def _is(value: object, base: type) -> bool:
    return inspect.isclass(value) and issubclass(value, base)


def test_every_entry_is_described() -> None:
    assert len(EVERY) == len(set(EVERY)) == len(PRESETS) + len(TORCHATTACKS) + len(FOOLBOX)
    for name in EVERY:
        spec = find_attack(name)
        assert spec.name == name
        assert spec.condition(EPS).id == f"{name}@8/255"
        assert spec.white_box == (name not in BLACK_BOX)
        assert spec.source.startswith("https://")
        assert spec.protocols == ("pixel",)
        assert "seeded per block" in spec.notes[0]
