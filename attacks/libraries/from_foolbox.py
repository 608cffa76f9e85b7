"""foolbox's attacks with an L-infinity or L2 budget, by name."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn

from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.errors import UserError
from robustbench_twicing.registry import Registry

from ..spec import AttackSpec
from .blocks import BLOCK_NOTE, BlockSweep
from .signatures import constants_of, source_of

HOME = "https://github.com/bethgelab/foolbox"
NOISE = (
    "LinfAdditiveUniformNoiseAttack",
    "LinfRepeatedAdditiveUniformNoiseAttack",
    "L2AdditiveGaussianNoiseAttack",
    "L2AdditiveUniformNoiseAttack",
    "L2ClippingAwareAdditiveGaussianNoiseAttack",
    "L2ClippingAwareAdditiveUniformNoiseAttack",
    "L2RepeatedAdditiveGaussianNoiseAttack",
    "L2RepeatedAdditiveUniformNoiseAttack",
    "L2ClippingAwareRepeatedAdditiveGaussianNoiseAttack",
    "L2ClippingAwareRepeatedAdditiveUniformNoiseAttack",
)
BLIND: Mapping[str, str] = {
    **dict.fromkeys(NOISE, "none, random noise"),
    "L2ContrastReductionAttack": "none, lower contrast",
}
"""What those know that follow no gradient. None of them searches, so that none is `gradient_free`:
foolbox's searches without gradients (Boundary, HopSkipJump, Pointwise) have no such budget."""
PIXEL, L2 = ("pixel",), ("l2",)
FOOLBOX: Mapping[str, tuple[str, ...]] = {
    "LinfPGD": PIXEL,
    "LinfProjectedGradientDescentAttack": PIXEL,
    "FGSM": PIXEL,
    "LinfFastGradientAttack": PIXEL,
    "PGD": PIXEL,
    "LinfBasicIterativeAttack": PIXEL,
    "LinfAdamPGD": PIXEL,
    "LinfAdamProjectedGradientDescentAttack": PIXEL,
    "LinfAdamBasicIterativeAttack": PIXEL,
    "AdamPGD": PIXEL,
    "LinfMomentumIterativeFastGradientMethod": PIXEL,
    "MIFGSM": PIXEL,
    "LinfDeepFoolAttack": PIXEL,
    "LInfFMNAttack": PIXEL,
    "L2PGD": L2,
    "L2ProjectedGradientDescentAttack": L2,
    "FGM": L2,
    "L2FastGradientAttack": L2,
    "L2BasicIterativeAttack": L2,
    "L2AdamPGD": L2,
    "L2AdamProjectedGradientDescentAttack": L2,
    "L2AdamBasicIterativeAttack": L2,
    "L2MomentumIterativeFastGradientMethod": L2,
    "L2DeepFoolAttack": L2,
    "L2CarliniWagnerAttack": L2,
    "DDNAttack": L2,
    "NewtonFoolAttack": L2,
    "L2ContrastReductionAttack": L2,
    **{name: L2 if name.startswith("L2") else PIXEL for name in NOISE},
}
"""The attacks of foolbox 3.3.4 with a budget of L-infinity or L2, and their protocols."""


def foolbox_attack(name: str) -> AttackSpec:
    """The attack of this name; its result is clipped to the budget as foolbox does it.

    Raises:
        UserError: not one of `FOOLBOX`, or one that is broken.
    """
    import foolbox

    if name.casefold() == "l2fmnattack":
        raise UserError(
            f"foolbox:{name} divides a norm by itself and never projects, so that its changes are "
            "several times too long; use fmn"
        )
    known: Registry[tuple[str, ...]] = Registry("attack of foolbox")
    known.update(FOOLBOX)
    protocols = known[name]
    constructor = getattr(foolbox.attacks, name)
    recorded_name = f"foolbox:{name}"
    return AttackSpec(
        recorded_name,
        BlockSweep(recorded_name, partial(_run, constructor)),
        knowledge=BLIND.get(name, "white box"),
        source=source_of(constructor, HOME),
        passes=_passes,
        settings=constants_of(constructor),
        white_box=name not in BLIND,
        protocols=protocols,
        library=FOOLBOX,
        notes=(BLOCK_NOTE,),
    )


def _run(
    constructor: Any,
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    norm: Norm,
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
    """Foolbox looks once more whether what it returns is adversarial."""
    return (settings["steps"] + 1, settings["steps"]) if "rel_stepsize" in settings else None
