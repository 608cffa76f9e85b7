"""Whether the state of a training, read from a file, is as the training expects it."""

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
        return {key: plain(item) for key, item in entries(value)}
    if type(value) in (list, tuple):
        return type(value)(plain(item) for item in value)
    return value


def find_misfit(stored: Any, expected: Any, path: str = "") -> str:
    """Where a nested value has another form than the one that is expected.

    Args:
        stored: from a file.
        expected: what the training has in its place.
        path: of the value.

    Returns:
        The path of the first place with other keys, another length, kind or shape; empty if none.
    """
    if isinstance(expected, Tensor):
        return "" if _fits(stored, expected) else path
    if isinstance(expected, Mapping):
        if not isinstance(stored, dict) or stored.keys() != expected.keys():
            return path
        misfits = (find_misfit(stored[key], expected[key], f"{path}.{key}") for key in expected)
        return next(filter(None, misfits), "")
    if isinstance(expected, (list, tuple)):
        if not isinstance(stored, (list, tuple)) or len(stored) != len(expected):
            return path
        pairs = enumerate(zip(stored, expected, strict=True))
        misfits = (find_misfit(*pair, f"{path}[{index}]") for index, pair in pairs)
        return next(filter(None, misfits), "")
    if type(expected) in Numbers:
        return "" if type(stored) in Numbers and isfinite(stored) else path
    return "" if type(stored) is type(expected) else path


def find_moment_misfit(stored: Any, parameters: list[nn.Parameter]) -> str:
    """Where an optimizer's moments do not fit its parameters; empty if they do.

    Args:
        stored: by position of the parameter: AdamW's moments or Muon's.
        parameters: of the optimizer, in order.
    """
    if not isinstance(stored, dict):
        return "optimizer.state"
    for key, moments in stored.items():
        known = type(key) is int and 0 <= key < len(parameters)
        if not known or not _are_moments(moments, parameters[key]):
            return f"optimizer.state.{key}"
    return ""


def _are_moments(stored: Any, parameter: Tensor) -> bool:
    if not isinstance(stored, dict):
        return False
    kind = stored.get("use_muon", False)
    names = MUON if kind is True else ADAMW
    step = stored.get("step", 0)
    return (
        stored.keys() - {"use_muon"} == names
        and (type(step) in Numbers or (isinstance(step, Tensor) and step.ndim == 0))
        and all(_fits(stored[name], parameter) for name in names - {"step"})
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
        isinstance(name, str) and name.isascii() and type(value) in Numbers
        for name, value in line.items()
    )


def _fits(stored: Any, expected: Tensor) -> bool:
    return isinstance(stored, Tensor) and (stored.shape, stored.layout) == (
        expected.shape,
        expected.layout,
    )
