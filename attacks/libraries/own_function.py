"""A user's own attack: ``path/file.py:function`` or ``module:function``."""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.user_code import load_user_function
from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.errors import BrokenAttackError, UserError

from ..spec import AttackSpec
from .blocks import BLOCK, BLOCK_NOTE, BlockSweep


def own_attack(name: str) -> AttackSpec:
    """Import a function ``(model, x, y, *, eps, generator, ...) -> x_adv``.

    Pixels in, pixels out, eps in pixels. Keyword arguments with plain defaults become constants.
    The function may draw from ``generator`` (one for the block) or from the global random state,
    which is seeded per block and restored.

    Raises:
        UserError: no such function, or one that cannot be called like that.
    """
    function, sha256 = load_user_function(name)
    constants = _constants(name, function)
    return AttackSpec(
        name,
        BlockSweep(name, partial(_run, function)),
        knowledge="your own code",
        source=f"{name}, sha256 {sha256[:16]}",
        passes=lambda settings: None,
        settings={"block": BLOCK, "sha256": sha256, **constants},
        white_box=True,
        protocols=("pixel",),
        notes=(BLOCK_NOTE,),
    )


def _constants(name: str, function: Any) -> dict[str, Any]:
    """Names and plain defaults of what the suite does not pass itself."""
    try:
        signature = inspect.signature(function)
        passed = signature.bind(None, None, None, eps=0.0, generator=None).arguments
    except (TypeError, ValueError) as error:
        raise UserError(
            f"attack {name!r} cannot be called: {error}; it must be a function "
            "(model, x, y, *, eps, generator) -> x_adv whose other arguments have defaults"
        ) from error
    constants = {
        parameter.name: parameter.default
        for parameter in signature.parameters.values()
        if isinstance(parameter.default, (bool, int, float, str))
        and parameter.name not in passed
        and parameter.kind is not parameter.POSITIONAL_ONLY
    }
    for taken in ("block", "sha256"):
        if taken in constants:
            raise UserError(f"attack {name!r}: {taken} is a constant of the suite; rename yours")
    return constants


def _run(
    function: Any,
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    norm: Norm,
    settings: Mapping[str, Any],
) -> Tensor:
    constants = {key: value for key, value in settings.items() if key != "sha256"}
    generator = torch.Generator(x.device).manual_seed(int(torch.randint(2**63 - 1, ())))
    try:
        x_adv: Tensor = function(model, x, y, eps=eps, generator=generator, **constants)
    except SystemExit as error:
        raise BrokenAttackError(f"tried to leave Python with {error.code!r}") from error
    return x_adv
