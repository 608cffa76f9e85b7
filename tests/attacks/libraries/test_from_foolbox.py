"""foolbox under its own names: the same images as a direct call."""

from fractions import Fraction

import foolbox
import pytest
import torch
from foolbox.models import PyTorchModel

from attacks import find_attack
from attacks.libraries import FOOLBOX, foolbox_attack
from robustbench_twicing.errors import UserError

from .fragile import EPS, batch, classifier


@pytest.mark.parametrize("levels", [1, 8])
@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("LinfPGD", {"random_start": False, "steps": 4, "rel_stepsize": 0.1}),
        ("LinfBasicIterativeAttack", {}),
        ("LinfDeepFoolAttack", {}),
    ],
)
def test_it_is_the_librarys(name: str, constants: dict[str, float], levels: int) -> None:
    model, eps = classifier(), Fraction(levels, 255)
    made = batch(model)
    spec = foolbox_attack(name)
    asked = spec.condition(eps, overrides=constants)
    (found,) = spec.sweep(made, [eps], threat=asked.threat, settings=asked.settings)
    attack = getattr(foolbox.attacks, name)(**constants)
    wrapped = PyTorchModel(model, bounds=(0, 1))
    criterion = foolbox.criteria.Misclassification(made.y)
    _, clipped, _ = attack(wrapped, made.x, criterion, epsilons=float(eps))
    assert torch.allclose(found, clipped, atol=1e-6)


def test_aliases_are_one_attack_under_two_names() -> None:
    assert foolbox_attack("PGD").settings == foolbox_attack("LinfPGD").settings
    assert foolbox_attack("PGD").name == "foolbox:PGD"


def test_a_step_is_relative_and_no_absolute_one_can_be_set() -> None:
    for name in FOOLBOX:
        settings = foolbox_attack(name).settings
        assert not {"abs_stepsize", "eps", "epsilons", "check_trivial", "init_attack"} & set(
            settings
        )


def test_passes_are_known_where_steps_are() -> None:
    passes = {name: foolbox_attack(name).condition(EPS).passes for name in FOOLBOX}
    assert passes["LinfPGD"] == (40 + 1, 40)
    assert passes["LinfDeepFoolAttack"] is None
    assert passes["LinfAdditiveUniformNoiseAttack"] is None


def test_noise_follows_no_gradient() -> None:
    for name in FOOLBOX:
        spec = foolbox_attack(name)
        assert spec.white_box == ("Noise" not in name)
        assert spec.knowledge == ("none, random noise" if "Noise" in name else "white box")


@pytest.mark.parametrize("name", ["L2PGD", "pgd", ""])
def test_another_name_is_a_mistake_that_says_what_there_is(name: str) -> None:
    with pytest.raises(UserError, match="L-infinity attack of foolbox"):
        foolbox_attack(name)


@pytest.mark.parametrize("name", ["L2FMNAttack", "l2fmnattack"])
def test_an_attack_that_is_broken_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UserError, match=r"never projects.*use fmn"):
        find_attack(f"foolbox:{name}")
