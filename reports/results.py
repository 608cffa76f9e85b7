"""results.csv: one row per label, data set, protocol and condition, from per-image records."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

from robustbench_twicing.conditions import CLEAN
from robustbench_twicing.cost import Cost
from robustbench_twicing.records import Evaluation, Records, RunFolder, Status
from robustbench_twicing.records.atomic import write_atomically

from .diagnostics import Scored, diagnose
from .intervals import wilson

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


def results(run: RunFolder) -> pd.DataFrame:
    """Counts over images, as percentages with full precision; empty where not scored.

    Accuracy is the sum of right images over the number of images, never a mean of means. A
    condition with an error row, or with images missing, has no accuracy.

    Raises:
        UserError: damaged parts, or an image counted twice.
    """
    rows = [row for evaluation in run.manifest.evaluations for row in _evaluation(run, evaluation)]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table["steps"] = pd.Series([row["steps"] for row in rows], dtype=object)  # 20, never 20.0
    return table


def write_results(run: RunFolder) -> Path:
    """Write results.csv into the run folder and return its path."""
    path = run.path / "results.csv"
    table = results(run)
    write_atomically(path, lambda file: table.to_csv(file, index=False))
    return path


def _evaluation(run: RunFolder, evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    records = run.records(evaluation)
    groups = records.frame.groupby(["protocol", "condition"], observed=True)
    by_key = {f"{protocol}:{name}": rows for (protocol, name), rows in groups}
    measured = []
    for condition in run.manifest.conditions:
        rows = by_key.get(_key(condition), records.frame.iloc[:0])
        measured.append((condition, rows, _measured(rows, int(evaluation.dataset["n_images"]))))
    scored = [
        Scored(condition, rows[rows["status"] == Status.OK])
        for condition, rows, counts in measured
        if counts["status"] == "ok"
    ]
    for condition, _, counts in measured:
        flags = _flags(evaluation, condition, records) + _diagnosis(condition, scored)
        if condition["attack"] != CLEAN and run.manifest.attack_precision != "fp32":
            flags.append(f"attack-in-{run.manifest.attack_precision}")
        yield {
            **_about(run, evaluation, condition),
            **counts,
            **_cost(records.costs.get(_key(condition), Cost())),
            "flags": ";".join(dict.fromkeys(flags)),
        }


def _key(condition: Mapping[str, Any]) -> str:
    return f"{condition['protocol']}:{condition['id']}"


def _diagnosis(condition: Mapping[str, Any], scored: list[Scored]) -> list[str]:
    same = [each for each in scored if each.condition["protocol"] == condition["protocol"]]
    return [
        flag
        for each in same
        if each.condition["id"] == condition["id"]
        for flag in diagnose(each, same)
    ]


def _about(run: RunFolder, evaluation: Evaluation, condition: Mapping[str, Any]) -> dict[str, Any]:
    record, eps = evaluation.record, Fraction(condition["eps"])
    return {
        "label": evaluation.label,
        "model": record["model"],
        "checkpoint": record["checkpoint"],
        "checkpoint_sha256": record["checkpoint_sha256"],
        "weights": record["weights"],
        "dataset": evaluation.dataset["name"],
        "source": evaluation.dataset["source"],
        "protocol": condition["protocol"],
        "condition": condition["id"],
        "attack": condition["attack"],
        "seed": run.manifest.seed,
        **_budget(condition, eps, evaluation.preprocessing["std"]),
    }


def _budget(condition: Mapping[str, Any], eps: Fraction, std: list[float]) -> dict[str, Any]:
    """Budget and step size in 255ths; the number of steps. FGSM is one step of the whole budget."""
    scale = max(std) if condition["threat"]["space"] == "normalized" else 1.0
    settings = condition["settings"]
    steps = settings.get("steps", 1 if condition["attack"] == "fgsm" else None)
    rel_step = settings.get("rel_step", 1 if condition["attack"] == "fgsm" else None)
    return {
        "eps_255": float(eps * 255),
        "eps_pixel_255_max": float(eps * 255) * scale,
        "steps": steps,
        "step_size_255": None if rel_step is None else float(eps * 255) * rel_step,
    }


def _measured(rows: pd.DataFrame, expected: int) -> dict[str, Any]:
    scored = rows[rows["status"] == Status.OK]
    skipped = int((rows["status"] == Status.SKIPPED).sum())
    counts = {"n_images": len(scored), "n_skipped": skipped}
    if (rows["status"] == Status.ERROR).any():
        return counts | {"status": "error"}
    if len(rows) < expected or scored.empty:
        return counts | {"status": "incomplete"}
    right = scored["rank"] == 0
    low, high = wilson(int(right.sum()), len(scored))
    return counts | {
        "top1": 100 * int(right.sum()) / len(scored),
        "top5": 100 * int((scored["rank"] < 5).sum()) / len(scored),
        "top1_ci_low": 100 * low,
        "top1_ci_high": 100 * high,
        "robust_top1": 100 * int((right & (scored["clean_rank"] == 0)).sum()) / len(scored),
        "linf_255_max": 255 * float(scored["linf"].max()),
        "status": "ok",
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "n_forward": cost.n_forward,
        "n_backward": cost.n_backward,
        "seconds": cost.seconds,
    }


def _flags(evaluation: Evaluation, condition: Mapping[str, Any], records: Records) -> list[str]:
    flags = [*evaluation.record["flags"], *evaluation.dataset["flags"], *records.flags]
    if evaluation.dataset["skipped"]:
        flags.append("files-left-out")
    settings = condition["settings"]
    flags += [f"{name}={settings[name]}" for name in condition["changed"]]
    return flags
