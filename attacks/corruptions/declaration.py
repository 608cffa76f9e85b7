"""What a corruption is, and the decorator that declares one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.random import RandomState

from robustbench_twicing.data.imagenet_c import DECLARED, SEVERITIES
from robustbench_twicing.errors import UserError
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
            UserError: a severity that does not exist, an image that it cannot work on, or files
                that are not found.
        """
        check_pixels(image, self.name, grey=self.grey)
        files = {} if self.needs is None else {"frost_dir": frost_dir}
        return np.ascontiguousarray(self.function(image, severity, rng, **files))


CORRUPTIONS: Registry[CorruptionSpec] = Registry("corruption")
"""Every declared corruption by name."""


def corruption(name: str, *, group: str, **properties: Any) -> Callable[[Function], Function]:
    """Declare the decorated function as a corruption: that is all it takes to evaluate it.

    Args:
        name: see `CorruptionSpec`, as for all others.
        group: of its own, like ``"rain"``, for a corruption that is not ImageNet-C's.
        properties: ``levels``, ``grey`` and ``needs``.

    Raises:
        ValueError: another corruption has the name.
    """

    def declare(function: Function) -> Function:
        CORRUPTIONS[name] = CorruptionSpec(name, function, group, **properties)
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
