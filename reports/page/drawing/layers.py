"""Numbers by layer, as small plots: a line for each model, a thin one where it is attacked."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from robustbench_twicing.files.printable import count

from .curve import Drawing, Models, Point, Series
from .geometry import line, thinned, ticks_around
from .panels import Panel, View
from .sweeps import CELL, LEFT, MARGIN, MOST_SERIES, SMALL, TOP, UNDER

LOW, HIGH = "low", "high"
"""Columns that hold a 95 % interval, where it is known."""


class Quantity(NamedTuple):
    """A number of each layer.

    Attributes:
        column: of the table.
        title: of the plot.
        about: beside the title.
        floor, ceiling: that the axis has at least.
    """

    column: str
    title: str
    about: str
    floor: float = 0.0
    ceiling: float = 0.0


def layer_panel(rows: pd.DataFrame, quantity: Quantity, models: Models) -> Iterator[Panel]:
    """Draw a number over the layers; nothing where no layer has it.

    Args:
        rows: columns ``label``, ``under``, ``layer``, ``n_images``, that of the quantity, and
            perhaps `LOW` and `HIGH`; one row of each layer of a line.
        quantity: what is drawn.
        models: how they are shown.
    """
    rows = rows[rows["layer"] != "norm"].dropna(subset=quantity.column)
    if rows.empty:
        return
    layers = list(dict.fromkeys(rows["layer"]))
    numbered = sorted((layer for layer in layers if layer.isdigit()), key=int)
    others = [layer for layer in layers if not layer.isdigit()]
    # Blocks of class attention stand behind the others, and a line has a gap before them.
    places = {layer: place for place, layer in enumerate(numbered)}
    places |= {layer: place + 1 for place, layer in enumerate(others, len(numbered))}
    short = {layer: layer.replace("class-", "c") for layer in places}
    labels = models.drawn(set(rows["label"]), max(1, MOST_SERIES // rows["under"].nunique()))
    number = rows["label"].nunique()
    notes = [f"Of {number} models {len(labels)} are drawn."] if len(labels) < number else []
    if others:
        notes.append(f"{', '.join(short[layer] for layer in others)}: class attention.")
    rows = rows[rows["label"].isin(labels)]
    rows = rows.assign(x=rows["layer"].map(places.__getitem__), part=rows["layer"].str.isdigit())
    ticks = [(float(place), short[layer]) for layer, place in places.items()]
    drawing = _drawing(rows, labels, quantity, models, ticks)
    alt = f"{quantity.title}, {quantity.about}, over the layer, {len(drawing.series)} series"
    yield Panel(quantity.title, quantity.about, [View("", drawing, None, alt)], notes)


def _drawing(
    rows: pd.DataFrame,
    labels: Sequence[str],
    quantity: Quantity,
    models: Models,
    ticks: Sequence[tuple[float, str]],
) -> Drawing:
    right, bottom = SMALL.width - MARGIN, SMALL.height - UNDER
    ends = [column for column in (LOW, HIGH) if column in rows]
    values = rows[[quantity.column, *ends]].to_numpy(float)
    low, high = min(quantity.floor, np.nanmin(values)), max(quantity.ceiling, np.nanmax(values))
    grid = ticks_around(float(low), float(high))
    first, last = ticks[0][0], ticks[-1][0]

    def across(x: float) -> float:
        return LEFT + (right - LEFT) * (0.5 if first == last else (x - first) / (last - first))

    def up(value: float) -> float:
        return bottom - (bottom - TOP) * (value - grid[0]) / (grid[-1] - grid[0])

    rows = rows.assign(px=[across(x) for x in rows["x"]])
    for column in (quantity.column, *ends):
        rows[f"{column} py"] = [up(value) for value in rows[column]]
    series = [
        _series(curve, label, str(under), quantity.column, models)
        for label in labels
        for under, curve in rows[rows["label"] == label].groupby("under", sort=False)
    ]
    xs = [across(x) for x, _ in ticks]
    shown = thinned(xs, 8 + CELL * max(len(text) for _, text in ticks))
    texts = [(xs[place], ticks[place][1]) for place in shown]
    return Drawing(
        SMALL, right, bottom, [(up(tick), f"{tick:g}") for tick in grid], texts, "", series
    )


def _series(curve: pd.DataFrame, label: str, under: str, column: str, models: Models) -> Series:
    name = f"{label} under {under}" if under else label
    path, ranges, points = "", "", []
    for _, part in curve.groupby("part", sort=False):
        path += line(list(zip(part["px"], part[f"{column} py"], strict=True)))
    for row in curve.to_dict("records"):
        more = ""
        if LOW in row and not np.isnan(row[LOW]):
            ranges += f"M{row['px']:.1f} {row[f'{LOW} py']:.1f}V{row[f'{HIGH} py']:.1f}"
            more = f", 95 % interval {row[LOW]:.3f} to {row[HIGH]:.3f}"
        images = count(int(row["n_images"]), "image")
        text = f"{name}, layer {row['layer']}: {row[column]:.3f}{more} ({images})"
        points.append(Point(row["px"], row[f"{column} py"], text))
    kind = f"{models.kind(label)}{' thin' if under else ''}"
    return Series(models.number(label), kind, models.marker(label), path, ranges, points)
