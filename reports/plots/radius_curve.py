"""Accuracy at every budget, as a staircase that falls at each image's distance."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robustbench_twicing.conditions.budgets import Norm

from ..metrics.radii import BEST, RadiusCurve
from ..statistics.intervals import wilson_band
from ..text.file_names import file_name
from .curves import MOST_BANDS
from .lettering import lettering, styled
from .panel import legend_height, outside_legend
from .picture import Picture
from .series import Look

NORMS = {"linf": "L-infinity distance, x/255 in pixels", "l2": "L2 distance, in pixels in [0, 1]"}


def radius_curve(
    ax: Axes, curves: Sequence[RadiusCurve], *, look_of: Mapping[str, Look], title: str = ""
) -> None:
    """Draw the share of images whose radius is larger than each budget, in percent.

    The band is the pointwise 95 % Wilson interval, drawn for up to `MOST_BANDS` models.

    Args:
        ax: where to.
        curves: of one data set, protocol and norm, one a label.
        look_of: look of each label.
        title: of the axes.
    """
    end = max(curve.reach for curve in curves)
    for curve in curves:
        steps = curve.steps[curve.steps <= end]
        right = curve.right(steps)
        budgets, right = np.append(steps, end), np.append(right, right[-1])
        percent = 100 * right / len(curve.radii)
        look = look_of[curve.label]
        ax.step(
            budgets,
            percent,
            where="post",
            color=look.colour,
            linestyle=look.line,
            label=lettering(curve.label),
        )
        if len(curves) <= MOST_BANDS:
            low, high = wilson_band(right, len(curve.radii))
            ax.fill_between(
                budgets,
                100 * low,
                100 * high,
                step="post",
                color=look.colour,
                alpha=0.13,
                linewidth=0,
            )
    ax.set_xlim(0, end or 1)  # all radii are 0 where no image was right
    ax.set_ylim(-2, 102)
    ax.set_xlabel(NORMS[curves[0].norm])
    band = " (band: 95 % interval)" if len(curves) <= MOST_BANDS else ""
    ax.set_ylabel(f"top-1 accuracy, %{band}")
    ax.set_title(lettering(title))


def best_curves(
    curves: Sequence[RadiusCurve],
) -> dict[tuple[str, str, Norm], list[RadiusCurve]]:
    """By data set, protocol and norm, each label's curve of the nearest examples that are known."""
    best = {
        (curve.dataset, curve.protocol, curve.norm, curve.label): curve
        for curve in sorted(curves, key=lambda curve: curve.source == BEST)
    }
    axes: dict[tuple[str, str, Norm], list[RadiusCurve]] = {}
    for (dataset, protocol, norm, _), curve in best.items():
        axes.setdefault((dataset, protocol, norm), []).append(curve)
    return axes


def radius_pictures(
    curves: Sequence[RadiusCurve], look_of: Mapping[str, Look]
) -> Iterator[Picture]:
    """One picture for each data set, protocol and norm, from the nearest examples that are known.

    Args:
        curves: see `radius_curves`.
        look_of: look of each label.
    """
    axes = best_curves(curves)
    for (dataset, protocol, norm), shown in axes.items():
        several = [
            part
            for place, part in enumerate((dataset, protocol))
            if len({axis[place] for axis in axes}) > 1
        ]
        title = f"Robustness curve, {NORMS[norm].split()[0]}: {dataset}, protocol {protocol}"
        with styled():
            figure = Figure(figsize=(6.4, max(3.2, legend_height([c.label for c in shown]))))
            ax = figure.subplots()
            radius_curve(ax, shown, look_of=look_of, title=title)
            outside_legend(ax)
        described = " ".join(
            f"{curve.label}: median {np.median(curve.radii):.3g}, area {100 * curve.area:.1f}."
            for curve in shown
        )
        alt = f"Staircases of accuracy over the distance to the nearest example. {described}"
        yield Picture(file_name("radius", norm, *several), title, alt, figure)
