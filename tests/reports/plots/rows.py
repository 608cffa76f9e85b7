"""Tables of results with numbers that are chosen."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from reports import COLUMNS
from reports.statistics.intervals import wilson
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.records.first_version import about_of

IMAGES = 200
NO_BUDGET = {"clean": 0.0}
"""Clean images have one; other images have none."""
TEXT = {"checkpoint": "random:0", "checkpoint_sha256": "", "weights": "", "flags": ""}


def row(label: str, condition: str, right: int | None, **values: Any) -> dict[str, Any]:
    """One row: right images of `IMAGES` in top-1, ten more in top-5; None: it failed."""
    attack, _, budget = condition.partition("@")
    images = values.get("n_images", IMAGES)
    scored = right is not None
    return dict.fromkeys(COLUMNS) | {
        **TEXT,
        "label": label,
        "model": label,
        "dataset": "photos",
        "source": "files",
        "n_images": images,
        "protocol": "pixel",
        "condition": condition,
        "attack": attack.partition("/")[0],
        "eps_255": float(budget.removesuffix("/255"))
        if budget.endswith("/255")
        else NO_BUDGET.get(condition),
        "norm": budget.partition(":")[0] if ":" in budget else "linf",
        "eps": budget or None,
        "steps": {"fgsm": 1, "pgd": 20}.get(attack),
        "top1": 100 * right / images if right is not None else None,
        "top5": 100 * min(images, right + 10) / images if right is not None else None,
        "status": "ok" if scored else "error",
        **values,
    }


def table(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The rows as `reports.metrics.results` gives them."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS))


def sweep(label: str, attack: str, right: Mapping[str, int | None], **values: Any) -> pd.DataFrame:
    """Clean (budget ``0``) and an attack's budgets in 255ths, with right images of each."""
    return table(
        row(label, "clean" if budget == "0" else f"{attack}@{budget}/255", count, **values)
        for budget, count in right.items()
    )


def patches(label: str, attack: str, right: Mapping[int, int]) -> pd.DataFrame:
    """Clean images (side 0) and an attack's patches, with right images of each side."""
    clean: dict[str, Any] = {"protocol": "patch", "norm": "patch", "eps_255": None}
    return table(
        row(label, f"{attack}@patch:{side}", count, protocol="patch")
        if side
        else row(label, "clean", count, **clean)
        for side, count in right.items()
    )


def joined(*tables: pd.DataFrame) -> pd.DataFrame:
    """Tables under each other."""
    return pd.concat(tables, ignore_index=True)


def attacks_of(rows: pd.DataFrame) -> dict[str, Condition]:
    """What `Runs.attacks` says of the attacks in some rows."""
    names = dict.fromkeys(rows["attack"])
    return {
        name: Condition(
            name,
            name,
            white_box=name in ("fgsm", "pgd", "patch"),
            about=About(**about_of(name, "")),
        )
        for name in names
    }


def with_intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns that `sweep` leaves empty."""
    scored = rows["status"] == "ok"
    counts = zip(rows["top1"], rows["n_images"], scored, strict=True)
    ranges = [
        wilson(round(top1 * n / 100), n) if ok else (float("nan"),) * 2 for top1, n, ok in counts
    ]
    low, high = ([100 * bounds[end] for bounds in ranges] for end in (0, 1))
    return rows.assign(top1_ci_low=low, top1_ci_high=high)
