"""Run folders made from outcomes that a test writes down, without any network."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from attacks import find_attack
from reports.merging.counts import Answers, Counts
from reports.merging.entry import Entry
from reports.merging.runs import Runs
from robustbench_twicing.conditions.budgets import parse_budget
from robustbench_twicing.conditions.condition import CLEAN, TRANSFER, Condition, clean
from robustbench_twicing.conditions.threat_model import norm_of
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.models.family import ModelAbout, ModelRecord
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.first_version import about_of_model
from robustbench_twicing.records.manifest import DatasetRecord, Evaluation, Manifest
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import RECORD_SCHEMA

Outcomes = Mapping[str, Sequence[int | str | None]]
"""Condition to one rank per image (0: right), or ``error`` or ``skipped``; None: not there."""
CLASSES = 10
GOAL = 3
"""The rank of an image that is taken for the goal of a targeted attack."""
STD = (0.2, 0.25, 0.3)


def condition(name: str, protocol: str = "pixel", **settings: Any) -> Condition:
    """``clean``, ``pgd@4/255`` (under ``l2`` ``pgd@l2:0.5``) with these constants, or any other."""
    if name == CLEAN:
        return clean(protocol)
    if name.startswith(f"{TRANSFER}/"):
        eps = parse_budget(name.rpartition(":")[2], norm_of(protocol))
        return replace(clean(protocol), id=name, attack=TRANSFER, eps=eps, settings=settings)
    attack, at, budget = name.partition("@")
    if not at:
        return replace(clean(protocol), id=name, attack=name.split("/")[0])
    eps = parse_budget(budget, norm_of(protocol))
    return find_attack(attack).condition(eps, protocol, settings)


def model(label: str, **changed: Any) -> ModelRecord:
    """What a manifest says of a model: everything follows from its label."""
    digest = sha256(label.encode()).hexdigest()
    record = ModelRecord(
        model=label,
        family="deit",
        checkpoint=f"{label}.pth",
        checkpoint_sha256=digest,
        weights="plain",
        weights_sha256=digest[::-1],
    )
    record = replace(record, **changed)
    return replace(record, about=ModelAbout(**about_of_model(vars(record))))


def dataset(n_images: int, **changed: Any) -> DatasetRecord:
    """What a manifest says of a data set."""
    fingerprint = sha256(f"{n_images} images".encode()).hexdigest()
    return replace(DatasetRecord("val", "files", n_images, fingerprint, "made up", 1000), **changed)


def write_run(
    path: Path,
    outcomes: Mapping[str, Outcomes],
    *,
    protocol: str = "pixel",
    models: Mapping[str, Mapping[str, Any]] | None = None,
    data: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    shard: tuple[int, int] = (1, 1),
    images: Sequence[str] | None = None,
    **manifest: Any,
) -> RunFolder:
    """Write a run whose records say just these outcomes.

    Args:
        path: of the folder.
        outcomes: label to condition to outcomes; all labels have the same conditions.
        protocol: of all conditions.
        models: by label, what to change in `model`.
        data: what to change in `dataset`.
        settings: constants of the attacks, other than the protocol's.
        shard: write only these parts.
        images: image ids; default 0.png, 1.png, ...
        manifest: seed, part_size, device, ...
    """
    first = next(iter(outcomes.values()))
    n_images = len(next(iter(first.values()))) if first else 0
    about = dataset(n_images, **(data or {}))
    preprocessing = Preprocessing(224, 256, mean=(0.5,) * 3, std=STD)
    conditions = [condition(name, protocol, **(settings or {})) for name in first]
    counts = {condition.key: n_images for condition in conditions}
    evaluations = tuple(
        Evaluation(
            label, model(label, **(models or {}).get(label, {})), preprocessing, about, counts
        )
        for label in outcomes
    )
    options = {"seed": 0, "part_size": 4, **manifest}
    folder = RunFolder.create_or_continue(path, Manifest(evaluations, tuple(conditions), **options))
    names = images or [f"{number}.png" for number in range(n_images)]
    for evaluation in evaluations:
        for part in range(folder.part_count(evaluation)):
            if part % shard[1] == shard[0] - 1:
                size = folder.manifest.part_size
                indices = range(part * size, min((part + 1) * size, n_images))
                rows = [
                    row
                    for index in indices
                    for condition in conditions
                    for row in _row(evaluation, condition, index, names[index], outcomes)
                ]
                columns = {name: [row.get(name) for row in rows] for name in RECORD_SCHEMA.names}
                costs = {
                    condition.key: Cost(len(indices), len(indices), 0.25)
                    for condition in conditions
                }
                content = PartRecords(pa.table(columns, schema=RECORD_SCHEMA), costs)
                folder.write_part(evaluation, part, content)
    return folder


def entry(about: Condition, n_images: int = 1, label: str = "m") -> Entry:
    """An entry of no run, whose records a test makes by hand."""
    preprocessing = Preprocessing(224, 256, mean=(0.5,) * 3, std=STD)
    counts = {about.key: n_images}
    evaluation = Evaluation(label, model(label), preprocessing, dataset(n_images), counts)
    manifest = Manifest((evaluation,), (about,), 0, n_images)
    return Entry(evaluation, evaluation.dataset.name, about, manifest, Cost(), (), ())


def runs_of(entries: Sequence[Entry], records: pd.DataFrame) -> Runs:
    """Runs of these records alone: columns of `RECORD_SCHEMA`, and ``entry``."""
    return _NO_RUNS.with_entries(entries, pa.Table.from_pandas(records, preserve_index=False))


def counted(rows: pd.DataFrame) -> tuple[Counts, Answers | None]:
    """What is counted of scored images, and their answers."""
    whole = rows.assign(entry=0, status="ok")
    if "index" not in whole:
        whole["index"] = np.arange(len(whole))
    runs = runs_of([entry(clean())], whole)
    return runs.counts[0], runs.answers.get(runs.counts[0].answers)


_NO_RUNS = Runs()


def _row(
    evaluation: Evaluation,
    condition: Condition,
    index: int,
    image: str,
    outcomes: Mapping[str, Outcomes],
) -> list[dict[str, Any]]:
    own = outcomes[evaluation.label]
    outcome = own[condition.id][index]
    if outcome is None:
        return []
    before = own[CLEAN][index] if CLEAN in own else 0
    target = index % CLASSES
    row = {
        "label": evaluation.label,
        "dataset": evaluation.dataset.name,
        "protocol": condition.protocol,
        "condition": condition.id,
        "index": index,
        "image": image,
        "target": target,
    }
    if isinstance(outcome, str):
        return [row | {"status": outcome, "message": f"{image} has {outcome}"}]
    clean_rank = before if isinstance(before, int) else 0
    scale = max(STD) if condition.threat.space == "normalized" else 1
    return [
        row
        | {
            "pixels_sha256": sha256(image.encode()).hexdigest()[:16],
            "clean_rank": clean_rank,
            "clean_prediction": (target + clean_rank) % CLASSES,
            "rank": outcome,
            "rank_8bit": outcome,
            "prediction": (target + outcome) % CLASSES,
            "clean_loss": 1.0 + clean_rank,
            "loss": 2.0 + outcome,
            "gradient": 0.5,
            "goal": (target + GOAL) % CLASSES if condition.about.targeted else None,
            "linf": float(condition.eps * Fraction(scale)),
            "status": "ok",
        }
    ]
