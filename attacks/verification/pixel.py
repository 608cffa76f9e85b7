"""FGSM and PGD of protocol pixel against torchattacks and foolbox."""

from collections.abc import Callable, Iterator
from functools import partial

from torch import Tensor

from robustbench_twicing.seeds import seeded_globally

from ..fgsm import fgsm
from ..libraries.from_torchattacks import constructed
from ..pgd import REL_STEP, STEPS
from .agreement import PIXEL, Agreement, Setting, compare, iterates_beside


def against_torchattacks_and_foolbox(setting: Setting) -> Iterator[Agreement]:
    """One row per attack of this suite and library."""
    import torchattacks

    model, x, y, eps, _ = setting
    adversarial = fgsm(model, x, y, eps=eps)
    single = constructed(torchattacks.FGSM, model, x.device, eps=eps)
    yield compare("fgsm, pixel", "torchattacks.FGSM", adversarial, single(x, y))
    reference = _foolbox(setting, "LinfFastGradientAttack")()
    yield compare("fgsm, pixel", "foolbox.LinfFastGradientAttack", adversarial, reference)
    step = REL_STEP * eps
    constants = {"eps": eps, "alpha": step, "steps": STEPS, "random_start": True}
    attack = constructed(torchattacks.PGD, model, x.device, **constants)
    reference_iterates = _iterates(setting, partial(attack, x, y))
    yield compare(
        "pgd, pixel", "torchattacks.PGD", *iterates_beside(setting, reference_iterates, PIXEL)
    )
    reference_iterates = _iterates(
        setting, _foolbox(setting, "LinfPGD", abs_stepsize=step, steps=STEPS)
    )
    yield compare(
        "pgd, pixel", "foolbox.LinfPGD", *iterates_beside(setting, reference_iterates, PIXEL)
    )


def _foolbox(setting: Setting, name: str, **constants: float) -> Callable[[], Tensor]:
    import foolbox
    from foolbox.models import PyTorchModel

    model, x, y, eps, _ = setting
    wrapped = PyTorchModel(model, bounds=(0, 1), device=x.device)
    attack = getattr(foolbox.attacks, name)(**constants)
    return lambda: attack(wrapped, x, foolbox.criteria.Misclassification(y), epsilons=eps)[1]


def _iterates(setting: Setting, attack: Callable[[], Tensor]) -> list[Tensor]:
    """The points at which a library's PGD asks for a gradient, and the one it returns."""
    queried: list[Tensor] = []
    hook = setting.model.register_forward_pre_hook(
        lambda module, inputs: queried.append(inputs[0].detach().clone())
    )
    try:
        with seeded_globally(setting.seed):
            final = attack()
    finally:
        hook.remove()
    return [*queried[:STEPS], final.detach()]
