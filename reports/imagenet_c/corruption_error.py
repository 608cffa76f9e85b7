"""Corruption errors of ImageNet-C (arXiv 1903.12261, section 4.2), each number under its own name.

Nothing is averaged over fewer corruptions or severities than its definition has: an incomplete set
gives a `CorruptionScore` without a value that lists what is missing.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from statistics import fmean
from types import MappingProxyType

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, SEVERITIES, SIDE, Cell, cells
from robustbench_twicing.errors import UserError

__all__ = [
    "EXTRA",
    "MAIN",
    "SEVERITIES",
    "CorruptionScore",
    "Errors",
    "ReferenceErrors",
    "alexnet",
    "corruption_error",
    "extra_mean_ce",
    "mean_ce",
    "mean_error",
    "mean_error_of",
    "missing_cells",
    "relative_mce",
]

CLASSES = "ImageNet's classes"
KIND = f"{CLASSES} at {SIDE} pixels"
"""What ImageNet-C's images are of, and at which size they were corrupted, none enlarged for it."""
Errors = Mapping[tuple[str, int], float]
"""Top-1 error, a fraction in [0, 1], by corruption and severity 1 to 5."""


@dataclass(frozen=True)
class ReferenceErrors:
    """The model whose errors are the unit.

    Attributes:
        name: printed with every number that it normalises.
        errors: its top-1 errors.
        clean_error: its top-1 error on the clean validation set, a fraction; None where it is not
            known, and there is no relative mCE.
        images: on which it was measured.
        kind: of what they are and at which size they were corrupted, in words; None where it is
            given as the unit of whatever it is used for.
    """

    name: str
    errors: Errors
    clean_error: float | None
    images: str = ""
    kind: str | None = KIND


@dataclass(frozen=True)
class CorruptionScore:
    """One number, or what keeps it from being one.

    Attributes:
        name: which number it is; different definitions have different names.
        percent: the value; None where a cell is missing.
        missing: (corruption, severity) of each missing cell.
        reference: the normaliser's name; None for plain errors.
    """

    name: str
    percent: float | None
    missing: tuple[Cell, ...] = ()
    reference: str | None = None


@lru_cache(maxsize=1)
def alexnet() -> ReferenceErrors:
    """AlexNet of torchvision on the official files, the benchmark's normaliser.

    Source: `data/alexnet_errors.csv`.
    """
    path = files("reports") / "data" / "alexnet_errors.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    errors = {(row["corruption"], int(row["severity"])): float(row["error"]) for row in rows}
    clean_error = errors.pop(("clean", 0))
    name, images = "AlexNet (torchvision)", "the 50,000 official images"
    return ReferenceErrors(name, MappingProxyType(errors), clean_error, images)


def corruption_error(
    errors: Errors, corruption: str, *, reference: ReferenceErrors | None = None
) -> CorruptionScore:
    """CE of one corruption: sum over severities, divided by that of the reference errors."""
    return _mean_ce(f"CE {corruption}", errors, (corruption,), reference)


def mean_ce(errors: Errors, *, reference: ReferenceErrors | None = None) -> CorruptionScore:
    """MCE: mean over the 15 corruptions of CE; not the mean of ratios per severity.

    Args:
        errors: of the model; cells of other corruptions are ignored.
        reference: the reference errors, `alexnet()` unless given.

    Raises:
        UserError: an error is not a fraction, or the reference errors lack a cell.
    """
    return _mean_ce("mCE", errors, MAIN, reference)


def extra_mean_ce(errors: Errors, *, reference: ReferenceErrors | None = None) -> CorruptionScore:
    """Mean CE of the four hold-out corruptions: a number of its own, never part of mCE."""
    return _mean_ce("mean CE of the 4 extra corruptions", errors, EXTRA, reference)


def relative_mce(
    errors: Errors, clean_error: float, *, reference: ReferenceErrors | None = None
) -> CorruptionScore:
    """Relative mCE: how much is lost against clean images, in units of the reference model's loss.

    Args:
        errors: of the model.
        clean_error: of the model on the clean validation set, a fraction.
        reference: the reference errors, `alexnet()` unless given.

    Raises:
        UserError: an error is not a fraction, or the reference errors lack a cell or the clean
            error, or are not above it.
    """
    _check_fractions([clean_error])
    return _mean_ce("relative mCE", errors, MAIN, reference, clean_error=clean_error)


def mean_error(errors: Errors) -> CorruptionScore:
    """Plain mean top-1 error over the 15 corruptions and 5 severities; this is not mCE."""
    return _plain_mean("mean corruption error", errors, MAIN)


def mean_error_of(errors: Errors, corruption: str) -> CorruptionScore:
    """Plain mean top-1 error of one corruption over the 5 severities."""
    return _plain_mean(f"mean error {corruption}", errors, (corruption,))


def _plain_mean(name: str, errors: Errors, corruptions: Sequence[str]) -> CorruptionScore:
    missing = missing_cells(errors, corruptions)
    if missing:
        return CorruptionScore(name, None, missing)
    values = [errors[cell] for cell in cells(corruptions)]
    _check_fractions(values)
    return CorruptionScore(name, 100 * fmean(values))


def _mean_ce(
    name: str,
    errors: Errors,
    corruptions: Sequence[str],
    reference: ReferenceErrors | None,
    *,
    clean_error: float | None = None,
) -> CorruptionScore:
    """Mean of CE; of relative CE where ``clean_error`` is given."""
    reference = reference or alexnet()
    lacking = missing_cells(reference.errors, corruptions)
    if lacking:
        raise UserError(f"{name}: the reference errors of {reference.name} lack {_listed(lacking)}")
    missing = missing_cells(errors, corruptions)
    if missing:
        return CorruptionScore(name, None, missing, reference.name)
    clean = base_clean = 0.0
    if clean_error is not None:
        if reference.clean_error is None:
            raise UserError(f"{name}: the reference errors of {reference.name} hold no clean error")
        clean, base_clean = clean_error, reference.clean_error
    ratios = []
    for corruption in corruptions:
        of_model = sum(_of(errors, corruption)) - len(SEVERITIES) * clean
        base = sum(_of(reference.errors, corruption)) - len(SEVERITIES) * base_clean
        if base <= 0:
            raise UserError(
                f"{name}: the reference errors of {reference.name} under {corruption} are not "
                "above its clean error, so nothing can be divided by their difference; give others"
            )
        ratios.append(of_model / base)
    return CorruptionScore(name, 100 * fmean(ratios), (), reference.name)


def _of(errors: Errors, corruption: str) -> list[float]:
    values = [errors[corruption, severity] for severity in SEVERITIES]
    _check_fractions(values)
    return values


def missing_cells(errors: Errors, corruptions: Iterable[str]) -> tuple[Cell, ...]:
    """The cells of these corruptions, at all severities, that have no error."""
    return tuple(cell for cell in cells(corruptions) if cell not in errors)


def _listed(cells: Sequence[Cell]) -> str:
    return ", ".join(f"{corruption}/{severity}" for corruption, severity in cells)


def _check_fractions(values: Iterable[float]) -> None:
    for value in values:
        if not 0 <= value <= 1:
            raise UserError(f"{value} is not an error: give fractions from 0 to 1, not percent")
