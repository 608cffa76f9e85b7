"""Accuracy against the budget of one attack, for several models."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.files.printable import count

from ..metrics.row_flags import constants_in
from ..metrics.sweeps import budget_curves, norm_under
from ..statistics.intervals import wilson
from .lettering import lettering
from .panel import Panel, panel
from .series import Look, looks

Accuracy = Literal["top1", "top5"]
MOST_BANDS = 6
"""Beyond so many models, bands are only fog."""
WIDEST_LINEAR = 12
"""Largest over smallest budget beyond which the axis is logarithmic."""
MOST_TICKS = 9
AXES: Mapping[Norm, str] = {
    "linf": "x/255 in pixels",
    "l2": "L2 length of the change",
    "patch": "patch side in pixels",
}
"""What budgets are, by their norm."""


def budget_curve(
    ax: Axes,
    results: pd.DataFrame,
    *,
    attack: str,
    accuracy: Accuracy = "top1",
    look_of: Mapping[str, Look] | None = None,
    title: str = "",
) -> None:
    """Draw accuracy in percent over the budget; clean accuracy stands at budget 0.

    A condition that was not scored is a gap, and counted in the legend, which also says with which
    constants an attack was run, where it was not the same everywhere. The band is the 95 % Wilson
    interval, drawn for up to `MOST_BANDS` models.

    Args:
        ax: where to.
        results: columns of `COLUMNS`, of one data set and protocol.
        attack: name in the ``attack`` column.
        accuracy: column to draw, ``top1`` or ``top5``.
        look_of: look of each label; by order of appearance unless given.
        title: of the attack, see `attack_title`; its name unless given.

    Raises:
        UserError: several data sets or protocols, or one condition of a label twice.
    """
    shown = panel(results)
    look_of = look_of or looks(list(results["label"]))
    curves = points(results, attack, accuracy)
    bands = curves["label"].nunique() <= MOST_BANDS
    alike = curves["constants"].nunique() <= 1
    for label, rows in curves.groupby("label", sort=False):
        name = _name(str(label), rows, shown) + ("" if alike else _constants(rows))
        _draw(ax, rows, look_of[str(label)], name, band=bands)
    budgets = {0.0, *curves["budget"]}
    _budget_axis(ax, sorted(budgets), shown)
    ax.set_ylim(-2, 102)
    band = " (band: 95 % interval)" if bands and len(curves) else ""
    ax.set_ylabel(f"{accuracy.replace('top', 'top-')} accuracy, %{band}")
    named = f"{title or attack}, {accuracy.replace('top', 'top-')}"
    ax.set_title(f"{lettering(named)}\n{lettering(shown.place, 44)}")


def points(results: pd.DataFrame, attack: str, accuracy: Accuracy) -> pd.DataFrame:
    """What is drawn: ``label, protocol, budget, condition, n_images, percent, low, high``.

    As `budget_curves`; NaN where not scored. ``constants`` are those of the attack, in words; NaN
    for the clean images.
    """
    curves = budget_curves(results)
    curves = curves[curves["attack"] == attack].reset_index(drop=True)
    rows = results.iloc[curves["entry"].to_numpy(dtype=int)].reset_index(drop=True)
    percent = curves[accuracy].where(curves["status"] == "ok").astype(float)
    constants = rows["flags"].fillna("").map(constants_in).where(rows["attack"] == attack)
    drawn = curves[["label", "protocol", "budget"]].assign(
        condition=rows["condition"],
        n_images=rows["n_images"],
        percent=percent,
        constants=constants,
    )
    ranges = [_interval(point) for point in drawn.itertuples()]
    drawn[["low", "high"]] = np.array(ranges, dtype=float).reshape(-1, 2)
    return drawn


def attack_title(results: pd.DataFrame, attack: str, attacks: Mapping[str, Condition]) -> str:
    """The attack's name as papers write it, with its steps where all rows have as many.

    Args:
        results: columns of `COLUMNS`.
        attack: name in the ``attack`` column.
        attacks: conditions by name, see `Runs.attacks`; the plain name where it is not there.
    """
    title = attacks[attack].about.title if attack in attacks else ""
    steps = set(results.loc[results["attack"] == attack, "steps"].dropna())
    if len(steps) == 1:
        return title.replace("{steps}", str(int(steps.pop()))) or attack
    return title.removesuffix("-{steps}") or attack


def _interval(point: object) -> Sequence[float]:
    percent, images = point.percent, int(point.n_images)  # type: ignore[attr-defined]
    if np.isnan(percent):
        return np.nan, np.nan
    interval = wilson(round(percent * images / 100), images)
    return 100 * interval.low, 100 * interval.high


def _name(label: str, rows: pd.DataFrame, shown: Panel) -> str:
    """Label for the legend, with the number of images where it is not everybody's, and of gaps."""
    name = lettering(label)
    counts = set(rows.loc[rows["percent"].notna(), "n_images"])
    if len(counts) == 1 and "-" in shown.images:
        name += f"\n({count(counts.pop(), 'image')})"
    gaps = int(rows["percent"].isna().sum())
    return f"{name}\n({gaps} not scored)" if gaps else name


def _constants(rows: pd.DataFrame) -> str:
    """A line of the legend for each set of constants, with its budgets where there are several."""
    groups = list(rows.dropna(subset="constants").groupby("constants", sort=False))
    budgets = [", ".join(f"{eps:g}" for eps in points["budget"]) for _, points in groups]
    unit = {"linf": "/255", "l2": "", "patch": " px"}[norm_under(str(rows["protocol"].iloc[0]))]
    at = ["" if len(groups) == 1 else f"{listed}{unit}: " for listed in budgets]
    lines = [lettering(f"({which}{name})") for which, (name, _) in zip(at, groups, strict=True)]
    return "".join(f"\n{line}" for line in lines)


def _draw(ax: Axes, rows: pd.DataFrame, style: Look, name: str, *, band: bool) -> None:
    ax.plot(
        rows["budget"],
        rows["percent"],
        color=style.colour,
        marker=style.marker,
        linestyle=style.line,
        markerfacecolor=style.face,
        label=name,
        clip_on=False,
        zorder=3,
    )
    if band:
        ax.fill_between(
            rows["budget"], rows["low"], rows["high"], color=style.colour, alpha=0.13, linewidth=0
        )


def _budget_axis(ax: Axes, budgets: Sequence[float], shown: Panel) -> None:
    """A tick at each budget, or at most `MOST_TICKS` of them."""
    positive = [budget for budget in budgets if budget > 0]
    logarithmic = is_wide(positive)
    if logarithmic:
        ax.set_xscale("symlog", linthresh=positive[0], linscale=0.4)
    ticks = budgets[:: -(-len(budgets) // MOST_TICKS)]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_major_formatter(FixedFormatter([f"{tick:g}" for tick in ticks]))
    ax.xaxis.set_minor_locator(NullLocator())
    unit = budget_unit(shown.protocol)
    ax.set_xlabel(f"budget, {unit}{', log scale' if logarithmic else ''}")


def is_wide(budgets: Sequence[float]) -> bool:
    """Whether ascending budgets above 0 span so much that their axis is logarithmic."""
    return bool(budgets) and budgets[-1] / budgets[0] > WIDEST_LINEAR


def budget_unit(protocol: str) -> str:
    """What budgets are under a protocol, as an axis says it."""
    is_normalized = protocol in PROTOCOLS and PROTOCOLS[protocol].threat.space == "normalized"
    return "x/255 in normalised units" if is_normalized else AXES[norm_under(protocol)]
