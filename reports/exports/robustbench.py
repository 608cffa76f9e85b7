"""From runs to RobustBench's keys, and the reasons why a number is not RobustBench's.

Its numbers are accuracies over its own 5,000 images of ImageNet, the robust one under AutoAttack at
4/255. What is not exactly that has no key, and stands beside the reasons.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN, WORST
from robustbench_twicing.data.imagenet import NUM_CLASSES
from robustbench_twicing.data.known_sets.robustbench import IMAGES, are_robustbench_images
from robustbench_twicing.data.known_sets.table import KNOWN_SETS
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.printable import count
from robustbench_twicing.records.manifest import DatasetRecord
from robustbench_twicing.records.schema import Status

from ..merging.counts import Counts
from ..merging.entry import Entry
from ..merging.runs import Runs
from ..merging.sessions import VERSIONS, read_sessions
from ..metrics.flags import by_weight
from ..metrics.notes import flags_of
from ..statistics.intervals import wilson
from .model_info import Measured, ModelInfo
from .paper import Paper

EPS, PROTOCOL = Fraction(4, 255), "pixel"
AUTOATTACK, PACKAGE, VERSION = "autoattack", "pyautoattack ", "standard"
MISLEADING = ("probabilities", "not-deterministic", "black-box-beats-white-box")
"""Flags of evaluations that RobustBench would call unreliable, beside zero gradients."""
CORRUPTED = "corrupted-as-clean"
NO_NUMBER = {
    "error": "failed on some images",
    "incomplete": "was not evaluated on all images",
    "survivors": "was evaluated only on images that other attacks had left (survivors mode)",
}
"""What the status of a row without accuracy means."""


class _Row(NamedTuple):
    """A row of results.csv."""

    position: int
    entry: Entry
    counts: Counts
    status: str
    flags: str

    @property
    def is_at_budget(self) -> bool:
        return self.entry.condition.is_sweep and self.entry.condition.eps == EPS

    @property
    def members(self) -> tuple[str, ...]:
        """The conditions that it is of: those of a worst case, or its own."""
        condition = self.entry.condition
        return tuple(str(condition.settings.get("members", condition.id)).split(", "))

    def percent(self, count: int) -> str | None:
        """Of the images, with two decimals, which RobustBench's own writer drops."""
        return f"{100 * count / self.counts.scored:.2f}" if self.status == "ok" else None

    @property
    def interval(self) -> tuple[str, str] | None:
        if self.status != "ok":
            return None
        low, high = wilson(self.counts.robust, self.counts.scored)
        return f"{100 * low:.2f}", f"{100 * high:.2f}"


def model_infos(runs: Runs, results: pd.DataFrame, paper: Paper | None) -> dict[str, ModelInfo]:
    """What RobustBench's file of every label would say.

    Args:
        runs: merged runs, with their worst cases.
        results: `results` of them.
        paper: facts; None where nobody tells any.

    Raises:
        UserError: a label that was not evaluated on ImageNet, or on several such data sets.
    """
    rows: dict[str, list[_Row]] = {}
    columns = results[["status", "flags"]].itertuples(index=False, name=None)
    for position, (status, flags) in enumerate(columns):
        entry = runs.entries[position]
        row = _Row(position, entry, runs.counts[position], status, flags)
        rows.setdefault(entry.label, []).append(row)
    facts = paper or Paper()
    return {
        label: ModelInfo(**facts.facts_of(label), **_measured(runs, label, of_label))
        for label, of_label in rows.items()
    }


def _measured(runs: Runs, label: str, rows: Sequence[_Row]) -> dict[str, Any]:
    """The keys that no paper tells."""
    rows = _on_imagenet(label, rows)
    first = rows[0].entry
    rows = [row for row in rows if row.entry.condition.protocol == PROTOCOL]
    clean = next((row for row in rows if row.entry.condition.attack == CLEAN), None)
    attacks = {row.entry.condition.attack: row for row in rows if row.is_at_budget}
    autoattack = attacks.get(AUTOATTACK)
    alone = (row for row in attacks.values() if not row.entry.condition.about.control)
    robust = attacks.get(WORST) or next(alone, None)  # no worst case of one attack
    images = _images(runs, autoattack or clean or robust)
    flags = {flag for row in rows for flag in flags_of(row.flags)}
    problems = [*_against_autoattack(autoattack), *_against_images(images, flags)]
    values: dict[str, Any] = {
        "dataset": "imagenet",
        "eps": "4/255",
        "clean_acc": None if clean is None else clean.percent(clean.counts.right),
    }
    if autoattack is not None and not problems:
        settings = autoattack.entry.condition.settings
        values["autoattack_acc"] = autoattack.percent(autoattack.counts.robust)
        values["footnote"] = f"{settings['package']}, blocks of {settings.get('block')}"
    unreliable = _unreliable(flags, attacks.values())
    if unreliable is not None:
        values["unreliable"] = unreliable
    return values | {
        "robustbench_twicing": Measured(
            robust_acc=None if robust is None else robust.percent(robust.counts.robust),
            members=() if robust is None else robust.members,
            n=len(images),
            interval=None if robust is None else robust.interval,
            fingerprint=first.evaluation.dataset.fingerprint,
            seed=(first if robust is None else robust.entry).manifest.seed,
            versions=_versions(rows),
            flags=tuple(sorted(flags, key=by_weight)),
            why_not=(*problems, *_against_numbers(clean, robust)),
        )
    }


def _on_imagenet(label: str, rows: Sequence[_Row]) -> list[_Row]:
    """Those of clean and attacked images of ImageNet's classes, which are of one data set.

    Raises:
        UserError: there is none, or there are several.
    """
    by_dataset: dict[str, list[_Row]] = {}
    for row in rows:
        condition = row.entry.condition
        if _is_imagenet(row.entry.evaluation.dataset) and (
            condition.is_attacked or condition.id == CLEAN
        ):
            by_dataset.setdefault(row.entry.dataset, []).append(row)
    if not by_dataset:
        names = ", ".join(dict.fromkeys(row.entry.dataset for row in rows))
        raise UserError(
            f"--format robustbench: {label} was evaluated on {names}; RobustBench's board at 4/255 "
            "is of ImageNet and its 1000 classes, so leave this run out"
        )
    if len(by_dataset) > 1:
        raise UserError(
            f"--format robustbench: {label} was evaluated on {' and '.join(by_dataset)}, and a "
            "file is about one of them; give runs of that alone"
        )
    return next(iter(by_dataset.values()))


def _is_imagenet(dataset: DatasetRecord) -> bool:
    """Whether labels are ImageNet's 1000, and the images no test set of another name."""
    is_shifted = dataset.name in KNOWN_SETS and KNOWN_SETS[dataset.name].shifted
    return dataset.num_classes == NUM_CLASSES and dataset.space is None and not is_shifted


def _images(runs: Runs, row: _Row | None) -> list[tuple[str, int]]:
    """Ids and labels of the images that a row is about, without those that could not be read."""
    if row is None:
        return []
    sql = f"SELECT image, target FROM records WHERE status <> '{Status.SKIPPED}' AND target >= 0"
    names, labels = (column.to_pylist() for column in runs.arrow_of(sql, [row.position]).columns)
    return list(zip(names, labels, strict=True))


def _against_autoattack(row: _Row | None) -> Iterator[str]:
    """Why a row is not RobustBench's attack."""
    if row is None:
        yield f"AutoAttack was not run at 4/255 under protocol {PROTOCOL}"
        return
    condition = row.entry.condition
    is_authors = str(condition.settings.get("package", "")).startswith(PACKAGE)
    if not is_authors or condition.code_sha256:
        yield f"{condition.id} is not by the code of AutoAttack's authors ({PACKAGE.strip()})"
    elif (version := condition.settings.get("version")) != VERSION:
        yield f"AutoAttack was run as version {version}, and RobustBench takes {VERSION}"
    precision = row.entry.manifest.attack_precision
    if precision != "fp32":
        yield f"AutoAttack computed its passes in {precision}, and RobustBench's does in fp32"
    if row.status in NO_NUMBER:
        yield f"{condition.id} {NO_NUMBER[row.status]}"


def _against_images(images: Sequence[tuple[str, int]], flags: Collection[str]) -> Iterator[str]:
    """Why images are not RobustBench's; corrupted ones may have the same names."""
    if CORRUPTED in flags:
        yield f"the images seem to be corrupted ones (flag {CORRUPTED})"
    if len(images) != IMAGES:
        evaluated = count(len(images), "image was", "images were")
        yield f"{evaluated} evaluated, and RobustBench's numbers are of {IMAGES:,}"
    elif not are_robustbench_images(images):
        yield f"the {IMAGES:,} images are not RobustBench's: names or labels are others"


def _against_numbers(clean: _Row | None, robust: _Row | None) -> Iterator[str]:
    """Why accuracy on clean images, or the robust one, is not known."""
    if clean is None:
        yield f"clean images were not evaluated under protocol {PROTOCOL}"
    elif clean.status in NO_NUMBER:
        yield f"{clean.entry.condition.id} {NO_NUMBER[clean.status]}"
    if robust is None:
        yield f"nothing was attacked at 4/255 under protocol {PROTOCOL}"
    elif robust.status in NO_NUMBER and robust.entry.condition.attack != AUTOATTACK:
        yield f"{robust.entry.condition.id} {NO_NUMBER[robust.status]}"


def _unreliable(flags: Collection[str], attacks: Iterable[_Row]) -> bool | None:
    """Whether the evaluation misleads; None where nothing without gradients was tried."""
    if any(flag in MISLEADING or flag.startswith("zero-gradient-") for flag in flags):
        return True
    tried = [row.entry.condition for row in attacks if row.status == "ok"]
    return False if any(condition.about.gradient_free for condition in tried) else None


def _versions(rows: Sequence[_Row]) -> dict[str, str]:
    """By name; of processes that differ in one all of them, as ``2.3.0 and 2.4.0``."""
    folders = dict.fromkeys(folder for row in rows for folder in row.entry.folders)
    versions: dict[str, dict[str, None]] = {}
    for session in (session for folder in folders for session in read_sessions(folder)):
        for name, version in session.facts(VERSIONS).items():
            if version:
                versions.setdefault(name, {})[version] = None
    return {name: " and ".join(different) for name, different in versions.items()}
