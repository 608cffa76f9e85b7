"""How far adversarial images that were made on one network (the source) fool another (the target).

Of each source, attack and target: top-1 over all images, and the transfer rate, which is the share
of wrong answers among the images that both have right on clean pixels. The target's own images, as
the diagonal, are those of the attack itself.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.records.schema import Status

from ..merging.entry import Entry
from ..merging.runs import Runs
from ..text.csv_text import save_csv

TRANSFERS = (
    *("dataset", "protocol", "attack", "source", "source_weights", "target", "condition", "entry"),
    *("n_images", "top1", "n_both_right", "n_transferred", "rate"),
    *("n_fooled", "n_fooled_transferred", "rate_fooled", "control", "control_top1"),
)
"""Columns of `transfer_rates`; ``entry`` is a position among the entries, and not in the file."""
_SQL = f"""
WITH pairs AS (
    SELECT unnest(?) AS place, unnest(?) AS target_entry, unnest(?) AS source_entry,
        unnest(?) AS image_entry
), images AS (
    SELECT place, target.rank > 0 AS is_wrong, source.rank > 0 AS is_fooled,
        target.clean_rank = 0 AND source.clean_rank = 0 AS is_both_right
    FROM pairs
    JOIN records AS target ON target.entry = target_entry
    JOIN records AS source ON source.entry = source_entry AND source.image = target.image
    JOIN records AS shown ON shown.entry = image_entry AND shown.image = target.image
    WHERE target.status = '{Status.OK}' AND source.status = '{Status.OK}'
)
SELECT place, count(*) AS n_images,
    count(*) FILTER (NOT is_wrong) AS n_right,
    count(*) FILTER (is_both_right) AS n_both_right,
    count(*) FILTER (is_both_right AND is_wrong) AS n_transferred,
    count(*) FILTER (is_both_right AND is_fooled) AS n_fooled,
    count(*) FILTER (is_both_right AND is_fooled AND is_wrong) AS n_fooled_transferred
FROM images GROUP BY place
"""
"""Counts of pairs of entries over the images of a third, which may be fewer."""


class _Pair(NamedTuple):
    """A target under the images of a source.

    Attributes:
        target: position of the entry whose accuracy it is.
        source: position of the attack's own entry; None where its run is not given.
        shown: position of an entry of the images that count.
    """

    target: int
    source: int | None
    shown: int


def transfer_rates(runs: Runs, table: pd.DataFrame) -> pd.DataFrame:
    """One row for each source, attack and target, the sources themselves among the targets.

    Args:
        runs: merged runs.
        table: `results` of them, or some rows of these.

    Returns:
        Columns `TRANSFERS`. ``rate`` is in percent: of ``n_both_right`` images that source and
        target have right on clean pixels, ``n_transferred`` are wrong under the target;
        ``rate_fooled`` is the same of the ``n_fooled`` images among them that fooled the source.
        These are empty where the records of the source's own run are not among the runs.
        ``control_top1`` is the target's accuracy under random noise of the same budget.
    """
    scored = table["status"] == "ok"
    positions = [
        position
        for position in map(int, table.index[scored])
        if runs.entries[position].condition.is_transferred
    ]
    pairs = sorted(_pairs(runs, positions), key=partial(_place, runs))
    counts = _counts(runs, pairs)
    top1 = table["top1"]
    rows = [_row(runs, pair, counts.get(number), top1) for number, pair in enumerate(pairs)]
    return pd.DataFrame(rows, columns=list(TRANSFERS))


def save_transfers(rates: pd.DataFrame, folder: Path) -> list[Path]:
    """Write transfer.csv into a folder, where there are such rows; its path."""
    if rates.empty:
        return []
    whole = {name: "Int64" for name in rates if str(name).startswith("n_")}
    return [save_csv(rates.drop(columns="entry").astype(whole), folder / "transfer.csv")]


def _pairs(runs: Runs, positions: Sequence[int]) -> Iterator[_Pair]:
    """Of each attack on each source, the source itself and then the targets."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for position in positions:
        groups.setdefault(runs.entries[position].key[1:], []).append(position)
    for members in groups.values():
        first = runs.entries[members[0]]
        source = _source(runs, first)
        label = first.condition.settings["source_label"]
        labels = [runs.entries[position].evaluation.label for position in members]
        if source is not None and label not in labels:
            yield _Pair(source, source, members[0])
        yield from (_Pair(position, source, position) for position in members)


def _place(runs: Runs, pair: _Pair) -> list[int]:
    """Sources and targets in the order of the labels, those that are none of them behind."""
    labels = list(dict.fromkeys(entry.label for entry in runs.entries))
    source = _shown_source(runs, runs.entries[pair.shown])
    target = runs.entries[pair.target].label
    return [labels.index(label) if label in labels else len(labels) for label in (source, target)]


def _shown_source(runs: Runs, shown: Entry) -> str:
    """The name of the network whose images an entry shows."""
    label = str(shown.condition.settings["source_label"])
    names = (entry.label for entry in runs.entries if entry.evaluation.label == label)
    return next(names, label)


def _source(runs: Runs, target: Entry) -> int | None:
    """Position of the entry of the attack itself, on the same images or on all of the data set."""
    settings = target.condition.settings
    attack = f"{target.condition.protocol}:{settings['source_condition']}"
    whole, _, _ = target.evaluation.dataset.name.rpartition("/saved-")
    on_same, on_whole = list[int](), list[int]()
    for position, entry in enumerate(runs.entries):
        is_attack = entry.condition.key == attack
        is_same = is_attack or entry.condition.key == target.condition.key
        record = entry.evaluation.record
        is_source = (
            entry.evaluation.label == settings["source_label"]
            and record.weights_sha256 == settings["source_weights"]
        )
        counts = runs.counts[position]
        if not (is_same and is_source and counts.scored and not counts.failed):
            continue
        if entry.dataset == target.dataset:
            on_same.append(position)
        elif is_attack and entry.evaluation.dataset.name == whole:
            on_whole.append(position)
    return next(iter([*on_same, *on_whole]), None)


def _counts(runs: Runs, pairs: Sequence[_Pair]) -> dict[int, dict[str, int]]:
    """By number of a pair, where its source is known."""
    known = [
        (number, pair.target, pair.source, pair.shown)
        for number, pair in enumerate(pairs)
        if pair.source is not None
    ]
    if not known:
        return {}
    columns = [list(column) for column in zip(*known, strict=True)]
    entries = {entry for _, *of_pair in known for entry in of_pair}
    rows = runs.arrow_of(_SQL, entries, columns).to_pylist()
    return {row.pop("place"): row for row in rows}


def _row(
    runs: Runs, pair: _Pair, counts: dict[str, int] | None, top1: "pd.Series[float]"
) -> dict[str, Any]:
    entry, shown = runs.entries[pair.target], runs.entries[pair.shown]
    settings = shown.condition.settings
    row: dict[str, Any] = {
        "dataset": shown.dataset,
        "protocol": shown.condition.protocol,
        "attack": settings["source_condition"],
        "source": _shown_source(runs, shown),
        "source_weights": settings["source_weights"],
        "target": entry.label,
        "condition": entry.condition.id,
        "entry": pair.target,
        "n_images": runs.counts[pair.target].scored,
        "top1": top1.get(pair.target, float("nan")),
    }
    control = _control(runs, entry.label, shown)
    if control is not None:
        row |= {
            "control": runs.entries[control].condition.id,
            "control_top1": top1.get(control, float("nan")),
        }
    if counts is None:
        return row
    return {
        **row,
        **counts,
        "top1": _percent(counts["n_right"], counts["n_images"]),
        "rate": _percent(counts["n_transferred"], counts["n_both_right"]),
        "rate_fooled": _percent(counts["n_fooled_transferred"], counts["n_fooled"]),
    }


def _percent(count: int, images: int) -> float:
    return 100 * count / images if images else float("nan")


def _control(runs: Runs, label: str, shown: Entry) -> int | None:
    """Position of random noise on the same network and images at the same budget."""

    def is_control(condition: Condition) -> bool:
        same = condition.protocol == shown.condition.protocol
        return same and condition.about.control and condition.eps == shown.condition.eps

    places = (
        position
        for position, entry in enumerate(runs.entries)
        if entry.label == label and entry.dataset == shown.dataset and is_control(entry.condition)
    )
    return next(places, None)
