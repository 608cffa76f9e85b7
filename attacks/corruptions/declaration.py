"""What a corruption is, and the decorator that declares one."""

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

import numpy as np
from numpy.random import RandomState

from robustbench_twicing.data.imagenet_c import DECLARED, GROUPS, SEVERITIES
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.source_code import is_same_place
from robustbench_twicing.registry import Registry

from .imaging.pixels import Pixels, check_pixels

Levels = dict[str, tuple[float, ...]]
"""Constant's name to its five values, severity 1 first."""
Function = TypeVar("Function", bound=Callable[..., Pixels])


@dataclass(frozen=True)
class CorruptionSpec:
    """One corruption, as its file declares it.

    Attributes:
        name: as in ``--corruptions``; the folders of ImageNet-C are called so, too.
        function: (image, severity, rng) -> image, uint8, of the same shape. One that ``needs``
            files takes ``frost_dir``, too.
        group: what kind of change it is. ImageNet-C's are ``noise``, ``blur``, ``weather``,
            ``digital`` and ``extra``; mCE is of its fifteen names, whatever the group of others.
        levels: its constants by severity; other constants are in the function's file.
        grey: whether it also takes images (H, W).
        needs: finds the files that it cannot do without, given ``--frost-dir``; raises `UserError`
            where they are not there. None for no files.
    """

    name: str
    function: Callable[..., Pixels]
    group: str
    levels: Levels = field(default_factory=dict)
    grey: bool = True
    needs: Callable[[Path | str | None], Any] | None = None

    def apply(
        self, image: Pixels, severity: int, rng: RandomState, frost_dir: Path | str | None = None
    ) -> Pixels:
        """The image corrupted, before it is stored: a new uint8 array of its shape, C-contiguous.

        Raises:
            UserError: a severity that does not exist, an image that it cannot work on, files that
                are not found, or a function that returns something else.
        """
        check_pixels(image, self.name, grey=self.grey)
        files = {} if self.needs is None else {"frost_dir": frost_dir}
        corrupted = np.ascontiguousarray(self.function(image, severity, rng, **files))
        if corrupted.dtype != np.uint8 or corrupted.shape != image.shape:
            raise UserError(
                f"corruption {self.name} returned {corrupted.dtype} {corrupted.shape} for "
                f"{image.dtype} {image.shape}; it must return uint8 of the same shape"
            )
        return corrupted


CORRUPTIONS: Registry[CorruptionSpec] = Registry("corruption")
"""Every declared corruption by name."""


def corruption(name: str, *, group: str, **properties: Any) -> Callable[[Function], Function]:
    """Declare the decorated function as a corruption: that is all it takes to evaluate it.

    Args:
        name: see `CorruptionSpec`, as for all others.
        group: of its own, like ``"rain"``, for a corruption that is not ImageNet-C's.
        properties: ``levels``, ``grey`` and ``needs``.

    Raises:
        ValueError: another corruption has the name, the name is none, or ``levels`` lack a value
            or a constant that the function looks up.
    """

    def declare(function: Function) -> Function:
        CORRUPTIONS.check_name(name, GROUPS)
        spec = CorruptionSpec(name, function, group, **properties)
        _check_levels(name, function, spec.levels)
        if name in CORRUPTIONS and is_same_place(CORRUPTIONS[name].function, function):
            del CORRUPTIONS[name]  # its module is loaded again
        CORRUPTIONS[name] = spec
        DECLARED[name] = group
        return function

    return declare


def at(levels: Levels, severity: int) -> dict[str, float]:
    """The constants of one severity.

    Raises:
        UserError: ``severity`` is not 1, 2, 3, 4 or 5.
    """
    if severity not in SEVERITIES:
        raise UserError(f"severity {severity!r} does not exist; give 1, 2, 3, 4 or 5")
    return {name: values[severity - 1] for name, values in levels.items()}


def _check_levels(corruption: str, function: Callable[..., Any], levels: Levels) -> None:
    """Refuse constants that are not five numbers, and those that the function would miss.

    Args:
        corruption: its name, for messages.
        function: what it looks up in `at` by a text is found in its source, where there is one.
        levels: its constants, as declared.

    Raises:
        ValueError: names corruption, constant and what is wanted.
    """
    declared: dict[str, Any] = {**levels}
    for constant, values in declared.items():
        listed = isinstance(values, (tuple, list)) and len(values) == len(SEVERITIES)
        if not listed or not all(isinstance(value, (int, float)) for value in values):
            raise ValueError(
                f"corruption {corruption!r}: its levels give {constant!r} the values {values!r}; "
                f"it needs {len(SEVERITIES)} numbers, severity 1 first"
            )
    for constant in _looked_up(function):
        if constant not in levels:
            raise ValueError(
                f"corruption {corruption!r}: its function looks up {constant!r}, which its levels "
                f"({', '.join(levels) or 'none'}) lack; give it {len(SEVERITIES)} numbers there, "
                "severity 1 first"
            )


def _looked_up(function: Callable[..., Any]) -> Iterator[str]:
    """Texts in brackets behind ``at(...)``, or behind a variable that holds it."""
    try:
        nodes = list(ast.walk(ast.parse(dedent(inspect.getsource(function)))))
    except (OSError, TypeError, SyntaxError):
        return  # typed at a prompt; what is lacking shows when it runs
    holders = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_at(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
            continue
        held = isinstance(node.value, ast.Name) and node.value.id in holders
        if isinstance(node.slice.value, str) and (held or _is_at(node.value)):
            yield node.slice.value


def _is_at(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "at"
