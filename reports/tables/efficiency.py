"""The cost of forward passes, from the files of the command efficiency."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.regular import check_regular

from ..published import NOT_JUDGED, Published, published_numbers
from .table import ABOUT, Column, Table

FILE = "efficiency.csv"
SHOWN = {
    "ms_per_image_median": Column("median", "ms / image", digits=3, best="lowest"),
    "ms_p25": Column("25 %", "ms / image", digits=3),
    "ms_p75": Column("75 %", "ms / image", digits=3),
    "gmacs": Column("GMACs", digits=3, best="lowest"),
    "params_million": Column("params (M)", digits=2, best="lowest"),
    "peak_mib": Column("peak MiB", digits=1, best="lowest"),
}
"""Columns of the file, and what they are called here."""
COLUMNS = ("label", *SHOWN, "batch_size", "threads", "device")
"""Of the file, in order."""
LARGEST_FILE = 10_000_000
"""Bytes; a model is one line."""
TOGETHER = ["device", "threads", "batch_size"]
"""Times are compared where these are equal."""


def efficiency_tables(paths: Sequence[Path]) -> list[Table]:
    """One table for each device, number of threads and batch size.

    Args:
        paths: files, or folders with an efficiency.csv.

    Raises:
        UserError: no such file, other columns, or a model measured twice alike.
    """
    table = pd.concat([_read(path) for path in paths], ignore_index=True)
    twice = table[table.duplicated(["label", *TOGETHER])]
    if len(twice):
        given = ", ".join(map(str, paths))
        raise UserError(
            f"{given}: {twice['label'].iloc[0]} is measured twice alike; give one of the files"
        )
    groups = [rows for _, rows in table.groupby(TOGETHER, sort=False)]
    return [_table(rows, number) for number, rows in enumerate(groups, start=1)]


def _read(path: Path) -> pd.DataFrame:
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise UserError(f"no {FILE} at {path}; make one with: efficiency --model NAME --out {FILE}")
    check_regular(file, LARGEST_FILE)
    try:
        table = pd.read_csv(file, dtype={"label": str, "device": str}, keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read as a table: {error}") from error
    lacking = [name for name in COLUMNS if name not in table]
    if lacking:
        raise UserError(f"{file} has no column {lacking[0]}; it is not of the command efficiency")
    for name in SHOWN:
        try:
            numbers = pd.to_numeric(table[name], errors="coerce")
        except OverflowError:  # a whole number that no float holds
            numbers = pd.Series([float("nan")])
        if numbers.isna().any():
            raise UserError(f"{file} holds something that is not a number in column {name}")
        table[name] = numbers.astype(float)
    return table


def _table(rows: pd.DataFrame, number: int) -> Table:
    index = pd.Index(rows["label"], name="model")
    threads = rows["threads"].iloc[0]
    place = f"{rows['device'].iloc[0]}, {threads} {'thread' if threads == 1 else 'threads'}"
    about = pd.DataFrame("", index=index, columns=list(ABOUT))
    first = rows["ms_per_image_median"].iloc[0]
    frame = rows.set_axis(index)[list(SHOWN)].assign(
        ratio=(rows["ms_per_image_median"] / first).to_numpy()
    )
    return Table(
        "efficiency" if number == 1 else f"efficiency-{number}",
        f"Forward passes on {place}, batches of {rows['batch_size'].iloc[0]}",
        frame,
        (*SHOWN.values(), Column("ratio of medians", digits=3)),
        about,
        notes=(
            "GMACs: 10^9 multiply-adds of one image (in papers often called GFLOPs).",
            f"ratio of medians: to that of {index[0]}; the command efficiency prints the median of "
            "the ratios of single rounds.",
        ),
    )


PUBLISHED = ("ms_per_image_median", "gmacs", "params_million")
PRINTED_DIGITS = {"gmacs": 2, "params_million": 1}
"""With how many digits the paper prints what can be compared at all."""


def efficiency_beside_published(table: Table) -> Table | None:
    """Counts of multiply-adds and parameters beside the published ones; times are another device's.

    Models are known by their names, which are the default labels.
    """
    published, rows = published_numbers(), []
    for (label,), values in zip(table.row_names, table.frame.to_numpy(float), strict=True):
        for metric in PUBLISHED:
            number = published.get((label, "forward", metric))
            if number is not None:
                ours = values[list(SHOWN).index(metric)]
                verdict = _verdict(ours, metric, number)
                rows.append((label, SHOWN[metric].full_name, ours, number.value, verdict))
    if not rows:
        return None
    index = pd.MultiIndex.from_tuples([row[:2] for row in rows], names=["model", "number"])
    frame = pd.DataFrame([row[2:] for row in rows], index=index)
    frame.insert(2, "difference", frame[0] - frame[1])
    return Table(
        f"{table.name}-published",
        f"{table.title}: beside the published numbers",
        frame,
        (
            *(Column(name, digits=3) for name in ("ours", "published", "difference")),
            Column("verdict", digits=None),
        ),
        pd.DataFrame("", index=index, columns=list(ABOUT)),
        groups=tuple(row[0] for row in rows),
        notes=(
            "Published: the Twicing paper (ICLR 2025), table tab:efficiency. Times are another "
            "device's and not judged.",
        ),
    )


def _verdict(ours: float, metric: str, number: Published) -> str:
    digits = PRINTED_DIGITS.get(metric)
    if digits is None:
        return NOT_JUDGED
    return "agrees" if abs(ours - number.value) <= 0.5 * 10**-digits else "differs"
