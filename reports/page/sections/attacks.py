"""What attacks left of the accuracy, as small plots on one axis, with distances and transfer."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...metrics.radii import RadiusCurve
from ...plots import attack_title
from ...plots.radius_curve import best_curves
from ...tables.formats.as_html import shown
from ..drawing.curve import Models, percent
from ..drawing.panels import Panel, attack_panels, distance_panels, scored_points
from ..places import Attacks, Place

MAPS = {"top1": "top-1 accuracy, percent", "rate": "transfer rate, percent"}
"""Columns of `transfer_rates` that are shown, and their titles."""


class Heat(NamedTuple):
    """A map of percentages.

    Attributes:
        title: what they are.
        across: names of the columns.
        rows: names, with a number for each column; None where it is not known.
    """

    title: str
    across: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]


class Transfer(NamedTuple):
    """Adversarial images of each network on each: how they were made, and the maps."""

    title: str
    maps: Sequence[Heat]


class Attacked(NamedTuple):
    """The attacks on a data set under a protocol.

    Attributes:
        place: their names; empty where there is no other.
        sentence: what they left.
        panels: attacks of several budgets, of one, and distances.
        transfers: what each network's images do to the others.
    """

    place: str
    sentence: str
    panels: Sequence[Panel]
    transfers: Sequence[Transfer]


def attacked_places(
    every: Sequence[Place],
    models: Models,
    attacks: Attacks,
    radii: Sequence[RadiusCurve],
    transfers: pd.DataFrame,
) -> list[Attacked]:
    """What the section shows of each place that was attacked.

    Args:
        every: see `places`.
        models: how they are shown.
        attacks: see `Runs.attacks`.
        radii: see `radius_curves`.
        transfers: see `transfer_rates`.
    """
    curves = best_curves(radii)
    attacked = []
    for place in every:
        names = place.dataset, place.protocol
        panels = [*attack_panels(place, models, attacks)]
        for (*where, _), of_norm in curves.items():
            if tuple(where) == names:
                panels += distance_panels(of_norm, models)
        here = transfers[(transfers["dataset"] == names[0]) & (transfers["protocol"] == names[1])]
        maps = list(_transfers(here, models))
        if panels or maps:
            name = f"{names[0]}, protocol {names[1]}" if len(every) > 1 else ""
            attacked.append(Attacked(name, _sentence(place, attacks), panels, maps))
    return attacked


def _transfers(rates: pd.DataFrame, models: Models) -> Iterator[Transfer]:
    for attack, rows in rates.groupby("attack", sort=False):
        sources, targets = (list(dict.fromkeys(rows[name])) for name in ("source", "target"))
        across = [_name(label, models) for label in targets]
        maps = []
        for column, title in MAPS.items():
            numbers = rows.pivot(index="source", columns="target", values=column)
            numbers = numbers.reindex(index=sources, columns=targets)
            lines = [
                (_name(source, models), _numbers(line))
                for source, line in zip(sources, numbers.to_numpy(float), strict=True)
            ]
            if column == "top1":
                control = rows.groupby("target", sort=False)["control_top1"].first()
                noise = _numbers(control.reindex(targets).to_numpy(float))
                lines += [("random noise", noise)] if any(noise) else []
            maps.append(Heat(title, across, lines))
        yield Transfer(f"Transfer of {attack}", maps)


def _name(label: str, models: Models) -> str:
    return models.names.get(label, shown(label))


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _sentence(place: Place, attacks: Attacks) -> str:
    """Between what each attack leaves all models at its largest budget."""
    scored = scored_points(place)
    if scored.empty:
        return ""
    parts: dict[float, list[str]] = {}
    for attack, of in scored.groupby("attack", sort=False):
        budget = float(of["budget"].max())
        values = of.loc[of["budget"] == budget, "top1"].astype(float)
        low, high = percent(values.min()), percent(values.max())
        title = attack_title(place.rows, str(attack), attacks)
        verb = "" if parts.get(budget) else " leaves"
        of_images = "" if parts else " of the images right"
        span = low if low == high else f"{low} to {high}"
        parts.setdefault(budget, []).append(f"{title}{verb} {span}\u00a0%{of_images}")
    text = "; ".join(f"at {place.at(budget)}, {', '.join(of)}" for budget, of in parts.items())
    return f"{text[:1].upper()}{text[1:]}."
