"""torchattacks' attacks with an L-infinity or L2 budget, by name."""

from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import Any

import torch
from torch import Tensor, nn

from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.errors import BrokenAttackError
from robustbench_twicing.registry import Registry

from ..spec import AttackSpec
from .blocks import BLOCK_NOTE, BlockSweep
from .from_pyautoattack import NORMS
from .signatures import constants_of, source_of

HOME = "https://github.com/Harry24k/adversarial-attacks-pytorch"
BLACK_BOX = frozenset({"Square", "SPSA"})
"""They ask for logits alone, by their papers (arXiv 1912.00049 and 1802.05666)."""
GRADIENT_FREE = frozenset({"AutoAttack", *BLACK_BOX})
"""They find what gradients do not show: AutoAttack by the Square attack in it."""
ONE_STEP = frozenset({"FGSM", "FFGSM"})
"""They have no constant that says so."""
CLEAN_LOGITS = frozenset({"TPGD"})
"""They compare with the clean answer, which takes a pass."""
DLR_CLASSES = 4
"""Logits that the targeted DLR loss of APGDT and AutoAttack compares; the untargeted one: three."""
NOTES = {
    "AutoAttack": "torchattacks' AutoAttack takes 10 steps where its authors take 100, and is "
    "weaker than theirs, which is autoattack.",
    "PGDL2": "torchattacks' PGDL2 adds 1e-10 to the length of a gradient that is a mean over the "
    "block, so that its steps shrink where a network is confident, and draws the length of its "
    "random start uniformly, mostly far inside the ball.",
}
"""What a reader of the numbers of an attack must know beside `BLOCK_NOTE`."""
PIXEL, PIXEL_AND_L2, L2 = ("pixel",), ("pixel", "l2"), ("l2",)
TORCHATTACKS: Mapping[str, tuple[str, ...]] = {
    "FGSM": PIXEL,
    "BIM": PIXEL,
    "RFGSM": PIXEL,
    "PGD": PIXEL,
    "EOTPGD": PIXEL,
    "FFGSM": PIXEL,
    "TPGD": PIXEL,
    "MIFGSM": PIXEL,
    "UPGD": PIXEL,
    "APGD": PIXEL_AND_L2,
    "APGDT": PIXEL_AND_L2,
    "FAB": PIXEL_AND_L2,
    "Square": PIXEL_AND_L2,
    "AutoAttack": PIXEL_AND_L2,
    "DIFGSM": PIXEL,
    "TIFGSM": PIXEL,
    "Jitter": PIXEL,
    "NIFGSM": PIXEL,
    "PGDRS": PIXEL,
    "SINIFGSM": PIXEL,
    "VMIFGSM": PIXEL,
    "VNIFGSM": PIXEL,
    "PIFGSM": PIXEL,
    "PIFGSMPP": PIXEL,
    "SPSA": PIXEL,
    "PGDL2": L2,
    "PGDRSL2": L2,
}
"""The attacks of torchattacks 3.5.1 with a budget of L-infinity or L2, and their protocols."""


def apgd(name: str, *, loss: str) -> AttackSpec:
    """Auto-PGD with the constants of AutoAttack's paper.

    Args:
        name: for condition ids.
        loss: ``ce`` or ``dlr``.
    """
    spec = torchattacks_attack("APGD", alias=name)
    return replace(spec, settings={**spec.settings, "steps": 100, "loss": loss})


def torchattacks_attack(name: str, *, alias: str | None = None) -> AttackSpec:
    """The attack of this name.

    A step size (``alpha``) is absolute there, which a sweep cannot use: it becomes ``rel_step``,
    its default as a share of the default budget.

    Args:
        name: as torchattacks spells it.
        alias: another name for condition ids.

    Raises:
        UserError: not one of `TORCHATTACKS`.
    """
    import torchattacks

    known: Registry[tuple[str, ...]] = Registry("attack of torchattacks")
    known.update(TORCHATTACKS)
    protocols = known[name]
    constructor = getattr(torchattacks, name)
    constants = constants_of(constructor)
    if "alpha" in constants:
        constants["rel_step"] = constants.pop("alpha") / _default_budget(constructor)
    recorded_name = alias or f"torchattacks:{name}"
    return AttackSpec(
        recorded_name,
        BlockSweep(recorded_name, partial(_run, constructor)),
        knowledge="black box, logits" if name in BLACK_BOX else "white box",
        source=source_of(constructor, HOME),
        passes=partial(_passes, name),
        settings=constants,
        white_box=name not in BLACK_BOX,
        protocols=protocols,
        library=TORCHATTACKS,
        notes=(BLOCK_NOTE, *([NOTES[name]] if name in NOTES else [])),
        about=About(gradient_free=name in GRADIENT_FREE),
    )


def _default_budget(constructor: type) -> float:
    import inspect

    parameters = inspect.signature(constructor).parameters
    return float(parameters["eps"].default)


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
    import inspect

    arguments = dict(settings)
    accepted = inspect.signature(constructor).parameters
    if "rel_step" in arguments:
        arguments["alpha"] = arguments.pop("rel_step") * eps
    if "seed" in accepted:  # its own seed would be the clock's, or the same for every block
        arguments["seed"] = int(torch.randint(2**31, ()))
    if "n_classes" in arguments:
        with torch.no_grad():
            arguments["n_classes"] = min(arguments["n_classes"], model(x[:1]).shape[1])
    if "norm" in accepted:
        arguments["norm"] = NORMS[norm]
    arguments["max_epsilon" if "max_epsilon" in accepted else "eps"] = eps
    attack = constructed(constructor, model, x.device, **arguments)
    try:
        x_adv: Tensor = attack(x, y)
    except IndexError as error:
        with torch.no_grad():
            classes = model(x[:1]).shape[1]
        if classes >= DLR_CLASSES:
            raise
        raise BrokenAttackError(
            f"its DLR loss compares up to {DLR_CLASSES} classes, and the network has {classes}; "
            "autoattack and apgd do with fewer"
        ) from error
    return x_adv


def constructed(
    constructor: Any, model: nn.Module, device: torch.device, **arguments: object
) -> Any:
    """An attack of torchattacks on this device, which it cannot find without parameters.

    It would print that on standard output, for every block, and go on.
    """
    with redirect_stdout(StringIO()):
        attack = constructor(model, **arguments)
    attack.set_device(device)
    return attack


def _passes(name: str, settings: Mapping[str, Any]) -> tuple[int, int] | None:
    """Steps where they are counted; AutoAttack and its parts stop when they like."""
    if name in ONE_STEP:
        return 1, 1
    if name == "SPSA":
        return 2 * settings["nb_iter"] * settings["nb_sample"], 0
    if "steps" in settings and "n_restarts" not in settings:
        repeats = settings.get("eot_iter", 1) * (settings.get("N", 0) + 1) * settings.get("m", 1)
        repeats *= settings.get("noise_batch_size", 1)
        passes = settings["steps"] * repeats
        return passes + (name in CLEAN_LOGITS), passes
    return None
