"""From results to the numbers of ImageNet-C: CE, mCE and its relatives, each under its own name."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN
from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, SIDE
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.printable import name_some

from ..text.csv_text import save_csv
from .corruption_error import (
    CLASSES,
    CorruptionScore,
    Errors,
    ReferenceErrors,
    alexnet,
    corruption_error,
    extra_mean_ce,
    mean_ce,
    mean_error,
    mean_error_of,
    missing_cells,
    relative_mce,
)
from .corruption_rows import corruption_errors, corruption_rows

GROUP = ["label", "dataset", "protocol", "source"]
COLUMNS = (
    *GROUP,
    *("number", "corruption", "percent", "n_images", "status", "missing"),
    *("normaliser", "normaliser_images", "flags"),
)
FEW_IMAGES = 1000
"""With fewer, the error under one corruption is uncertain by more than 3 points (95 %)."""
MOST_MISSING = 4
"""Corruptions that one line names."""
INCOMPLETE, NOT_COMPARABLE = "incomplete", "not-comparable"
"""Statuses of numbers that there are none of; the second where the normaliser saw other images."""


def corruption_scores(
    results: pd.DataFrame, *, reference: ReferenceErrors | None = None
) -> pd.DataFrame:
    """The numbers of ImageNet-C of every label, data set, protocol and source of images.

    Sources are never mixed: official and generated images have numbers of their own.

    Args:
        results: columns of results.csv.
        reference: the reference errors of CE and mCE, `alexnet()` unless given.

    Returns:
        One row per number. ``number`` is ``mean error`` or ``CE`` of the ``corruption``; or, with
        an empty ``corruption``, ``mCE``, ``relative mCE``, ``mean CE of the 4 extra corruptions``,
        ``mean corruption error`` or ``mean corruption accuracy``. ``percent`` is NaN unless
        ``status`` is ``ok``; ``incomplete`` numbers say what is ``missing``. ``normaliser`` names
        the model whose errors are the unit, ``normaliser_images`` what it was measured on.
        ``flags`` is ``few-images-N`` for a number of fewer than `FEW_IMAGES` images.

    Raises:
        UserError: two rows of one cell.
    """
    rows = corruption_rows(results)
    twice = rows[rows.duplicated([*GROUP, "condition"])]
    if len(twice):
        row = twice.iloc[0]
        raise UserError(f"{row['label']}: {row['condition']} stands in two rows; give each once")
    numbers = [
        row
        for key, group in rows.groupby(GROUP, sort=False)
        for row in _of_group(results, dict(zip(GROUP, key, strict=True)), group, reference)
    ]
    return pd.DataFrame(numbers, columns=list(COLUMNS)).astype({"percent": float})


def scores_of(rows: pd.DataFrame, scores: pd.DataFrame | None) -> pd.DataFrame:
    """The numbers of some results.

    Args:
        rows: columns of results.csv.
        scores: `corruption_scores` of these and perhaps other rows; None: computed here, in units
            of AlexNet's errors.
    """
    if scores is None:
        return corruption_scores(rows)
    return scores.merge(rows[GROUP].drop_duplicates())


def save_corruption_scores(scores: pd.DataFrame, folder: Path) -> Path:
    """Write them as corruption_scores.csv into a folder and return its path."""
    return save_csv(scores, folder / "corruption_scores.csv")


def clean_error_of(results: pd.DataFrame, row: "pd.Series[Any]") -> float | None:
    """Clean top-1 error, a fraction, of a row's model on its data; None where there is none."""
    same = pd.Series(True, results.index)
    for name in GROUP[:3]:
        same &= results[name] == row[name]
    clean = results[same & (results["condition"] == CLEAN) & (results["status"] == "ok")]
    return 1 - float(clean["top1"].iloc[0]) / 100 if len(clean) else None


def kind_of(rows: pd.DataFrame) -> str:
    """Of what classes the images are and at which size corrupted, in words; `KIND` is ImageNet-C.

    Args:
        rows: of one data set under corruptions, whose flags tell.
    """
    forms = (r"(\d+)-classes", r"(\d+)px", r"enlarged-(\d+)px")
    matches = (rows["flags"].str.extract(f"not-imagenet-c-{form}")[0].dropna() for form in forms)
    classes, side, enlarged = (next(iter(numbers), None) for numbers in matches)
    of = CLASSES if classes is None else f"{classes} classes"
    kind = f"{of} at {side or SIDE} pixels"
    if rows["flags"].str.contains(r"\bseveral-labels\b", na=False).any():
        kind += " under several labels"
    return kind if enlarged is None else f"{kind}, enlarged from {enlarged}"


class _Number(NamedTuple):
    """One number to be computed: of which corruptions, and whether a normaliser is its unit."""

    name: str
    corruption: str
    of: Sequence[str]
    compute: Callable[[], CorruptionScore]
    normalised: bool = True
    needs: str = ""


def _of_group(
    results: pd.DataFrame,
    key: dict[str, Any],
    group: pd.DataFrame,
    reference: ReferenceErrors | None,
) -> Iterator[dict[str, Any]]:
    reference = reference or alexnet()
    clean_error, kind = clean_error_of(results, group.iloc[0]), kind_of(group)
    errors = corruption_errors(group)
    for number in _numbers(list(group["corruption"].unique()), errors, clean_error, reference):
        n_images = int(group.loc[group["corruption"].isin(number.of), "n_images"].min())
        about = {"number": number.name, "corruption": number.corruption, "n_images": n_images}
        value = _value(number, errors, reference, kind)
        few = value["status"] == "ok" and n_images < FEW_IMAGES
        yield {**key, **about, **value, "flags": f"few-images-{n_images}" if few else ""}


def _numbers(
    names: Sequence[str],
    errors: Errors,
    clean_error: float | None,
    reference: ReferenceErrors,
) -> Iterator[_Number]:
    """The numbers that what was asked for gives, or would give if it were complete."""
    for name in names:
        yield _Number("mean error", name, (name,), partial(mean_error_of, errors, name), False)
        ce = partial(corruption_error, errors, name, reference=reference)
        yield _Number("CE", name, (name,), ce)
    if set(names) & set(MAIN):
        yield _Number("mCE", "", MAIN, partial(mean_ce, errors, reference=reference))
        relative = partial(relative_mce, errors, clean_error or 0.0, reference=reference)
        needs = "clean" if clean_error is None else ""
        needs = needs or ("clean of the normaliser" if reference.clean_error is None else "")
        yield _Number("relative mCE", "", MAIN, relative, needs=needs)
    if set(names) & set(EXTRA):
        extra = partial(extra_mean_ce, errors, reference=reference)
        yield _Number("mean CE of the 4 extra corruptions", "", EXTRA, extra)
    if set(names) & set(MAIN):
        plain = partial(mean_error, errors)
        yield _Number("mean corruption error", "", MAIN, plain, False)
        yield _Number("mean corruption accuracy", "", MAIN, partial(_accuracy, plain), False)


def _accuracy(error: Callable[[], CorruptionScore]) -> CorruptionScore:
    score = error()
    percent = None if score.percent is None else 100 - score.percent
    return CorruptionScore("mean corruption accuracy", percent, score.missing)


def _value(
    number: _Number, errors: Errors, reference: ReferenceErrors, kind: str
) -> dict[str, Any]:
    unit = (reference.name, reference.images) if number.normalised else ("", "")
    if number.normalised and reference.kind not in (kind, None):
        reason = f"the normaliser's images are of {reference.kind}, these of {kind}"
        return _row(None, NOT_COMPARABLE, reason, unit)
    missing = [_listed(missing_cells(errors, number.of)), number.needs]
    if number.normalised:
        lacking = _listed(missing_cells(reference.errors, number.of))
        missing.append(f"in the normaliser: {lacking}" if lacking else "")
    text = "; ".join(filter(None, missing))
    if text:
        return _row(None, INCOMPLETE, text, unit)
    try:
        return _row(number.compute().percent, "ok", "", unit)
    except UserError as error:  # a normaliser without errors is no unit for this number alone
        return _row(None, NOT_COMPARABLE, str(error), unit)


def _row(percent: float | None, status: str, missing: str, unit: tuple[str, str]) -> dict[str, Any]:
    about = {"normaliser": unit[0], "normaliser_images": unit[1]}
    return {"percent": percent, "status": status, "missing": missing, **about}


def _listed(missing: Sequence[tuple[str, int]]) -> str:
    """Cells in short: ``frost/1-5; fog/3,4``."""
    by_name: dict[str, list[int]] = {}
    for name, severity in missing:
        by_name.setdefault(name, []).append(severity)
    return "; ".join(
        f"{name}/1-5" if len(severities) == 5 else f"{name}/{','.join(map(str, severities))}"
        for name, severities in by_name.items()
    )


def shortened(missing: str) -> str:
    """The first few of what is missing; corruption_scores.csv has all of it."""
    return name_some(missing.split("; "), MOST_MISSING, "; ")
