"""Matrices of models by conditions: what stands above the columns, and how cells are coloured."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import isnan
from typing import Any, NamedTuple

from robustbench_twicing.conditions.condition import CLEAN, WORST

from ...imagenet_c.corruption_rows import CORRUPTED
from ...metrics.sweeps import budget_numbers, is_swept
from ...plots import attack_title
from ...text.condition_names import by_function
from ..places import Attacks, Place

DEEPEST = 20
"""Points from which on a difference has the full colour."""


class Head(NamedTuple):
    """What stands above a column.

    Attributes:
        condition: its id.
        group: of neighbouring columns: an attack, a corruption.
        text: of this column: a budget, a severity; empty where the group says all.
        words: both, in a sentence.
        is_first: of its group.
    """

    condition: str
    group: str
    text: str
    words: str
    is_first: bool = True


def heads(place: Place, attacks: Attacks) -> list[Head]:
    """The columns of a place, each attack's and corruption's beside each other, mildest first.

    Args:
        place: see `places`.
        attacks: see `Runs.attacks`.
    """
    rows = place.rows.assign(budget=budget_numbers(place.rows), swept=is_swept(place.rows))
    rows = rows.drop_duplicates("condition")
    short = by_function(rows["condition"])
    named = [_head(row, place, attacks, short) for row in rows.to_dict("records")]
    groups = list(dict.fromkeys(head.group for _, head in named))
    named.sort(key=lambda item: (groups.index(item[1].group), item[0]))
    ordered = [head for _, head in named]
    return [
        head._replace(is_first=position == 0 or ordered[position - 1].group != head.group)
        for position, head in enumerate(ordered)
    ]


def _head(
    row: Mapping[Any, Any], place: Place, attacks: Attacks, short: Mapping[str, str]
) -> tuple[float, Head]:
    """With its place in its group."""
    condition, attack = str(row["condition"]), str(row["attack"])
    if attack in CORRUPTED:
        _, corruption, severity = condition.split("/")
        name = corruption_name(corruption)
        return float(severity), Head(condition, name, severity, f"{name} {severity}")
    if row["swept"]:
        budget = float(row["budget"])
        title = "worst case" if attack == WORST else attack_title(place.rows, attack, attacks)
        if title == attack:  # somebody's own
            title = short[condition].rpartition("@")[0]
        title = title[:1].upper() + title[1:]
        return budget, Head(condition, title, f"{budget:g}", f"{title} at {place.at(budget)}")
    name = "Clean" if condition == CLEAN else short[condition]
    return 0.0, Head(condition, name, "", name)


def corruption_name(corruption: str) -> str:
    """``Gaussian noise``, ``JPEG compression``."""
    words = corruption.replace("_", " ").replace("jpeg", "JPEG")
    return words[:1].upper() + words[1:]


def grouped(columns: Sequence[Head]) -> list[tuple[str, int]]:
    """The groups in order, and how many columns each has."""
    return [(group, len(list(same))) for group, same in groupby(columns, lambda head: head.group)]


def tint(difference: float) -> str:
    """The class that colours a difference in points: ``p1`` to ``p20``, ``n1`` to ``n20``."""
    depth = min(DEEPEST, round(abs(difference)))
    return f"{'p' if difference > 0 else 'n'}{depth}" if depth else ""


def digits(values: Sequence[float]) -> int:
    """Decimals that the cells of a matrix need: none where all numbers are whole, else one."""
    return int(any(not isnan(value) and abs(value - round(value)) > 1e-6 for value in values))


def signed(value: float, decimals: int) -> str:
    """``+4``, ``−7``, ``0``."""
    text = f"{abs(value):.{decimals}f}"
    if not float(text):
        return text
    return f"{'+' if value > 0 else '−'}{text}"
