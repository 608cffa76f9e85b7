"""All pictures that a table of results is good for, drawn one after the other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

import pandas as pd
from matplotlib.figure import Figure

from robustbench_twicing.conditions import CLEAN
from robustbench_twicing.records.store import folder_name

from ..corruption_error import EXTRA, MAIN
from ..corruption_rows import ATTACK, corruption_rows
from ..sweeps import budget_curves
from .corruption_bars import MOST_BARS, corruption_bars
from .corruption_map import corruption_map
from .curves import Accuracy, attack_title, budget_curve, points
from .legend import legend_height, outside_legend
from .lettering import styled
from .panel import panel
from .series import Look, looks

MOST_NAMES = 5
"""Models that a description goes through one by one."""


@dataclass(frozen=True)
class Picture:
    """A figure and what is said of it.

    Attributes:
        name: unique, as a file name without its ending.
        title: one line.
        alt: what it shows, for those who do not see it.
        figure: drawn; to be saved inside `styled`.
    """

    name: str
    title: str
    alt: str
    figure: Figure


def pictures(results: pd.DataFrame) -> Iterator[Picture]:
    """Draw accuracy over the budget of each attack, and corruption errors, where there are any.

    Data sets, protocols and, for corruptions, sources of images have pictures of their own. A model
    looks the same in all of them.

    Args:
        results: columns of `COLUMNS`.
    """
    look_of = looks(list(results["label"]))
    for _, rows in results.groupby(["dataset", "protocol"], sort=False):
        for attack in budget_curves(rows)["attack"].unique():
            yield _budgets(rows, attack, look_of)
        for _, same in rows[rows["attack"] == ATTACK].groupby("source", sort=False):
            yield from _corruptions(same, look_of)


def _budgets(rows: pd.DataFrame, attack: str, look_of: Mapping[str, Look]) -> Picture:
    ours = rows[rows["attack"].isin([CLEAN, attack])]
    ours = ours[ours["label"].isin(rows.loc[rows["attack"] == attack, "label"])]
    shown, labels = panel(ours), list(dict.fromkeys(ours["label"]))
    with styled():
        figure = Figure(figsize=(8.4, max(3.2, legend_height(labels))))
        axes = figure.subplots(1, 2, gridspec_kw={"wspace": 0.28})
        for ax, accuracy in zip(axes, get_args(Accuracy), strict=True):
            budget_curve(ax, ours, attack=attack, accuracy=accuracy, look_of=look_of)
        outside_legend(axes[-1])
    title = f"Accuracy under {attack_title(ours, attack)}: {shown.place}"
    alt = f"Two line plots, top-1 and top-5 accuracy in percent over the budget. {title}. "
    alt += _described(ours, attack, labels)
    name = folder_name(f"budget_{attack}_{shown.dataset}_{shown.protocol}")
    return Picture(name, title, alt, figure)


def _described(rows: pd.DataFrame, attack: str, labels: list[str]) -> str:
    if len(labels) > MOST_NAMES:
        return f"{len(labels)} models; their numbers are in the tables."
    said = []
    for label, curve in points(rows, attack, "top1").groupby("label", sort=False):
        scored = curve.dropna(subset="percent")
        steps = [f"{each.percent:.1f} at {each.eps_255:g}/255" for each in scored.itertuples()]
        said.append(f"{label}: top-1 {', '.join(steps) or 'not scored'}.")
    return " ".join(said)


def _corruptions(rows: pd.DataFrame, look_of: Mapping[str, Look]) -> Iterator[Picture]:
    shown, source = panel(rows), str(rows["source"].iloc[0])
    present = set(corruption_rows(rows)["corruption"])
    place = f"{shown.place}, {source}"
    ending = f"{shown.dataset}_{shown.protocol}_{source}"
    labels = list(dict.fromkeys(rows["label"]))
    for extra, names in ((False, MAIN), (True, EXTRA)):
        for first in range(0, len(labels) if present & set(names) else 0, MOST_BARS):
            some = labels[first : first + MOST_BARS]
            kind = "extra corruption error" if extra else "corruption error"
            title = f"ImageNet-C {kind}: {place}"
            alt = f"Bars of CE in percent of AlexNet's error, less is better. {title}. "
            alt += f"Models: {', '.join(some)}."
            number = f"_{first // MOST_BARS + 1}" if len(labels) > MOST_BARS else ""
            name = folder_name(f"{kind.replace(' ', '-')}_{ending}{number}")
            yield Picture(name, title, alt, _bars(rows[rows["label"].isin(some)], extra, look_of))
    for label in labels:
        with styled():
            figure = Figure(figsize=(4.2, 1.2 + 0.22 * len(present)))
            corruption_map(figure.subplots(), rows, label=label)
        title = f"Accuracy of {label} by corruption and severity: {place}"
        alt = f"Map of top-1 accuracy in percent. {title}. Its numbers are in the tables."
        yield Picture(folder_name(f"corruptions_{label}_{ending}"), title, alt, figure)


def _bars(rows: pd.DataFrame, extra: bool, look_of: Mapping[str, Look]) -> Figure:
    with styled():
        figure = Figure(figsize=(4.2 if extra else 9.0, 3.0))
        ax = figure.subplots()
        corruption_bars(ax, rows, extra=extra, look_of=look_of)
        outside_legend(ax)
    return figure
