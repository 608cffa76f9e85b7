"""Small plots of one place: its attacks on one axis, and the distances of its images."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd

from robustbench_twicing.conditions.condition import WORST
from robustbench_twicing.files.printable import count

from ...metrics.radii import RadiusCurve
from ...metrics.sweeps import budget_curves
from ...plots import attack_title
from ...plots.curves import Accuracy, points
from ...plots.radius_curve import NORMS
from ...statistics.intervals import median_interval
from ..places import Attacks, Place
from .curve import Drawing, Models, spoken
from .dots import Dots, Measured, dots
from .staircase import staircase
from .sweeps import MOST_SERIES, small_drawing


class View(NamedTuple):
    """A drawing, and the accuracy that it is of; empty where it is of none.

    Attributes:
        accuracy: see above.
        curve: where it is of lines.
        dots: where it is of dots.
        alt: what it shows, for those who do not see it.
    """

    accuracy: str
    curve: Drawing | None
    dots: Dots | None
    alt: str


class Panel(NamedTuple):
    """A small plot.

    Attributes:
        title: of it.
        about: beside the title.
        views: of its top-1 and top-5 accuracy, or the only one.
        notes: below it.
    """

    title: str
    about: str
    views: Sequence[View]
    notes: Sequence[str] = ()


def attack_panels(place: Place, models: Models, attacks: Attacks) -> Iterator[Panel]:
    """The attacks of a place, those of several budgets first.

    The worst case of all has its place on the first screen.

    Args:
        place: see `places`.
        models: how they are shown.
        attacks: see `Runs.attacks`.
    """
    scored = scored_points(place)
    numbers = scored.groupby("attack", sort=False)["budget"].nunique()
    budgets = sorted(scored["budget"].unique())
    for attack in sorted(numbers.index, key=lambda attack: numbers[attack] == 1):
        title = attack_title(place.rows, attack, attacks)
        of = points(place.rows, attack, "top1")
        constants = [text for text in of["constants"].dropna().unique() if "=" in text]
        about = ", ".join(constants) if of["constants"].nunique() == 1 else ""
        notes = [f"Constants are not the same everywhere: {'; '.join(constants)}."]
        missing = int(of["percent"].isna().sum())
        below = [*(notes if constants and not about else [])]
        below += [f"Not scored: {count(missing, 'result')}."] if missing else []
        if of["label"].nunique() > MOST_SERIES:
            below.append(f"Of {of['label'].nunique()} models {MOST_SERIES} are drawn.")
        views = list(_views(place, str(attack), title, budgets, models, numbers[attack] == 1))
        if numbers[attack] == 1:
            (budget,) = scored.loc[scored["attack"] == attack, "budget"].unique()
            title = f"{title} at {place.at(budget)}"
        yield Panel(title, about, views, below)


def scored_points(place: Place) -> pd.DataFrame:
    """Points of all attacks but the worst case."""
    curves = budget_curves(place.rows)
    is_scored = (curves["status"] == "ok") & (curves["budget"] > 0)
    return curves[is_scored & (curves["attack"] != WORST)]


def _views(
    place: Place,
    attack: str,
    title: str,
    budgets: Sequence[float],
    models: Models,
    is_single: bool,
) -> Iterator[View]:
    for accuracy in get_args(Accuracy):
        if place.rows[accuracy].notna().sum() == 0:
            continue
        name = accuracy.replace("top", "top-")
        alt = f"{name} accuracy in percent under {title}"
        if is_single:
            drawn = _dots(place, attack, accuracy, models)
            yield View(accuracy, None, drawn, f"{alt}, a dot and its interval for each model")
        else:
            curve = small_drawing(place, attack, accuracy, budgets, models)
            yield View(accuracy, curve, None, f"{alt} over the budget, {len(curve.series)} series")


def _dots(place: Place, attack: str, accuracy: Accuracy, models: Models) -> Dots:
    of = points(place.rows, attack, accuracy).dropna(subset="percent")
    cleans = of[of["budget"] == 0].set_index("label")["percent"]
    measured = [
        Measured(
            point["label"],
            point["percent"],
            point["low"],
            point["high"],
            f"{point['label']} {point['condition']}: "
            + spoken(point["percent"], point["low"], point["high"], int(point["n_images"])),
            float(cleans.get(point["label"], float("nan"))),
        )
        for point in of[of["budget"] > 0].to_dict("records")
    ]
    axis = f"{accuracy.replace('top', 'top-')} accuracy, percent; ring: clean"
    return dots(measured, models, axis, (0.0, 100.0))


def distance_panels(curves: Sequence[RadiusCurve], models: Models) -> Iterator[Panel]:
    """The share of images that is right at every distance, and the median of distances."""
    unit = NORMS[curves[0].norm]
    norm = unit.split()[0]
    alt = f"top-1 accuracy in percent over the {unit}, {len(curves)} series"
    yield Panel(
        "Robustness curve",
        f"{norm}; marker: median",
        [View("", staircase(curves, models), None, alt)],
    )
    medians = []
    for curve in curves:
        low, high = median_interval(curve.radii)
        value = float(np.median(curve.radii))
        text = f"{curve.label}, median: {value:.3g}, 95 % interval {low:.3g} to {high:.3g}"
        medians.append(Measured(curve.label, value, low, high, f"{text} ({unit})"))
    finite = [one for one in medians if np.isfinite(one.value)]
    unknown = len(medians) - len(finite)
    models_without = count(unknown, "model")
    note = f"The median of {models_without} is not known: half the images have no known example."
    if finite:
        drawn = dots(finite, models, unit, (0.0, float("inf")))
        alt = f"Median of the {unit}, a dot and its interval for each model"
        views = [View("", None, drawn, alt)]
        yield Panel("Median distance", "to the nearest example", views, [note] if unknown else [])
