"""foolbox's L-infinity attacks, by name."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn

from robustbench_twicing.errors import UserError
from robustbench_twicing.registry import Registry

from ..spec import AttackSpec
from .blocks import BLOCK_NOTE, BlockSweep
from .signatures import constants_of, source_of

HOME = "https://github.com/bethgelab/foolbox"
NOISE = ("LinfAdditiveUniformNoiseAttack", "LinfRepeatedAdditiveUniformNoiseAttack")
FOOLBOX = (
    "LinfPGD",
    "LinfProjectedGradientDescentAttack",
    "FGSM",
    "LinfFastGradientAttack",
    "PGD",
    "LinfBasicIterativeAttack",
    "LinfAdamPGD",
    "LinfAdamProjectedGradientDescentAttack",
    "LinfAdamBasicIterativeAttack",
    "AdamPGD",
    "LinfMomentumIterativeFastGradientMethod",
    "MIFGSM",
    "LinfDeepFoolAttack",
    "LInfFMNAttack",
    *NOISE,
)
"""The attacks of foolbox 3.3.4 with an L-infinity budget."""


def foolbox_attack(name: str) -> AttackSpec:
    """The attack of this name; its result is clipped to the budget as foolbox does it.

    Raises:
        UserError: not one of the L-infinity attacks, or one that is broken.
    """
    import foolbox

    if name.casefold() == "l2fmnattack":
        raise UserError(
            f"foolbox:{name} divides a norm by itself and never projects, so that its changes are "
            "several times too long; use fmn"
        )
    known: Registry[str] = Registry("L-infinity attack of foolbox")
    for listed in FOOLBOX:
        known[listed] = listed
    constructor = getattr(foolbox.attacks, known[name])
    recorded_name = f"foolbox:{name}"
    return AttackSpec(
        recorded_name,
        BlockSweep(recorded_name, partial(_run, constructor)),
        knowledge="none, random noise" if name in NOISE else "white box",
        source=source_of(constructor, HOME),
        passes=_passes,
        settings=constants_of(constructor),
        white_box=name not in NOISE,
        protocols=("pixel",),
        notes=(BLOCK_NOTE,),
    )


def _run(
    constructor: Any,
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    settings: Mapping[str, Any],
) -> Tensor:
    import foolbox
    from foolbox.models import PyTorchModel

    wrapped = PyTorchModel(model, bounds=(0, 1), device=x.device)
    criterion = foolbox.criteria.Misclassification(y)
    _, clipped, _ = constructor(**settings)(wrapped, x, criterion, epsilons=eps)
    x_adv: Tensor = clipped
    return x_adv


def _passes(settings: Mapping[str, Any]) -> tuple[int, int] | None:
    return (settings["steps"], settings["steps"]) if "rel_stepsize" in settings else None
