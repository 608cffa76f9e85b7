"""Flags of all results, by kind."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from ..metrics.flags import by_weight, explain_flag

MOST_ROWS = 6
"""Results that are named beside a flag."""


class Flag(NamedTuple):
    """A kind of flag.

    Attributes:
        name: the one of this kind with the largest number in it, and how many others there are.
        meaning: one sentence on that one.
        results: how many results have one of this kind.
        where: which results have which.
    """

    name: str
    meaning: str
    results: int
    where: tuple[str, ...]


def flags_by_kind(table: pd.DataFrame) -> Iterator[Flag]:
    """The kinds of flags in a table of results, the gravest first."""
    rows = table.assign(flag=table["flags"].str.split(";")).explode("flag")
    rows = rows[rows["flag"] != ""]
    for _, same in rows.groupby(rows["flag"].map(lambda flag: by_weight(flag)[0])):
        kinds = sorted(same["flag"].unique(), key=_size, reverse=True)
        others = f" and {len(kinds) - 1} like it" if len(kinds) > 1 else ""
        results = same.index.nunique()
        if results == len(table) and not others:
            where = ["On all results."]
        else:
            where = [_where(flag, same[same["flag"] == flag]) for flag in kinds]
        meaning = explain_flag(kinds[0])
        yield Flag(f"{kinds[0]}{others}", meaning, results, tuple(where))


def _size(flag: str) -> tuple[float, str]:
    found = re.search(r"\d+(\.\d+)?", flag.removeprefix("8bit"))
    return (float(found[0]) if found else 0.0, flag)


def _where(flag: str, rows: pd.DataFrame) -> str:
    names = [f"{label} {name}" for label, name in rows[["label", "condition"]].to_numpy()]
    more = f" and {len(names) - MOST_ROWS} more" if len(names) > MOST_ROWS else ""
    return f"{flag}: {', '.join(names[:MOST_ROWS])}{more}"
