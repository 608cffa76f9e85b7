"""Where two run folders differ: tables, records, costs and settings, compared as exact text.

Every number is written as Python writes it, from which its bits can be had back, so equal texts are
equal bits (of a NaN only that it is one). Nothing of the project is imported: its modules move, and
what they write must not.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

CSV_FILES = ("results.csv", "corruption_scores.csv")
SETTINGS, RECORDS, METADATA = "run.json", "records", "metadata of parts"
KEYS = ("part", "label", "dataset", "protocol", "condition", "image", "number", "corruption")
"""Columns that name a row, as far as a table has them."""
META = b"robustbench_twicing"
WORDING = frozenset({"notes", "messages", "about"})
"""Entries of run.json that hold words for readers: sentences, and what reports say of a thing."""
WRITTEN_LATER = frozenset({"limit_seed", "score_8bit", "norm", "schema", "mode", "draws"})
"""Entries of run.json that the earlier commit did not write; records say what came of them."""
UNLIKE_ANYWAY = frozenset({"seconds", "belongs_to", "schema"})
"""In the metadata of parts: time, a hash of run.json with its sentences, and the version."""
COLUMNS_ADDED = {
    CSV_FILES[0]: (
        *("norm", "eps", "l2_max", "l0_max", "n_attacked", "goal_hit", "goal_hit_right"),
        *("draws", "top1_mean", "top1_sd", "preprocessing"),
    ),
    CSV_FILES[1]: ("flags",),
    RECORDS: ("l2", "l0", "radius", "goal", "witness", "draws_right"),
}
"""That the earlier commit did not have."""
NOT_THE_SAME = ("worst@", "spsa@")
"""How conditions begin that are left out: worst cases over attacks, which the earlier commit did
not have, and SPSA, whose random signs are others by now (CHANGELOG.md)."""
NOT_COMPARED = re.compile(r"mixed-versions|not-monotone|noise-as-strong|8bit-[+-]1-right")
"""Flags about versions, and those that are said of fewer conditions than then: not of noise, not
where noise fools no image, not of one image (CHANGELOG.md); tests hold when they are said."""


class Comparison(NamedTuple):
    """What came of comparing two folders.

    Attributes:
        name: what was compared.
        rows: of results.csv.
        records: rows of all Parquet parts.
        differences: a line each; empty where the folders are alike.
        wording: whether only sentences in run.json differ.
    """

    name: str
    rows: int
    records: int
    differences: tuple[str, ...]
    wording: bool = False

    def lines(self) -> Iterator[str]:
        """What to print."""
        yield from (f"DIFFERENT: {self.name}: {line}" for line in self.differences)
        if not self.differences:
            yield f"same: {self.name}: {self.rows} rows, {self.records} records"
        if self.wording:
            yield f"wording differs: {self.name}: words in {SETTINGS}"


def summary(comparisons: Sequence[Comparison]) -> str:
    """How much of what was compared is identical."""
    alike = [comparison for comparison in comparisons if not comparison.differences]
    return (
        f"{len(alike)} of {len(comparisons)} comparisons identical: "
        f"{sum(one.rows for one in alike)} rows, {sum(one.records for one in alike)} records"
    )


def compare_folders(name: str, there: Path, here: Path, *, csv_only: bool = False) -> Comparison:
    """Compare what two run folders hold.

    Args:
        name: what is compared.
        there: the folder that is right.
        here: the other one.
        csv_only: leave out what the folder of a report does not have: settings and parts.
    """
    tables = [_csv_tables(folder) for folder in (there, here)]
    wording = False
    if not csv_only:
        for folder, named in zip((there, here), tables, strict=True):
            named |= {SETTINGS: _settings(folder, WORDING | WRITTEN_LATER), **_part_tables(folder)}
    left, right = tables
    for table, added in COLUMNS_ADDED.items():
        if table in left and table in right:
            new = [column for column in added if column not in left[table]]
            right[table] = right[table].drop(columns=new, errors="ignore")
    if not csv_only and left[SETTINGS].equals(right[SETTINGS]):
        wording = not _settings(there, WRITTEN_LATER).equals(_settings(here, WRITTEN_LATER))
    differences = [
        f"{table}: {line}"
        for table in dict.fromkeys([*left, *right])
        for line in differing(left.get(table), right.get(table))
    ]
    rows, records = (len(left.get(table, ())) for table in (CSV_FILES[0], RECORDS))
    if not rows:
        differences.append(f"{CSV_FILES[0]} has no rows there")
    return Comparison(name, rows, records, tuple(differences), wording)


def differing(there: pd.DataFrame | None, here: pd.DataFrame | None) -> Iterator[str]:
    """A line for every column in which two tables of text differ, naming the first such row."""
    if there is None or here is None:
        yield f"only {'here' if there is None else 'there'}"
    elif not there.index.equals(here.index):
        yield _unlike_rows(there.index, here.index)
    else:
        for column in dict.fromkeys([*there, *here]):
            if column not in there or column not in here:
                yield f"column {column}, only {'there' if column in there else 'here'}"
                continue
            left, right = there[column].to_numpy(), here[column].to_numpy()
            unlike = (left != right).nonzero()[0]
            if unlike.size:
                first = unlike[0]
                yield (
                    f"column {column}, first difference: {_row_name(there.index[first])}, "
                    f"{left[first]} there, {right[first]} here ({unlike.size} of {len(left)})"
                )


def _unlike_rows(there: "pd.Index[Any]", here: "pd.Index[Any]") -> str:
    for side, only in (("there", there.difference(here)), ("here", here.difference(there))):
        if len(only):
            return f"{len(only)} rows only {side}, first: {_row_name(only[0])}"
    return f"{len(there)} rows there, {len(here)} here, of the same names in another order"


def _row_name(key: Any) -> str:
    return " ".join(key) if isinstance(key, tuple) else str(key)


def _named_rows(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_index([key for key in KEYS if key in table])


def _csv_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """The CSV files that are there, without times and the flags that are not compared."""
    tables = {}
    for name in CSV_FILES:
        if (folder / name).exists():
            table = pd.read_csv(folder / name, dtype=str, keep_default_na=False)
            if "flags" in table:
                table["flags"] = table["flags"].map(_compared_flags)
            if "condition" in table:
                table = table[~table["condition"].str.startswith(NOT_THE_SAME)]
            tables[name] = _named_rows(table.drop(columns="seconds", errors="ignore"))
    return tables


def _compared_flags(flags: str) -> str:
    return ";".join(flag for flag in flags.split(";") if not NOT_COMPARED.fullmatch(flag))


def _settings(folder: Path, without: frozenset[str]) -> pd.DataFrame:
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    return pd.DataFrame({"value": flat(settings, without)}, dtype=str)


def flat(value: Any, without: frozenset[str], path: str = "") -> dict[str, str]:
    """Nested plain values as one dictionary, in order: ``evaluations.0.label`` to exact text.

    Args:
        value: as read from JSON.
        without: keys to leave out, at any depth.
        path: of the value.
    """
    if not isinstance(value, (dict, list)) or not value:
        return {path: repr(value)}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return {
        inner: text
        for key, entry in items
        if key not in without
        for inner, text in flat(entry, without, f"{path}.{key}" if path else str(key)).items()
    }


def _part_tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Records of all parts in one table, and what stands beside the records in another."""
    records, beside = [], []
    for path in part_files(folder):
        part = path.relative_to(folder).as_posix()
        with pq.ParquetFile(path) as file:
            table = file.read(use_threads=False)
        exact = {
            name: list(map(str if name in KEYS else repr, table[name].to_pylist()))
            for name in table.column_names
        }
        if "message" in exact:
            exact["message"] = ["text" if text else "" for text in table["message"].to_pylist()]
        rows = pd.DataFrame({"part": part, **exact})
        records.append(rows[~rows["condition"].str.startswith(NOT_THE_SAME)])
        meta = {
            "types": str(pa.schema(list(table.select(_first_columns(table)).schema))),
            **flat(json.loads(table.schema.metadata[META]), UNLIKE_ANYWAY),
        }
        beside.append(pd.DataFrame({"part": part, "condition": list(meta), "value": meta.values()}))
    if not records:
        return {}
    tables = {RECORDS: records, METADATA: beside}
    return {name: _named_rows(pd.concat(frames)) for name, frames in tables.items()}


def _first_columns(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if name not in COLUMNS_ADDED[RECORDS]]


def part_files(folder: Path) -> list[Path]:
    """The parts of a run that are there in full."""
    return sorted((folder / "parts").rglob("part-*.parquet"))


def part_times(folder: Path) -> dict[Path, int]:
    """When each part of a run was written."""
    return {path: path.stat().st_mtime_ns for path in part_files(folder)}
