"""Whether the state of a training, read from a file, is of the form of the one it goes on with."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from torch import Tensor, nn

from ..checkpoints.contents import entries

Numbers = (int, float)
ADAMW, MUON = {"step", "exp_avg", "exp_avg_sq"}, {"momentum_buffer"}
"""What the optimizers keep of a parameter; timm's Muon says with ``use_muon`` which of the two."""


def plain(value: Any) -> Any:
    """The same value of dicts alone: another mapping's attributes may stand before its methods.

    Raises:
        RecursionError: it contains itself.
    """
    if isinstance(value, dict):
        return {key: plain(each) for key, each in entries(value)}
    if type(value) in (list, tuple):
        return type(value)(plain(each) for each in value)
    return value


def find_misfit(told: Any, own: Any, path: str = "") -> str:
    """Where a nested value has not the form of our own.

    Args:
        told: from a file.
        own: of the same kind.
        path: of the value.

    Returns:
        The path of the first place with other keys, another length, kind or shape; empty if none.
    """
    if isinstance(own, Tensor):
        return "" if _fits(told, own) else path
    if isinstance(own, Mapping):
        if not isinstance(told, dict) or told.keys() != own.keys():
            return path
        parts = ((told[key], own[key], f"{path}.{key}") for key in own)
        return next(filter(None, (find_misfit(*part) for part in parts)), "")
    if isinstance(own, (list, tuple)):
        if not isinstance(told, (list, tuple)) or len(told) != len(own):
            return path
        pairs = enumerate(zip(told, own, strict=True))
        found = (find_misfit(one, other, f"{path}[{index}]") for index, (one, other) in pairs)
        return next(filter(None, found), "")
    if type(own) in Numbers:
        return "" if type(told) in Numbers and isfinite(told) else path
    return "" if type(told) is type(own) else path


def find_moment_misfit(told: Any, parameters: list[nn.Parameter]) -> str:
    """Where an optimizer's moments do not fit its parameters; empty if they do.

    Args:
        told: by position of the parameter: AdamW's moments or Muon's.
        parameters: of the optimizer, in order.
    """
    if not isinstance(told, dict):
        return "optimizer.state"
    for key, moments in told.items():
        known = type(key) is int and 0 <= key < len(parameters)
        if not known or not _are_moments(moments, parameters[key]):
            return f"optimizer.state.{key}"
    return ""


def _are_moments(told: Any, parameter: Tensor) -> bool:
    if not isinstance(told, dict):
        return False
    kind = told.get("use_muon", False)
    names = MUON if kind is True else ADAMW
    step = told.get("step", 0)
    return (
        told.keys() - {"use_muon"} == names
        and (type(step) in Numbers or (isinstance(step, Tensor) and step.ndim == 0))
        and all(_fits(told[name], parameter) for name in names - {"step"})
    )


def find_progress_misfit(state: Mapping[str, Any], steps: int) -> str:
    """Which of the numbers beside weights and optimizer is none; empty if all are right.

    Args:
        state: from a file.
        steps: of the whole training.
    """
    taken, lines, losses = state.get("taken"), state.get("lines"), state.get("losses")
    right = {
        "taken": type(taken) is int and 0 <= taken <= steps,
        "lines": isinstance(lines, list) and all(map(_is_line, lines)),
        "losses": isinstance(losses, Tensor) and losses.ndim == 1 and losses.is_floating_point(),
        "right": type(state.get("right")) in (int, type(None)),
        "seconds": type(state.get("seconds")) in Numbers and isfinite(state["seconds"]),
    }
    return next((name for name, is_right in right.items() if not is_right), "")


def _is_line(line: object) -> bool:
    return isinstance(line, dict) and all(
        isinstance(name, str) and name.isascii() and type(each) in Numbers
        for name, each in line.items()
    )


def _fits(told: Any, own: Tensor) -> bool:
    return isinstance(told, Tensor) and (told.shape, told.layout) == (own.shape, own.layout)
