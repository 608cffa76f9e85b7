"""A corruption's constants, one value for each of the five severities."""

from collections.abc import Mapping

from robustbench_twicing.data.imagenet_c import SEVERITIES
from robustbench_twicing.errors import UserError

Levels = Mapping[str, tuple[float, ...]]
"""Constant's name to its five values, severity 1 first."""


def at(levels: Levels, severity: int) -> dict[str, float]:
    """The constants of one severity.

    Raises:
        UserError: ``severity`` is not 1, 2, 3, 4 or 5.
    """
    if severity not in SEVERITIES:
        raise UserError(f"severity {severity!r} does not exist; ImageNet-C has 1, 2, 3, 4 and 5")
    return {name: values[severity - 1] for name, values in levels.items()}
