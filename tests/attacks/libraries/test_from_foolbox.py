"""foolbox under its own names: the same images as a direct call."""

import foolbox
import pytest
import torch
from foolbox.models import PyTorchModel

from attacks import find_attack
from attacks.libraries import FOOLBOX, foolbox_attack
from robustbench_twicing.errors import UserError

from .fragile import BUDGET, EPS, batch, classifier


@pytest.mark.parametrize("levels", [1, 8])
@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("LinfPGD", {"random_start": False, "steps": 4, "rel_stepsize": 0.1}),
        ("LinfBasicIterativeAttack", {}),
        ("LinfDeepFoolAttack", {}),
        ("L2PGD", {"random_start": False, "steps": 4, "rel_stepsize": 0.1}),
        ("L2DeepFoolAttack", {}),
        ("L2CarliniWagnerAttack", {"steps": 20, "binary_search_steps": 2}),
    ],
)
def test_it_is_the_librarys(name: str, constants: dict[str, float], levels: int) -> None:
    (protocol,) = FOOLBOX[name]
    model, eps = classifier(), BUDGET[protocol] * levels / 8
    made = batch(model)
    spec = foolbox_attack(name)
    asked = spec.condition(eps, protocol, constants)
    (x_adv,) = spec.sweep(made, [eps], threat=asked.threat, settings=asked.settings)
    attack = getattr(foolbox.attacks, name)(**constants)
    wrapped = PyTorchModel(model, bounds=(0, 1))
    criterion = foolbox.criteria.Misclassification(made.y)
    _, clipped, _ = attack(wrapped, made.x, criterion, epsilons=float(eps))
    assert torch.allclose(x_adv, clipped, atol=1e-6)


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
    passes = {
        name: foolbox_attack(name).condition(EPS, protocols[0]).passes
        for name, protocols in FOOLBOX.items()
    }
    assert passes["LinfPGD"] == (40 + 2, 40)
    assert passes["L2PGD"] == (50 + 2, 50)
    assert passes["LinfDeepFoolAttack"] is None
    assert passes["LinfAdditiveUniformNoiseAttack"] is None


def test_noise_and_less_contrast_follow_no_gradient() -> None:
    for name in FOOLBOX:
        spec = foolbox_attack(name)
        blind = "Noise" in name or "Contrast" in name
        assert spec.white_box == (not blind)
        assert spec.knowledge.startswith("none, " if blind else "white box")


@pytest.mark.parametrize("name", ["L1PGD", "pgd", ""])
def test_another_name_is_a_mistake_that_says_what_there_is(name: str) -> None:
    with pytest.raises(UserError, match="no attack of foolbox"):
        foolbox_attack(name)


@pytest.mark.parametrize("name", ["L2FMNAttack", "l2fmnattack"])
def test_an_attack_that_is_broken_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(UserError, match=r"never projects.*use fmn"):
        find_attack(f"foolbox:{name}")
