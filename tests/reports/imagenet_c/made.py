"""Tables of results under ImageNet-C's corruptions, and the numbers made of them by name."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, cells

Errors = Mapping[tuple[str, int], float]


def table(
    errors: Errors,
    *,
    clean: float | None = 0.2,
    status: Mapping[tuple[str, int], str] | None = None,
    **changed: Any,
) -> pd.DataFrame:
    """A table of results with these errors; cells with another status have no accuracy."""
    about = {"label": "a", "dataset": "val", "protocol": "pixel", "flags": "", "n_images": 50}
    rows = []
    if clean is not None:
        rows.append(
            {"condition": "clean", "attack": "clean", "source": "files", "top1": 100 * (1 - clean)}
        )
    for (name, severity), error in errors.items():
        collected = (status or {}).get((name, severity), "ok")
        rows.append(
            {
                "condition": f"imagenet-c/{name}/{severity}",
                "attack": "imagenet-c",
                "source": "official",
                "top1": 100 * (1 - error) if collected == "ok" else None,
                "status": collected,
            }
        )
    frame = pd.DataFrame([{**about, "status": "ok", **row} for row in rows])
    corrupted = frame["attack"] == "imagenet-c"
    for name, value in changed.items():
        frame.loc[corrupted | (name not in ("source", "flags")), name] = value
    return frame


def flat(error: float, names: tuple[str, ...] = (*MAIN, *EXTRA)) -> dict[tuple[str, int], float]:
    return dict.fromkeys(cells(names), error)


def numbers(scores: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """The rows by name: ``CE fog``, ``mCE``."""
    rows: Any = scores.to_dict("records")
    return {f"{row['number']} {row['corruption']}".strip(): row for row in rows}


def read_errors(folder: Path, name: str) -> dict[tuple[str, int], float]:
    """Of the network ``baseline`` or ``model`` of case h15."""
    with (folder / f"{name}_error.csv").open() as file:
        rows = csv.DictReader(file)
        return {(row["corruption"], int(row["severity"])): float(row["error"]) for row in rows}
