"""When two numbers may be compared image by image, and the reason where they may not."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.records.identity import (
    Difference,
    first_difference,
    images_identity,
)
from robustbench_twicing.records.schema import Status

from ..merging.entry import Entry
from ..merging.identity import entry_identity
from ..merging.runs import Runs
from .paired import Pair, Rights, count_pair

METRICS = {"top1": 1, "top5": 5}
"""Metrics that are right or wrong per image, and the rank below which an image is right."""
IMAGES = ("crop", "resize", "interpolation", "squash")
"""What of the preprocessing makes the pixels that are attacked; mean and std are the network's."""


class Matched(NamedTuple):
    """Records of two entries on the same images, row by row.

    Attributes:
        first: of the one entry, scored images only.
        second: of the other.
    """

    first: pd.DataFrame
    second: pd.DataFrame

    def rights(self, metric: str = "top1") -> tuple[Rights, Rights]:
        """Whether each image is right, for both."""
        below = METRICS[metric]
        first, second = (rows["rank"].to_numpy() < below for rows in self)
        return first, second


class Unlike(Exception):
    """Why two entries cannot be compared, in words; `args[0]`."""


class OtherImages(Unlike):
    """They are of other images; those that both have may be compared all the same."""


def is_tested(condition: Condition) -> bool:
    """Whether a difference under it is a test of its own.

    An attack with a budget of 0 shows the clean images once more, and random noise is a control.
    """
    return not (condition.about.control or (condition.is_attacked and condition.eps == 0))


def pair_of(
    runs: Runs, first: int, second: int, metric: str = "top1", *, intersect: bool = False
) -> Pair:
    """How many images both entries have right, only one, or neither.

    Args:
        runs: merged runs.
        first: position of the one entry.
        second: position of the other.
        metric: of `METRICS`.
        intersect: as in `match`.

    Raises:
        Unlike: as `match`.
    """
    entries = runs.entries[first], runs.entries[second]
    counts = runs.counts[first], runs.counts[second]
    _check_conditions(*entries)
    _check_labels(*entries)
    if not intersect:
        _check_data(*entries)
        if counts[0].images != counts[1].images:
            raise OtherImages(OTHER_IMAGES)
    names = ["scored", "images", *_alike_columns(*entries).values()]
    same = all(getattr(counts[0], name) == getattr(counts[1], name) is not None for name in names)
    if not (same and first in runs.rights and second in runs.rights):
        return count_pair(*match(runs, first, second, intersect=intersect).rights(metric))
    bits = [getattr(runs.rights[entry], metric) for entry in (first, second)]
    both = (bits[0] & bits[1]).bit_count()
    only_first, only_second = (right.bit_count() - both for right in bits)
    return Pair(both, only_first, only_second, counts[0].scored - both - only_first - only_second)


OTHER_IMAGES = "they were scored on other images, since some could not be read"
INTERSECT = "; --intersect compares the images that both have"


def no_accuracy(status: str, scored: int, *, intersect: bool) -> str:
    """Why a condition of one model is not compared; empty where it is.

    Args:
        status: as in `results`.
        scored: images that have a rank.
        intersect: whether some of the images are enough.
    """
    if status == "survivors":
        return "is of survivors mode, has no accuracy and is not compared; the worst case is"
    if status == "error":
        return "failed and is not compared"
    if not scored:
        return "has no scored image and is not compared"
    is_enough = status == "ok" or intersect
    return "" if is_enough else f"is incomplete and is not compared{INTERSECT}"


def other_ensemble(first_entry: Entry, second_entry: Entry) -> str:
    """Why two worst cases are not of the same attacks; empty where they are, or are none.

    It ends no comparison: the attacks that both were run under are compared all the same.
    """
    if not first_entry.condition.is_worst:
        return ""
    difference = first_difference(entry_identity(first_entry), entry_identity(second_entry))
    return _differ(difference) if difference else ""


def match(runs: Runs, first: int, second: int, *, intersect: bool = False) -> Matched:
    """The scored records of two entries, paired by image.

    Args:
        runs: merged runs.
        first: position of the one entry.
        second: position of the other.
        intersect: pair the images that both have, where they do not have the same.

    Raises:
        Unlike: other images, data, sources, constants, precision or seeds.
    """
    first_entry, second_entry = runs.entries[first], runs.entries[second]
    _check_conditions(first_entry, second_entry)
    _check_labels(first_entry, second_entry)
    if not intersect:
        _check_data(first_entry, second_entry)
    matched = Matched(*(_scored(runs.of(entry)) for entry in (first, second)))
    first_images, second_images = (rows["image"].to_numpy(object) for rows in matched)
    if not np.array_equal(first_images, second_images):
        if not intersect:
            raise OtherImages(OTHER_IMAGES)
        _, *positions = np.intersect1d(first_images, second_images, return_indices=True)
        order = np.argsort(positions[0])  # as in the data set, not as the ids were read
        matched = Matched(
            *(rows.iloc[at[order]] for rows, at in zip(matched, positions, strict=True))
        )
        if matched.first.empty:
            raise Unlike("they have no image in common")
    _check_same_images(first_entry, second_entry, matched)
    return matched


def _scored(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["status"] == Status.OK]


def _check_conditions(first_entry: Entry, second_entry: Entry) -> None:
    difference = first_difference(entry_identity(first_entry), entry_identity(second_entry))
    if difference:
        raise Unlike(_differ(difference))


def _check_labels(first_entry: Entry, second_entry: Entry) -> None:
    """Of several right labels records have one alone, which both may have where others differ."""
    first, second = (entry.evaluation.dataset for entry in (first_entry, second_entry))
    same = first.right_labels_sha256 == second.right_labels_sha256
    if not same and first.fingerprint != second.fingerprint:
        raise Unlike("other labels count as right for the one than for the other")


def _check_data(first_entry: Entry, second_entry: Entry) -> None:
    difference = first_difference(
        images_identity(first_entry.evaluation.dataset),
        images_identity(second_entry.evaluation.dataset),
    )
    if difference:
        raise OtherImages(f"the data sets differ: {_differ(difference)}")


def _differ(difference: Difference) -> str:
    return difference.between("for the one", "for the other")


def _check_same_images(first_entry: Entry, second_entry: Entry, matched: Matched) -> None:
    """The same ids must be the same images: labels, and pixels where both crop alike."""
    for name in _alike_columns(first_entry, second_entry):
        first, second = (rows[name].to_numpy() for rows in matched)
        unlike = np.flatnonzero(first != second)
        if len(unlike):
            image = matched.first["image"].iloc[int(unlike[0])]
            what = "another label" if name == "target" else "other pixels"
            raise Unlike(f"image {image} has {what} there ({len(unlike)} such images)")


def _alike_columns(first_entry: Entry, second_entry: Entry) -> dict[str, str]:
    """Columns that must be equal in both, and what is counted of them."""
    views = [entry.evaluation.preprocessing for entry in (first_entry, second_entry)]
    crop_alike = all(getattr(views[0], name) == getattr(views[1], name) for name in IMAGES)
    return {"target": "targets"} | ({"pixels_sha256": "pixels"} if crop_alike else {})
