"""Every row of results.csv, as a table of the page."""

from typing import Any

import pandas as pd

from .grid import Cell, Grid, Head, number, plain

HEADS = (
    Head("model", is_number=False),
    Head("data set", is_number=False),
    Head("protocol", is_number=False),
    Head("condition", is_number=False),
    Head("images"),
    Head("top-1 %"),
    Head("95 % low"),
    Head("95 % high"),
    Head("top-5 %"),
    Head("robust %"),
    Head("change/255"),
    Head("status", is_number=False),
    Head("flags", is_number=False),
)


def all_results(table: pd.DataFrame) -> Grid:
    """One row a label, data set, protocol and condition.

    Args:
        table: `reports.results`.
    """
    rows = tuple(_row(row) for row in table.to_dict("records"))
    return Grid(f"All {len(rows)} results", HEADS, rows)


def _order(row: Any) -> str:
    """By attack, then by budget: as text, 0.25 would come after 0.5."""
    attack, at, _ = str(row["condition"]).partition("@")
    return f"{attack}@{row['eps_255']:012.6f}" if at else str(row["condition"])


def _row(row: Any) -> tuple[Cell, ...]:
    accuracies = ("top1", "top1_ci_low", "top1_ci_high", "top5", "robust_top1")
    return (
        plain(row["label"]),
        plain(row["dataset"]),
        plain(row["protocol"]),
        Cell(row["condition"], _order(row)),
        plain(int(row["n_images"])),
        *(number(row[name], 2) for name in accuracies),
        number(row["linf_255_max"], 3),
        plain(row["status"]),
        plain(" ".join(str(row["flags"]).split(";"))),
    )
