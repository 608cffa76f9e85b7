"""Short names of files that a reader understands: what it is, and of what where that is open."""

import re
from collections.abc import Iterable

import pandas as pd

LONGEST = 40
"""Letters of one part of a name."""


def file_name(*parts: str) -> str:
    """Parts joined by ``-``, in letters that every system takes; no ending.

    Two names may come out alike; see `told_apart`.
    """
    safe = (re.sub(r"[^A-Za-z0-9._+]+", "-", part).strip("-.")[:LONGEST] for part in parts)
    return "-".join(filter(None, safe)) or "unnamed"


def told_apart(names: Iterable[str]) -> Iterable[str]:
    """The names in order, with a number where one was there before, capital letters or not."""
    taken: set[str] = set()
    for name in names:
        unique, number = name, 1
        while unique.casefold() in taken:
            number += 1
            unique = f"{name}-{number}"
        taken.add(unique.casefold())
        yield unique


def places(rows: pd.DataFrame, whole: pd.DataFrame, columns: Iterable[str]) -> list[str]:
    """What some rows are of, as far as that is not the same for all.

    Args:
        rows: of which the file is; alike in ``columns``.
        whole: all rows that files are made of.
        columns: like ``dataset`` and ``protocol``.
    """
    return [str(rows[name].iloc[0]) for name in columns if whole[name].nunique() > 1]
