"""What a reader must know about some results, in sentences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.data.imagenet_c import OTHERS_PREFIX, PREFIX
from robustbench_twicing.files.printable import count, name_some

from ..merging.entry import Entry
from ..merging.runs import Runs
from .failures import MOST_NAMES, not_scored
from .flags import Topic, explain_flag
from .preprocessing import preprocessing_notes

MOST_APART = 3
"""Models from which on notes that differ in numbers alone are said once."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


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
    sentences += preprocessing_notes(entries)
    return list(dict.fromkeys([*sentences, *not_scored(runs, table), *runs.notes]))


def notes_by_topic(runs: Runs, table: pd.DataFrame) -> dict[Topic, list[str]]:
    """As `notes`, by what they are about, without those on flags; what models share is said once.

    Args:
        runs: merged runs.
        table: rows of their `results`.
    """
    entries = [runs.entries[position] for position in table.index]
    conditions = [entry.condition for entry in entries]
    of_attacks: dict[Topic, list[str]] = {"images": [], "corruptions": [], "reading": []}
    for condition in conditions:
        is_corrupted = condition.attack in (PREFIX, OTHERS_PREFIX)
        other: Topic = "reading" if condition.is_worst else "images"
        of_attacks["corruptions" if is_corrupted else other] += condition.notes
    noted = [(entry.label, note) for entry in entries for note in entry.evaluation.record.notes]
    of_data = [sentence for sentence, of_data in _remarks(entries) if of_data]
    sentences: dict[Topic, list[str]] = {
        "images": [*of_attacks["images"], *of_data, *not_scored(runs, table)],
        "corruptions": of_attacks["corruptions"],
        "models": [*_shared(noted, table["label"].nunique()), *preprocessing_notes(entries)],
        "reading": [*_protocols(table), *of_attacks["reading"], *_draws(table)],
        "runs": list(runs.notes),
    }
    return {topic: list(dict.fromkeys(lines)) for topic, lines in sentences.items()}


def _shared(noted: Sequence[tuple[str, str]], models: int) -> Iterator[str]:
    """Labels and their notes, of which those that differ in numbers alone become one of a range."""
    alike: dict[tuple[str, ...], dict[tuple[str, str], None]] = {}
    for label, note in noted:
        alike.setdefault(tuple(_NUMBER.split(note)), {})[label, note] = None
    for (start, *texts), same in alike.items():
        labels = list(dict.fromkeys(label for label, _ in same))
        if len(labels) < MOST_APART and len({note for _, note in same}) > 1:
            yield from (f"{label}: {note}" for label, note in same)
            continue
        columns = zip(*(_NUMBER.findall(note) for _, note in same), strict=True)
        ends = [sorted(set(column), key=float) for column in columns]
        numbers = [end[0] if len(end) == 1 else f"{end[0]} to {end[-1]}" for end in ends]
        text = start + "".join(map("".join, zip(numbers, texts, strict=True)))
        who = f"all {models} models" if len(labels) == models > 1 else some(labels)
        yield f"{who}: {text}"


def remarks(runs: Runs, table: pd.DataFrame) -> frozenset[str]:
    """Those of `notes` that are on models and attacks, and mark no number.

    Args:
        runs: merged runs.
        table: rows of their `results`.
    """
    entries = [runs.entries[position] for position in table.index]
    of_attacks = [note for entry in entries for note in entry.condition.notes]
    of_models = [sentence for sentence, of_data in _remarks(entries) if not of_data]
    return frozenset([*of_attacks, *of_models, *preprocessing_notes(entries)])


def brief(runs: Runs, table: pd.DataFrame) -> list[str]:
    """As `notes`, with those of models and attacks summed up: whose weights, and how many more.

    The preprocessing is said, for accuracies depend on it.

    Args:
        runs: merged runs.
        table: rows of their `results`.
    """
    entries = [runs.entries[position] for position in table.index]
    preprocessing = preprocessing_notes(entries)
    more = len(remarks(runs, table) - {*preprocessing})
    summed_up = "; ".join([*_weights(entries), *([how_many_more(more)] if more else [])])
    of_data = [sentence for sentence, of_data in _remarks(entries) if of_data]
    sentences = [*_protocols(table), *_flags(table), *of_data, *preprocessing]
    sentences += [*not_scored(runs, table), *runs.notes, *([summed_up] if summed_up else [])]
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
