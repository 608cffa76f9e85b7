"""results.csv: one row per label, data set, protocol and condition, from per-image records."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from robustbench_twicing.conditions.condition import READOUT, Condition
from robustbench_twicing.data.imagenet import NUM_CLASSES
from robustbench_twicing.data.imagenet_c import OFFICIAL, PREFIX, SIDE
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.manifest import Evaluation
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import Status

from ..merging.merge import merge
from ..merging.runs import Entry, Runs
from ..statistics.intervals import wilson
from ..text.csv_text import save_csv
from .copied_images import copied_images
from .diagnostics import Scored, diagnose

COLUMNS = (
    "label",
    "model",
    "checkpoint",
    "checkpoint_sha256",
    "weights",
    "dataset",
    "source",
    "n_images",
    "n_skipped",
    "protocol",
    "condition",
    "attack",
    "eps_255",
    "eps_pixel_255_max",
    "steps",
    "step_size_255",
    "top1",
    "top5",
    "top1_ci_low",
    "top1_ci_high",
    "robust_top1",
    "linf_255_max",
    "n_forward",
    "n_backward",
    "seconds",
    "seed",
    "status",
    "flags",
)


def results(source: Runs | RunFolder) -> pd.DataFrame:
    """Counts over images, as percentages with full precision; empty where not scored.

    Accuracy is the sum of right images over the number of images, never a mean of means. A
    condition with an error row, or with images missing, has no accuracy.

    Args:
        source: merged runs, whose entry ``i`` is row ``i``; or one run folder.

    Raises:
        UserError: as `merge`, for a run folder.
    """
    runs = source if isinstance(source, Runs) else merge([source])
    rows = [
        {**_about(entry), **counts, **_cost(entry.cost)}
        for entry, counts in zip(runs.entries, _measured(runs), strict=True)
    ]
    flags = _diagnoses(runs, [row["status"] for row in rows])
    for row, entry, found in zip(rows, runs.entries, flags, strict=True):
        own = [*_flags(entry), *row.pop("about_files"), *found]
        row["flags"] = ";".join(dict.fromkeys(own))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table["steps"] = pd.Series([row["steps"] for row in rows], dtype=object)  # 20, never 20.0
    return table


def write_results(run: RunFolder) -> Path:
    """Write results.csv into the run folder and return its path."""
    return save_results(results(run), run.path)


def save_results(table: pd.DataFrame, folder: Path) -> Path:
    """Write `results` as results.csv into a folder and return its path."""
    return save_csv(table, folder / "results.csv")


def _about(entry: Entry) -> dict[str, Any]:
    record, condition = entry.evaluation.record, entry.condition
    return {
        "label": entry.evaluation.label,
        "model": record.model,
        "checkpoint": record.checkpoint,
        "checkpoint_sha256": record.checkpoint_sha256,
        "weights": record.weights,
        "dataset": entry.dataset,
        "source": _source(entry),
        "protocol": condition.protocol,
        "condition": condition.id,
        "attack": condition.attack,
        "seed": entry.manifest.seed,
        **_budget(condition, entry.evaluation.preprocessing.std),
    }


def _source(entry: Entry) -> str:
    """Where the images that are shown come from."""
    images = entry.condition.images
    return entry.evaluation.dataset.source if images is None else str(images.describe()["source"])


def _budget(condition: Condition, std: Sequence[float]) -> dict[str, Any]:
    """Budget and step size in 255ths; the number of steps. One step is of the whole budget."""
    if condition.images is not None:
        return dict.fromkeys(("eps_255", "eps_pixel_255_max", "steps", "step_size_255"))
    scale = max(std) if condition.threat.space == "normalized" else 1.0
    eps_255 = float(condition.eps * 255)
    default = 1 if condition.about.one_step else None
    rel_step: Any = condition.settings.get("rel_step", default)
    return {
        "eps_255": eps_255,
        "eps_pixel_255_max": eps_255 * scale,
        "steps": condition.settings.get("steps", default),
        "step_size_255": None if rel_step is None else eps_255 * rel_step,
    }


def _measured(runs: Runs) -> Iterator[dict[str, Any]]:
    """Per entry, what was counted; all entries are counted at once."""
    records, entries = runs.records, runs.entries
    status = records["status"].to_numpy()
    ok, before = status == Status.OK, records["clean_rank"].to_numpy() == 0
    rank = records["rank"].to_numpy()
    counted = {
        "rows": np.ones(len(records), bool),
        "scored": ok,
        "skipped": status == Status.SKIPPED,
        "failed": status == Status.ERROR,
        "missing": status == Status.MISSING,
        "right": ok & (rank == 0),
        "top5": ok & (rank < 5),
        "robust": ok & (rank == 0) & before,
    }
    codes = records["entry"].to_numpy()
    totals = {
        name: np.bincount(codes[mask], minlength=len(entries)) for name, mask in counted.items()
    }
    change = records["linf"].where(ok).groupby(codes).max()
    for position, entry in enumerate(entries):
        counts = {name: int(total[position]) for name, total in totals.items()}
        yield _row(entry, counts, float(change.get(position, float("nan"))))


def _row(entry: Entry, counts: Mapping[str, int], linf: float) -> dict[str, Any]:
    n_images = counts["scored"]
    row: dict[str, Any] = {"n_images": n_images, "n_skipped": counts["skipped"]}
    missing = counts["missing"]
    row["about_files"] = [f"files-missing-{missing}-of-{entry.n_expected}"] if missing else []
    if counts["failed"]:
        return row | {"status": "error"}
    if counts["rows"] - missing < entry.n_expected or n_images == 0:
        return row | {"status": "incomplete"}
    low, high = wilson(counts["right"], n_images)
    return row | {
        "top1": 100 * counts["right"] / n_images,
        "top5": 100 * counts["top5"] / n_images,
        "top1_ci_low": 100 * low,
        "top1_ci_high": 100 * high,
        "robust_top1": 100 * counts["robust"] / n_images,
        "linf_255_max": 255 * linf,
        "status": "ok",
    }


def _diagnoses(runs: Runs, statuses: Sequence[str]) -> list[list[str]]:
    """Flags of every entry, from its records and those of its fellows under other attacks."""
    scored: dict[tuple[str, str, str], dict[int, Scored]] = {}
    for position, (entry, status) in enumerate(zip(runs.entries, statuses, strict=True)):
        if status == "ok":
            rows = runs.of(position)
            rows = rows[rows["status"] == Status.OK]
            same = scored.setdefault(entry.key[:3], {})
            same[position] = Scored(entry.condition, rows)
    flags: list[list[str]] = [[] for _ in runs.entries]
    for group in scored.values():
        for position, one in group.items():
            flags[position] = diagnose(one, list(group.values()))
        for position, flag in copied_images(group).items():
            flags[position].append(flag)
    return flags


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "n_forward": cost.n_forward,
        "n_backward": cost.n_backward,
        "seconds": cost.seconds,
    }


def _flags(entry: Entry) -> list[str]:
    condition, dataset, manifest = entry.condition, entry.evaluation.dataset, entry.manifest
    flags = [*entry.evaluation.record.flags, *dataset.flags, *condition.flags]
    flags += [*_about_labels(entry), *_about_corrupted(entry), *entry.flags]
    if dataset.skipped:
        flags.append("files-left-out")
    flags += [f"{name}={condition.settings[name]}" for name in condition.changed]
    if condition.is_attacked and manifest.attack_precision != "fp32":
        flags.append(f"attack-in-{manifest.attack_precision}")
    return flags


def _about_labels(entry: Entry) -> Iterator[str]:
    """Over which logits labels of a data set's own are scored; a second look says it itself."""
    space = entry.evaluation.dataset.space
    if space is not None and entry.condition.attack != READOUT:
        yield space.convention


def _about_corrupted(entry: Entry) -> Iterator[str]:
    """What keeps corrupted images from being ImageNet-C: other classes, or small ones enlarged."""
    if entry.condition.attack != PREFIX:
        return
    images = {} if entry.condition.images is None else entry.condition.images.describe()
    classes = _classes(entry.evaluation)
    if classes not in (NUM_CLASSES, None):
        yield f"not-imagenet-c-{classes}-classes"
    side = entry.evaluation.dataset.typical_side
    enlarged = side is not None and side < images.get("side", SIDE)
    if images.get("source", OFFICIAL) != OFFICIAL and enlarged:
        yield f"not-imagenet-c-enlarged-{side}px"


def _classes(evaluation: Evaluation) -> int | None:
    """Of a data set, or where its labels do not tell, of the network; None if neither is known."""
    sizes = evaluation.record.details.get("sizes") or {}
    number: int | None = evaluation.dataset.num_classes or sizes.get("num_classes")
    return number
