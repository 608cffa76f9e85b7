"""Accuracy over the budgets of an attack: large with names beside the lines, or small without."""

from collections.abc import Mapping, Sequence

import pandas as pd
from rich.cells import cell_len

from ...plots.curves import Accuracy, budget_unit, is_wide, points
from ...text.shortening import shortened
from ..places import Place
from .curve import Drawing, Models, Point, Series, Size, percent, spoken
from .geometry import apart, budget_place, line, thinned

MOST_NAMED = 16
"""Series whose names fit beside the large drawing."""
MOST_SERIES = 64
"""Series that colour, dash, marker and filling tell apart."""
LABEL_GAP = 17
CELL = 6.9
"""Width of a letter of a name."""
SIZES = (Size("wide", 580, 476, 20), Size("narrow", 400, 430, 13))
SMALL = Size("small", 344, 236, 0)
LEFT, TOP, UNDER, MARGIN = 44, 14, 48, 12


def drawings(place: Place, models: Models) -> list[Drawing]:
    """The attack that stands for all, over its budgets, in all `SIZES`; none where it has none."""
    shown = points(place.rows, place.attack, "top1")
    labels = models.drawn(set(shown.loc[shown["percent"].notna(), "label"]), MOST_NAMED)
    return [_drawing(shown, place.budgets, size, labels, models) for size in SIZES if labels]


def small_drawing(
    place: Place, attack: str, accuracy: Accuracy, budgets: Sequence[float], models: Models
) -> Drawing:
    """One attack without names beside the lines, for all models that it was run on.

    Args:
        place: see `places`.
        attack: name in the ``attack`` column.
        accuracy: what is drawn.
        budgets: of the axis, ascending, above 0.
        models: how they are shown.
    """
    shown = points(place.rows, attack, accuracy)
    labels = models.drawn(set(shown.loc[shown["percent"].notna(), "label"]), MOST_SERIES)
    return _drawing(shown, budgets, SMALL, labels, models)


def _drawing(
    shown: pd.DataFrame,
    budgets: Sequence[float],
    size: Size,
    labels: Sequence[str],
    models: Models,
) -> Drawing:
    short = {label: shortened(models.names[label], size.letters or 4) for label in labels}
    room = 24 + CELL * (6 + max(map(cell_len, short.values()))) if size.letters else MARGIN
    right, bottom = size.width - room, size.height - UNDER
    wide = is_wide(budgets)
    xs = [
        LEFT + (right - LEFT) * budget_place(budget, budgets, wide=wide)
        for budget in (0.0, *budgets)
    ]
    at = dict(zip((0.0, *budgets), xs, strict=True))
    series = [
        _series(shown[shown["label"] == label], label, at, bottom, models) for label in labels
    ]
    if size.letters:
        series = _named(series, short, shown, right, bottom)
    texts = ["clean", *(f"{budget:g}" for budget in budgets)]
    gap = 8 + CELL * max(2, *(len(text) for text in texts[1:]))
    ticks = [(xs[number], texts[number]) for number in thinned(xs, gap)]
    axis = f"budget, {budget_unit(str(shown['protocol'].iloc[0]))}{', log scale' if wide else ''}"
    return Drawing(size, right, bottom, across(bottom), ticks, axis, series)


def across(bottom: float) -> list[tuple[float, str]]:
    """Heights and texts of the lines of the grid, for percentages."""
    texts = {100: "100 %"}
    return [(height(value, bottom), texts.get(value, str(value))) for value in range(0, 101, 20)]


def height(value: float, bottom: float) -> float:
    """Of a percentage."""
    return bottom - (bottom - TOP) * value / 100


def _series(
    shown: pd.DataFrame, label: str, at: Mapping[float, float], bottom: float, models: Models
) -> Series:
    xs = [at[budget] for budget in shown["budget"]]
    ys = [height(value, bottom) for value in shown["percent"]]
    scored = shown.dropna(subset="percent").to_dict("records")
    ranges, markers = "", []
    for point in scored:
        x, value = at[point["budget"]], point["percent"]
        low, high = (height(point[end], bottom) for end in ("low", "high"))
        ranges += f"M{x:.1f} {low:.1f}V{high:.1f}"
        interval = spoken(value, point["low"], point["high"], int(point["n_images"]))
        text = f"{label} {point['condition']}: {interval}"
        markers.append(Point(x, height(value, bottom), text))
    path = line(list(zip(xs, ys, strict=True)))
    kind, marker = models.kind(label), models.marker(label)
    return Series(models.number(label), kind, marker, path, ranges, markers)


def _named(
    series: Sequence[Series],
    names: Mapping[str, str],
    shown: pd.DataFrame,
    right: float,
    bottom: float,
) -> list[Series]:
    """With names and values at the lines' ends, moved apart."""
    ends = [one.points[-1] for one in series]
    last = shown.dropna(subset="percent").groupby("label", sort=False)["percent"].last()
    heights = apart([end.y for end in ends], LABEL_GAP, TOP, bottom)
    return [
        one._replace(
            name=name,
            value=percent(last[label]),
            y=y,
            leader=f"M{x + 6:.1f} {end:.1f}L{right + 8:.1f} {end:.1f}L{right + 18:.1f} {y:.1f}h3",
        )
        for one, (label, name), (x, end, _), y in zip(
            series, names.items(), ends, heights, strict=True
        )
    ]
