"""results.csv: one row per label, data set, protocol and condition, from per-image records."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

import pandas as pd

from robustbench_twicing.records.run_folder import RunFolder

from ..merging.counts import Counts
from ..merging.entry import Entry
from ..merging.merge import merge
from ..merging.runs import Runs
from ..statistics.intervals import wilson
from ..text.csv_text import save_csv
from .diagnostics import Scored, diagnose
from .preprocessing import preprocessing_words
from .radii import radii_above_sweep
from .row_budget import constant, eps_255, eps_in_name, eps_pixel_255, step_size_255, whole
from .row_flags import copied_images, row_flags
from .worst import TOP1_ONLY, with_worst

NAN = float("nan")


class Result(NamedTuple):
    """One row of results.csv before it is written.

    Attributes:
        entry: what the row is of.
        counts: of its records.
        status: ``ok``, ``error``, ``incomplete`` or ``survivors``.
        flags: marks, separated by ``;``.
    """

    entry: Entry
    counts: Counts
    status: str
    flags: str = ""

    @property
    def has_accuracy(self) -> bool:
        """An attack that finds distances has a curve in place of one accuracy."""
        return self.status == "ok" and not self.entry.condition.about.finds_radius

    def percent(self, name: str) -> float:
        """A count as a percentage of the scored images; NaN where there is no accuracy."""
        right: int = getattr(self.counts, name)
        return 100 * right / self.counts.scored if self.has_accuracy else NAN

    def largest(self, distance: str) -> float:
        """The largest change, in a unit of the records; NaN where there is no accuracy."""
        value: float = getattr(self.counts, distance)
        return value if self.status == "ok" else NAN

    def hits(self, count: int, images: int) -> float:
        """Images taken for the goal of a targeted attack, in percent; NaN under other attacks."""
        targeted = self.entry.condition.about.targeted
        return 100 * count / images if targeted and self.has_accuracy and images else NAN

    @property
    def draws(self) -> int:
        """Draws of the network in which images are scored; in the worst case the first alone."""
        return 1 if self.entry.condition.is_worst else self.entry.manifest.draws

    @property
    def of_draws(self) -> list[float]:
        """Top-1 of each of several draws; empty where there is no accuracy."""
        return self.counts.accuracies(self.draws) if self.has_accuracy else []

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of top-1, in percent."""
        if not self.has_accuracy:
            return NAN, NAN
        low, high = wilson(self.counts.right, self.counts.scored)
        return 100 * low, 100 * high


COLUMNS: dict[str, Callable[[Result], Any]] = {
    "label": lambda row: row.entry.label,
    "model": lambda row: row.entry.evaluation.record.model,
    "checkpoint": lambda row: row.entry.evaluation.record.checkpoint,
    "checkpoint_sha256": lambda row: row.entry.evaluation.record.checkpoint_sha256,
    "weights": lambda row: row.entry.evaluation.record.weights,
    "dataset": lambda row: row.entry.dataset,
    "source": lambda row: _source(row.entry),
    "n_images": lambda row: row.counts.scored,
    "n_skipped": lambda row: row.counts.skipped,
    "protocol": lambda row: row.entry.condition.protocol,
    "condition": lambda row: row.entry.condition.id,
    "attack": lambda row: row.entry.condition.attack,
    "eps_255": lambda row: eps_255(row.entry.condition),
    "eps_pixel_255_max": lambda row: eps_pixel_255(row.entry),
    "steps": lambda row: whole(constant(row.entry.condition, "steps")),
    "step_size_255": lambda row: step_size_255(row.entry.condition),
    "top1": lambda row: row.percent("right"),
    "top5": lambda row: NAN if TOP1_ONLY in row.entry.condition.flags else row.percent("top5"),
    "top1_ci_low": lambda row: row.interval[0],
    "top1_ci_high": lambda row: row.interval[1],
    "robust_top1": lambda row: row.percent("robust"),
    "linf_255_max": lambda row: 255 * row.largest("linf"),
    "n_forward": lambda row: row.entry.cost.n_forward,
    "n_backward": lambda row: row.entry.cost.n_backward,
    "seconds": lambda row: row.entry.cost.seconds,
    "seed": lambda row: row.entry.manifest.seed,
    "status": lambda row: row.status,
    "flags": lambda row: row.flags,
    "norm": lambda row: row.entry.condition.threat.norm,
    "eps": lambda row: eps_in_name(row.entry.condition),
    "l2_max": lambda row: row.largest("l2"),
    "l0_max": lambda row: whole(row.largest("l0")),
    "n_attacked": lambda row: row.counts.scored if row.entry.condition.is_attacked else None,
    "goal_hit": lambda row: row.hits(row.counts.goal_hits, row.counts.scored),
    "goal_hit_right": lambda row: row.hits(row.counts.goal_hits_right, row.counts.before),
    "draws": lambda row: row.draws,
    "top1_mean": lambda row: mean(row.of_draws) if row.of_draws else NAN,
    "top1_sd": lambda row: stdev(row.of_draws) if row.of_draws else NAN,
    "preprocessing": lambda row: preprocessing_words(row.entry),
}
"""Columns of results.csv, in order, and what each holds; docs/results.md explains them."""
WHOLE = ("steps", "l0_max", "n_attacked")
"""Those that hold whole numbers or nothing."""


def results(source: Runs | RunFolder) -> pd.DataFrame:
    """Counts over images, as percentages with full precision; empty where not scored.

    Accuracy is the sum of right images over the number of images, never a mean of means. A
    condition with an error row, or with images missing, has no accuracy.

    Args:
        source: merged runs, whose entry ``i`` is row ``i``; or one run folder.

    Raises:
        UserError: as `merge`, for a run folder.
    """
    runs = source if isinstance(source, Runs) else with_worst(merge([source]))
    rows = [
        Result(entry, counts, _status(entry, counts))
        for entry, counts in zip(runs.entries, runs.counts, strict=True)
    ]
    flags = _diagnoses(runs, [row.status for row in rows])
    for position, count in radii_above_sweep(runs, [row.status for row in rows]).items():
        flags[position] += [f"radius-above-sweep-{count}"] if count else []
    facts = [row_flags(row.entry, row.counts.missing) for row in rows]
    marked = [
        row._replace(flags=";".join(dict.fromkeys([*about, *diagnosed])))
        for row, about, diagnosed in zip(rows, facts, flags, strict=True)
    ]
    columns: dict[str, Any] = {name: [of(row) for row in marked] for name, of in COLUMNS.items()}
    return pd.DataFrame(columns).astype(dict.fromkeys(WHOLE, "Int64"))  # 20, never 20.0


def write_results(run: RunFolder) -> Path:
    """Write results.csv into the run folder and return its path."""
    return save_results(results(run), run.path)


def save_results(table: pd.DataFrame, folder: Path) -> Path:
    """Write `results` as results.csv into a folder and return its path."""
    return save_csv(table, folder / "results.csv")


def _source(entry: Entry) -> str:
    """Where the images that are shown come from."""
    images = entry.condition.images
    return entry.evaluation.dataset.source if images is None else str(images.describe()["source"])


def _status(entry: Entry, counts: Counts) -> str:
    if counts.failed:
        return "error"
    if counts.rows - counts.missing < entry.n_expected:
        return "incomplete"
    if counts.inherited:
        return "survivors"
    return "ok" if counts.scored else "incomplete"


def _diagnoses(runs: Runs, statuses: Sequence[str]) -> list[list[str]]:
    """Flags of every entry, from its counts and those of its fellows under other attacks."""
    scored: dict[tuple[str, str, str], dict[int, Scored]] = {}
    for position, (entry, status) in enumerate(zip(runs.entries, statuses, strict=True)):
        if status == "ok":
            counts = runs.counts[position]
            trained = "random-weights" not in entry.evaluation.record.flags
            scored.setdefault(entry.key[:3], {})[position] = Scored(
                entry.condition,
                counts,
                trained,
                runs.answers.get(counts.answers),
                entry.evaluation.preprocessing.crop,
            )
    flags: list[list[str]] = [[] for _ in runs.entries]
    for group in scored.values():
        for position, result in group.items():
            flags[position] = diagnose(result, list(group.values()))
        for position, flag in copied_images(group).items():
            flags[position].append(flag)
    return flags
