"""AutoAttack by its authors' own code, on one block of images."""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version as version_of
from typing import Any

import torch
from torch import Tensor, nn

from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.recorded import About

from ..spec import AttackSpec, Settings
from .blocks import BLOCK, BLOCK_NOTE, BlockSweep

NAME = "autoattack"
SOURCE = "https://arxiv.org/abs/2003.01690"
STANDARD = "standard"
VERSIONS = (STANDARD, "plus", "rand")
NORMS: Mapping[Norm, str] = {"linf": "Linf", "l2": "L2"}
"""As the libraries that follow AutoAttack's authors spell them."""
NEEDS_CLASSES: Mapping[str, tuple[int, str]] = {
    "apgd-dlr": (3, "no-dlr"),
    "apgd-t": (4, "no-targeted-dlr"),
}
"""Parts whose loss looks at the third or fourth largest logit: classes needed, flag without."""


def autoattack() -> AttackSpec:
    """Version ``standard``; ``rand`` (for networks that draw) and ``plus`` are chosen by name.

    Its constants are read off the authors' object, and fixed as they are; they are the same in
    L-infinity and L2. ``n_classes`` is the label and the classes that targeted parts aim at; a
    network that has fewer has these alone.
    """
    versions = {version: _spec(version) for version in VERSIONS}
    standard = versions.pop(STANDARD)
    return AttackSpec(**{**vars(standard), "versions": versions})


def _spec(version: str) -> AttackSpec:
    constants = _constants(version)
    parts = constants["parts"].split("+")
    return AttackSpec(
        NAME,
        BlockSweep(NAME, _run),
        knowledge="white box",
        source=SOURCE,
        passes=_passes,
        settings=constants,
        choices={"version": VERSIONS},
        white_box=True,
        contradiction=partial(_contradiction, constants),
        protocols=("pixel", "l2"),
        notes=(BLOCK_NOTE,),
        about=About(
            gradient_free="square" in parts,
            few_classes={
                flag: least for part, (least, flag) in NEEDS_CLASSES.items() if part in parts
            },
        ),
        stops_early=True,
    )


def _constants(version: str) -> dict[str, Any]:
    attack = _made(nn.Identity(), version, eps=1.0, norm="linf", seed=0, device=torch.device("cpu"))
    return {
        "block": BLOCK,
        "version": version,
        "n_classes": attack.fab.n_target_classes + 1,
        "package": f"pyautoattack {version_of('pyautoattack')}",
        "parts": "+".join(attack.attacks_to_run),
        "steps": attack.apgd.n_iter,
        "n_restarts": attack.apgd.n_restarts,
        "eot_iter": attack.apgd.eot_iter,
        "n_queries": attack.square.n_queries,
    }


def _contradiction(fixed: Settings, settings: Settings) -> str:
    for name, value in fixed.items():
        if name != "block" and settings[name] != value:
            return (
                f"{name}={settings[name]} is another attack, since its authors fixed {name} at "
                f"{value}; only block and version can be set"
            )
    return ""


def _run(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    norm: Norm,
    settings: Mapping[str, Any],
) -> Tensor:
    """The authors' loop: each part on the images that are right after those before it.

    Its seed is the block's. Parts that the network has too few classes for are left out.
    """
    with torch.no_grad():
        classes = model(x[:1]).shape[1]
    with _undisturbed():
        attack = _made(
            model,
            settings["version"],
            eps=eps,
            norm=norm,
            seed=torch.initial_seed(),
            device=x.device,
        )
        attack.attacks_to_run = [
            part for part in attack.attacks_to_run if classes >= NEEDS_CLASSES.get(part, (1, ""))[0]
        ]
        for part in (attack.apgd_targeted, attack.fab):
            part.n_target_classes = min(part.n_target_classes, classes - 1)
        x_adv: Tensor = attack.run_standard_evaluation(x, y, batch_size=len(x))[0]
    return x_adv


def _made(
    model: nn.Module, version: str, *, eps: float, norm: Norm, seed: int, device: torch.device
) -> Any:
    from pyautoattack import AutoAttack

    return AutoAttack(model, version=version, eps=eps, norm=NORMS[norm], seed=seed, device=device)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Inside, its checks warn nobody; afterwards a debugger or a coverage tool traces again.

    What they would warn of (networks that draw, probabilities, zero gradients, few classes) is
    found by the suite's own checks, and flagged.
    """
    logger, trace = logging.getLogger("auto-attack"), sys.gettrace()
    disabled, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = disabled
        sys.settrace(trace)


def _passes(settings: Settings) -> tuple[int, int] | None:
    """At most; not known where FAB follows the gradient of every logit."""
    parts = settings["parts"].split("+")
    if "fab" in parts:
        return None
    steps, targets = settings["steps"], settings["n_classes"] - 1
    apgd = settings["n_restarts"] * (steps + 1) * settings["eot_iter"]
    costs = {
        "apgd-ce": (1 + apgd, apgd),
        "apgd-dlr": (1 + apgd, apgd),
        "apgd-t": (1 + targets * (steps + 2), targets * (steps + 1)),
        "fab-t": (1 + targets * (2 * steps + 3), targets * steps),
        "square": (settings["n_queries"] + 3, 0),
    }
    before = 4 if settings["version"] == "rand" else 9  # the number of classes, its checks, clean
    forward = before + sum(costs[part][0] + 1 for part in parts)
    return forward, sum(costs[part][1] for part in parts)
