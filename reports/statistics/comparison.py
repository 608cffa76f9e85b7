"""All models against one of them, image by image: how large the difference is, and if it is chance.

`compare` gives rows for each label and condition, and the images that only one of two has right.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.errors import UserError
from robustbench_twicing.registry import unknown

from ..merging.entry import Entry
from ..merging.runs import Runs
from ..text.csv_text import save_csv
from .changed import ABOUT, CHANGED, changed_images, save_changed
from .comparable import (
    INTERSECT,
    OtherImages,
    Unlike,
    is_tested,
    no_accuracy,
    other_ensemble,
    pair_of,
)
from .paired import SIGNIFICANT, Pair, difference_interval, holm, mcnemar

ROWS = (
    *("dataset", "protocol", "condition", "baseline", "label", "n_images", "images"),
    *("baseline_top1", "top1", "difference", "difference_ci_low", "difference_ci_high"),
    *("n_only_baseline", "n_only_label", "p", "p_holm", "significant", "seed"),
    *("baseline_flags", "flags"),
)
ALL_IMAGES = "all"
Place = tuple[str, str, str]
"""Data set (as the run calls it), protocol and condition."""


@dataclass(frozen=True)
class Comparison:
    """Labels against a baseline.

    Attributes:
        baseline: its label.
        rows: columns `ROWS`; accuracies in percent, difference (label minus baseline) and its 95 %
            bootstrap interval in percentage points, exact p values of McNemar, corrected by Holm
            over the rows of a family that are tests (`is_tested`), NaN for others. ``images`` is
            `ALL_IMAGES`, or says of how many these are the common ones; flags are of both results.
        notes: what was not compared, and why; and what must be known of the runs.
        runs, pairs: whose entries were compared, and of each row the positions of both.
        families: tests that are corrected together, by norm and whether of the worst case.
    """

    baseline: str
    rows: pd.DataFrame
    notes: tuple[str, ...]
    runs: Runs
    pairs: Sequence[tuple[int, int]]
    families: Mapping[tuple[Norm, bool], int]

    @property
    def changed(self) -> pd.DataFrame:
        """Images that only one of two has right: columns `CHANGED`.

        ``change`` is ``won`` where only the label is right, ``lost`` where only the baseline is.
        """
        changed = changed_images(self.runs, self.pairs).frame()
        about = self.rows[list(ABOUT)].iloc[changed.pop("pair")]
        return pd.concat([about.reset_index(drop=True), changed], axis=1)[list(CHANGED)]


def compare(
    runs: Runs,
    table: pd.DataFrame,
    *,
    baseline: str | None = None,
    intersect: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare every label with the baseline under every condition that both have.

    Args:
        runs: merged runs.
        table: their `results`.
        baseline: a label; the first unless given.
        intersect: compare the images that both have, where they have others.
        seed: of the bootstrap.

    Raises:
        UserError: an unknown baseline, nothing to compare, or numbers that cannot be compared; the
            message says why.
    """
    labels = list(dict.fromkeys(entry.label for entry in runs.entries))
    check_baseline(labels, baseline)
    if len(labels) < 2:
        names = ", ".join(labels) or "none"
        raise UserError(f"one label, {names}, has nothing to compare with; give another run, too")
    work = _Comparing(runs, table, baseline or labels[0], intersect, seed)
    for label in labels:
        if label != work.baseline:
            work.compare(label)
    return work.finish()


def compare_if_possible(
    runs: Runs, table: pd.DataFrame, *, baseline: str | None = None
) -> Comparison | str:
    """As `compare`; where nothing can be compared, the reason.

    Raises:
        UserError: an unknown baseline.
    """
    check_baseline([entry.label for entry in runs.entries], baseline)
    try:
        return compare(runs, table, baseline=baseline)
    except UserError as reason:
        return str(reason)


def save_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write comparison.csv and changed.csv into a folder and return their paths."""
    changed = changed_images(comparison.runs, comparison.pairs)
    rows = save_csv(comparison.rows, folder / "comparison.csv")
    return [rows, save_changed(changed, comparison.rows, folder / "changed.csv")]


def check_baseline(labels: Sequence[str], baseline: str | None) -> None:
    """Refuse a baseline that is not among the labels; None is the first of them.

    Raises:
        UserError: naming the labels.
    """
    if baseline is not None and baseline not in labels:
        raise unknown("--baseline", baseline, dict.fromkeys(labels))


class _Comparing:
    """Rows so far."""

    def __init__(
        self, runs: Runs, table: pd.DataFrame, baseline: str, intersect: bool, seed: int
    ) -> None:
        self.runs, self.baseline, self.intersect, self.seed = runs, baseline, intersect, seed
        self.statuses, self.flags = list(table["status"]), list(table["flags"])
        self.rows: list[dict[str, Any]] = []
        self.pairs: list[tuple[int, int]] = []
        self.notes: list[str] = []
        self.places: dict[str, dict[Place, int]] = {label: {} for label in table["label"]}
        for position, entry in enumerate(runs.entries):
            if not entry.condition.about.finds_radius:  # that has no accuracy
                self.places[entry.label][_place(entry)] = position

    def compare(self, label: str) -> None:
        """Compare one label under all conditions."""
        places, base = self.places[label], self.places[self.baseline]
        for place, first in base.items():
            if place in places and self._is_scored(place, label, first, places[place]):
                self._add(place, label, first, places[place])
        self.notes += _absent(label, places, self.baseline, base)

    def finish(self) -> Comparison:
        """Correct the p values over all rows that are tests of their own."""
        if not self.rows:
            why = "; ".join(dict.fromkeys(self.notes))
            raise UserError(f"nothing can be compared with {self.baseline}: {why}")
        rows = pd.DataFrame(self.rows)
        tests = rows[rows["p_holm"].notna()].groupby(["norm", "is_worst"], sort=False)["p"]
        for _, p in tests:
            rows.loc[p.index, "p_holm"] = holm(list(p))
        rows["significant"] = rows["p_holm"] < SIGNIFICANT
        notes = tuple(dict.fromkeys([*self.notes, *self.runs.notes]))
        families: Any = {family: len(p) for family, p in tests}
        return Comparison(self.baseline, rows[list(ROWS)], notes, self.runs, self.pairs, families)

    def _is_scored(self, place: Place, label: str, first: int, second: int) -> bool:
        for name, position in ((self.baseline, first), (label, second)):
            status, scored = self.statuses[position], self.runs.counts[position].scored
            if why := no_accuracy(status, scored, intersect=self.intersect):
                self.notes.append(f"{name}: {place[-1]} {why}")
                return False
        if unlike := other_ensemble(self.runs.entries[first], self.runs.entries[second]):
            self.notes.append(f"{label}: {place[-1]} is not compared: {unlike}")
        return not unlike

    def _add(self, place: Place, label: str, first: int, second: int) -> None:
        pair = self._pair(place, label, first, second)
        entry = self.runs.entries[second]
        (low, high), p = difference_interval(pair, seed=self.seed), mcnemar(pair)
        about = dict(zip(ROWS[:5], (*place, self.baseline, label), strict=True))
        self.rows.append(
            {
                **about,
                "n_images": pair.images,
                "images": self._which(pair.images, first, second),
                "baseline_top1": 100 * (pair.both + pair.only_first) / pair.images,
                "top1": 100 * (pair.both + pair.only_second) / pair.images,
                "difference": 100 * pair.difference,
                "difference_ci_low": 100 * low,
                "difference_ci_high": 100 * high,
                "n_only_baseline": pair.only_first,
                "n_only_label": pair.only_second,
                "p": p,
                "p_holm": p if is_tested(entry.condition) else np.nan,
                "norm": entry.condition.threat.norm,
                "is_worst": entry.condition.is_worst,
                "seed": entry.manifest.seed,
                "baseline_flags": self.flags[first],
                "flags": self.flags[second],
            }
        )
        self.pairs.append((first, second))

    def _pair(self, place: Place, label: str, first: int, second: int) -> Pair:
        try:
            return pair_of(self.runs, first, second, intersect=self.intersect)
        except Unlike as reason:
            hint = INTERSECT if isinstance(reason, OtherImages) else ""
            raise UserError(
                f"{label} cannot be compared with {self.baseline} under {place[-1]}: {reason}{hint}"
            ) from reason

    def _which(self, images: int, first: int, second: int) -> str:
        totals = [self.runs.entries[entry].n_expected for entry in (first, second)]
        if totals == [images, images]:
            return ALL_IMAGES
        if not self.intersect:
            return f"{images} of {totals[0]}, the rest unreadable"
        return f"{images} common of {totals[0]} and {totals[1]}"


def _place(entry: Entry) -> Place:
    """Under the data set's own name: other images under it are a reason, not another place."""
    return entry.evaluation.dataset.name, entry.condition.protocol, entry.condition.id


def _absent(
    label: str, of_label: dict[Place, int], baseline: str, base: dict[Place, int]
) -> Iterator[str]:
    for name, has, expected in ((label, of_label, base), (baseline, base, of_label)):
        places: dict[tuple[str, str], list[str]] = {}
        for dataset, protocol, condition in expected:
            if (dataset, protocol, condition) not in has:
                places.setdefault((dataset, protocol), []).append(condition)
        for (dataset, protocol), conditions in places.items():
            yield f"{name} has no {', '.join(conditions)} on {dataset} under protocol {protocol}"
