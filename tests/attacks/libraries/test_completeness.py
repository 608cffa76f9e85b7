"""No attack with a budget of L-infinity or L2 is left out in silence, or under the wrong norm."""

import inspect
import re
from contextlib import nullcontext
from typing import Any

import foolbox
import pytest
import torchattacks
from torch import Tensor

from attacks import find_attack
from attacks.libraries import FOOLBOX, PRESETS, TORCHATTACKS
from robustbench_twicing.errors import UserError

from .fragile import ALL, BLACK_BOX, BUDGET, EVERY, Fragile, batch, classifier, small

LEFT_OUT_OF_TORCHATTACKS = {
    "CW": "L2 without a budget",
    "DeepFool": "L2 without a budget",
    "EADEN": "L1 and L2",
    "EADL1": "L1",
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
    "L2BrendelBethgeAttack": "needs starting points that are adversarial",
    "HopSkipJumpAttack": "needs starting points that are adversarial",
    "BoundaryAttack": "needs starting points that are adversarial",
    "VirtualAdversarialAttack": "has no number of steps by default",
    "L2FMNAttack": "never projects",
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


def test_no_attack_with_a_budget_is_left_out() -> None:
    base: Any = torchattacks.attack.Attack
    names = {
        name for name, kind in vars(torchattacks).items() if _is(kind, base) and kind is not base
    }
    assert names == {*TORCHATTACKS, *LEFT_OUT_OF_TORCHATTACKS}
    base = foolbox.attacks.base.Attack
    names = {name for name, kind in vars(foolbox.attacks).items() if _is(kind, base)}
    other = {name for name in names if name[:2] in ("L0", "L1")}
    assert names - other == {*FOOLBOX, *LEFT_OUT_OF_FOOLBOX}


def test_the_norm_of_a_budget_is_the_librarys() -> None:
    for name, protocols in FOOLBOX.items():
        distance = getattr(foolbox.attacks, name)().distance
        assert [{"pixel": "Linf", "l2": "L2"}[protocol] for protocol in protocols] == [
            str(distance).partition(" ")[0]
        ]
    for name, protocols in TORCHATTACKS.items():
        constructor = getattr(torchattacks, name)
        takes_both = "norm" in inspect.signature(constructor).parameters
        assert (protocols == ("pixel", "l2")) == takes_both
        if not takes_both:
            measure = re.search("Distance Measure : (.*)", constructor.__doc__)
            assert measure is None or measure[1] == {"pixel": "Linf", "l2": "L2"}[protocols[0]]


def _is(value: object, base: type) -> bool:
    return inspect.isclass(value) and issubclass(value, base)


def test_every_entry_is_described() -> None:
    assert len(ALL) == len(set(ALL)) == len(PRESETS) + len(TORCHATTACKS) + len(FOOLBOX)
    for name in ALL:
        spec = find_attack(name)
        assert spec.name == name
        for protocol in spec.protocols:
            budget = {"pixel": "8/255", "l2": "l2:1.5"}[protocol]
            assert spec.condition(BUDGET[protocol], protocol).id == f"{name}@{budget}"
        assert spec.white_box == (name not in BLACK_BOX)
        assert spec.source.startswith("https://")
        assert "seeded per block" in spec.notes[0]


def test_what_searches_without_gradients_is_that_and_not_noise() -> None:
    searching = {name for name in ALL if find_attack(name).about.gradient_free}
    alone = {"torchattacks:Square", "torchattacks:SPSA"}
    assert searching == {*alone, "torchattacks:AutoAttack", "autoattack"}
    for name in ALL:
        assert (find_attack(name).knowledge == "black box, logits") == (name in alone)


class Deaf(Fragile):
    """Its answers have no gradient."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalised input (N, 3, 32, 32) to logits (N, 10)."""
        return super().forward(x).detach()


HAVE_ANOTHER = {"torchattacks:Jitter", "foolbox:L2CarliniWagnerAttack"}
"""Their loss has the gradient of a distance, too."""


@pytest.mark.parametrize("name", sorted({*ALL} - {*PRESETS} - HAVE_ANOTHER))
def test_exactly_white_box_attacks_need_a_gradient(name: str) -> None:
    spec, made = find_attack(name), batch(classifier(Deaf()), count=3)
    asked = spec.condition(BUDGET[spec.protocols[0]], spec.protocols[0], small(name))
    attacked = spec.sweep(made, [asked.eps], threat=asked.threat, settings=asked.settings)
    with pytest.raises(RuntimeError, match="grad") if spec.white_box else nullcontext():
        list(attacked)


@pytest.mark.parametrize("protocol", EVERY)
def test_an_attack_of_the_other_norm_is_refused_by_one_line_that_names_those_there_are(
    protocol: str,
) -> None:
    for name in set(ALL) - set(EVERY[protocol]):
        with pytest.raises(UserError, match=f"cannot follow protocol {protocol};") as caught:
            find_attack(name).condition(BUDGET[protocol], protocol)
        library = name.partition(":")[0]
        of_library = [other for other in EVERY[protocol] if other.startswith(library)]
        _, _, listed = str(caught.value).partition(f"Those of {library} that can: ")
        assert [f"{library}:{other}" for other in listed.split(", ")] == of_library
        assert "\n" not in str(caught.value)
