"""What a reader must know about some results, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.files.printable import count, name_some
from robustbench_twicing.records.schema import Status

from ..merging.entry import Entry
from ..merging.runs import Runs
from .flags import explain_flag

MOST_NAMES = 6
"""Conditions that one sentence names."""


def notes(runs: Runs, table: pd.DataFrame) -> list[str]:
    """Protocols, flags, notes of models and data, failures and skipped images, each said once.

    Args:
        runs: merged runs.
        table: rows of their `results`; the index says which entries they are.
    """
    entries = [runs.entries[position] for position in table.index]
    of_attacks = [note for entry in entries for note in entry.condition.notes]
    of_models = [sentence for sentence, _ in _remarks(entries)]
    sentences = [*_protocols(table), *of_attacks, *_flags(table), *of_models]
    sentences += _preprocessing(entries)
    return list(dict.fromkeys([*sentences, *_not_scored(runs, table), *runs.notes]))


def remarks(runs: Runs, table: pd.DataFrame) -> frozenset[str]:
    """Those of `notes` that are on models and attacks, and mark no number.

    Args:
        runs: merged runs.
        table: rows of their `results`.
    """
    entries = [runs.entries[position] for position in table.index]
    of_attacks = [note for entry in entries for note in entry.condition.notes]
    of_models = [sentence for sentence, of_data in _remarks(entries) if not of_data]
    return frozenset([*of_attacks, *of_models, *_preprocessing(entries)])


def brief(runs: Runs, table: pd.DataFrame) -> list[str]:
    """As `notes`, with those of models and attacks summed up: whose weights, and how many more.

    Args:
        runs: merged runs.
        table: rows of their `results`.
    """
    entries = [runs.entries[position] for position in table.index]
    more = len(remarks(runs, table))
    summed_up = "; ".join([*_weights(entries), *([how_many_more(more)] if more else [])])
    of_data = [sentence for sentence, of_data in _remarks(entries) if of_data]
    sentences = [*_protocols(table), *_flags(table), *of_data]
    sentences += [*_not_scored(runs, table), *runs.notes, *([summed_up] if summed_up else [])]
    return list(dict.fromkeys(sentences))


def how_many_more(number: int) -> str:
    """That so many notes are not printed, and how they are."""
    return f"{count(number, 'more note')} on models and attacks: --notes full"


def _protocols(table: pd.DataFrame) -> list[str]:
    return [
        f"protocol {name}: {PROTOCOLS[name].meaning}"
        for name in table["protocol"].unique()
        if name != "pixel" or table["protocol"].nunique() > 1
    ]


def _flags(table: pd.DataFrame) -> list[str]:
    common = [f"{flag}: {explain_flag(flag)}" for flag in sorted(common_flags(table))]
    return [*common, *_marked(table), *_draws(table)]


def _remarks(entries: Sequence[Entry]) -> list[tuple[str, bool]]:
    """What is noted of models and data sets, and whether it is of data: then it is always shown."""
    sentences: list[tuple[str, bool]] = []
    for entry in entries:
        label, dataset = entry.label, entry.evaluation.dataset
        sentences += [(f"{label}: {note}", False) for note in entry.evaluation.record.notes]
        sentences += [(f"{entry.dataset}: {note}", True) for note in dataset.notes]
        if left_out := ", ".join(entry.manifest.left_out):
            sentences.append((f"left out of the suite by --without: {left_out}", True))
    return sentences


WEIGHTS = {
    "bundled": "bundled weights",
    "pretrained": "timm's pretrained weights",
    "user code": "a user's own code",
}
"""What is said of checkpoints that are no files."""


def _weights(entries: Sequence[Entry]) -> list[str]:
    """How many models have weights of which kind."""
    kinds: dict[str, dict[str, None]] = {}
    for entry in entries:
        checkpoint = entry.evaluation.record.checkpoint
        if checkpoint:
            other = "random weights" if checkpoint.startswith("random:") else "weights of a file"
            labels = kinds.setdefault(WEIGHTS.get(checkpoint, other), {})
            labels[entry.label] = None
    return [f"{count(len(labels), 'model')}: {kind}" for kind, labels in kinds.items()]


def _preprocessing(entries: Sequence[Entry]) -> list[str]:
    """The constants by which images became network input; once where all models have the same."""
    texts: dict[str, dict[str, None]] = {}
    for entry in entries:
        evaluation, parts = entry.evaluation, entry.evaluation.preprocessing
        resized = "not resized" if parts.resize is None else f"resized to {parts.resize}"
        resized += " whatever their proportions" if parts.squash else ""
        text = f"{resized} ({parts.interpolation}), cropped to {parts.crop} pixels"
        if not evaluation.record.details.get("takes_pixels"):
            mean, std = (", ".join(map(str, part)) for part in (parts.mean, parts.std))
            text += f", mean {mean}, std {std}"
        texts.setdefault(text, {})[entry.label] = None
    if len(texts) == 1:
        return [f"preprocessing: {text}" for text in texts]
    return [f"preprocessing of {some(list(labels))}: {text}" for text, labels in texts.items()]


def flags_of(cell: str) -> set[str]:
    """The flags of one row."""
    return {flag for flag in cell.split(";") if flag}


def common_flags(rows: pd.DataFrame) -> set[str]:
    """Flags that every row has; they are said once and mark no row."""
    flags = [flags_of(cell) for cell in rows["flags"]]
    return set.intersection(*flags) if flags else set()


def _marked(table: pd.DataFrame) -> list[str]:
    """The flags of some rows, each with the rows that have it."""
    common = common_flags(table)
    places: dict[str, list[tuple[str, str]]] = {}
    several = table["protocol"].nunique() > 1
    for row in table[["label", "condition", "protocol", "flags"]].to_dict("records"):
        name = f"{row['condition']} {row['protocol']}" if several else row["condition"]
        for flag in sorted(flags_of(row["flags"]) - common):
            places.setdefault(flag, []).append((row["label"], name))
    labels = list(dict.fromkeys(table["label"]))
    return [f"! {flag} ({where(on, labels)}): {explain_flag(flag)}" for flag, on in places.items()]


def _draws(table: pd.DataFrame) -> Iterator[str]:
    """Mean and spread of networks whose images were scored in several draws."""
    drawn = table[table["draws"] > 1].dropna(subset="top1_mean")
    for (label, draws), rows in drawn.groupby(["label", "draws"], sort=False):
        texts = [f"{row['condition']} {mean_and_spread(row)}" for row in rows.to_dict("records")]
        yield (
            f"{label}: top-1 is of the first of {draws} draws of the network; mean ± standard "
            f"deviation over all of them: {some(texts)}."
        )


def mean_and_spread(row: "Mapping[Any, Any] | pd.Series[Any]") -> str:
    """Top-1 over the draws of a network, percent; empty where there is one draw or no accuracy."""
    if pd.isna(row["top1_mean"]):
        return ""
    return f"{row['top1_mean']:.2f} ± {row['top1_sd']:.2f}"


def where(places: Sequence[tuple[str, str]], labels: Sequence[str]) -> str:
    """Which results are meant, in short: what is alike for all models is said once.

    Args:
        places: labels and conditions.
        labels: of all models.
    """
    by_label = {label: [name for model, name in places if model == label] for label in labels}
    first, *others = by_label.values()
    if all(names == first for names in others):
        return some(first) + (" of all models" if others else "")
    return some([f"{label} {name}" for label, name in places])


def some(names: Sequence[str]) -> str:
    """All of a few names; of many the first ones, and how many more."""
    return name_some(names, MOST_NAMES)


ABSENT = ((Status.ERROR, "failed and is", 3), (Status.MISSING, "lacks images and is", 1))
"""What became of images, in words, and how many of the messages of a condition are shown."""


def _not_scored(runs: Runs, table: pd.DataFrame) -> list[str]:
    """Failures, missing files and skipped images; what failed alike is said once."""
    records = runs.unscored
    records = records[records["entry"].isin(table.index)]
    absent: dict[tuple[str, str], list[str]] = {}
    for status, what, most in ABSENT:
        rows = records[records["status"] == status]
        keys = ["label", "dataset", "condition"]
        groups = rows.drop_duplicates([*keys, "message"]).groupby(keys, observed=True, sort=False)
        for (label, _, condition), messages in groups["message"]:
            reasons = list(messages[:most])
            if 1 < most < len(messages):
                reasons.append(f"{len(messages) - most} more such messages in the records")
            for reason in reasons:
                key = (f"{label}: ", f" {what} not scored: {reason}")
                absent.setdefault(key, []).append(str(condition))
    skipped = records[records["status"] == Status.SKIPPED]
    return [
        f"{label}{some(list(dict.fromkeys(names)))}{why}" for (label, why), names in absent.items()
    ] + [f"skipped: {message}" for message in skipped["message"].unique()]
