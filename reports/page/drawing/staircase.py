"""Accuracy at every budget, as small staircases that fall at each image's distance."""

from collections.abc import Sequence

import numpy as np

from ...metrics.radii import RadiusCurve
from ...plots.radius_curve import NORMS
from .curve import Drawing, Models, Point, Series
from .geometry import ticks_around
from .sweeps import LEFT, MARGIN, MOST_SERIES, SMALL, UNDER, across, height


def staircase(curves: Sequence[RadiusCurve], models: Models) -> Drawing:
    """Draw the share of images whose radius exceeds each budget, with a marker at the median.

    A median beyond the end of the axis has no marker.

    Args:
        curves: of one data set, protocol and norm, one a label.
        models: how they are shown.
    """
    right, bottom = SMALL.width - MARGIN, SMALL.height - UNDER
    end = max(curve.reach for curve in curves) or 1.0  # all radii are 0 where no image was right
    scale = (right - LEFT) / end
    of = {curve.label: curve for curve in curves}
    labels = models.drawn(of, MOST_SERIES)
    series = [_series(of[label], end, scale, bottom, models) for label in labels]
    ticks = [
        (LEFT + scale * value, f"{value:g}") for value in ticks_around(0.0, end) if value <= end
    ]
    return Drawing(SMALL, right, bottom, across(bottom), ticks, NORMS[curves[0].norm], series)


def _series(curve: RadiusCurve, end: float, scale: float, bottom: float, models: Models) -> Series:
    steps = curve.steps[curve.steps <= end]
    heights = [height(100 * right / len(curve.radii), bottom) for right in curve.right(steps)]
    path = f"M{LEFT} {heights[0]:.1f}"
    # Steps that are one in the drawing are one step.
    places = {
        f"{LEFT + scale * step:.1f}": y for step, y in zip(steps[1:], heights[1:], strict=True)
    }
    path += "".join(f"H{x}V{y:.1f}" for x, y in places.items()) + f"H{LEFT + scale * end:.1f}"
    median = float(np.median(curve.radii))
    points = []
    if median <= end:
        text = f"{curve.label}, median: {median:.3g} ({NORMS[curve.norm]})"
        points.append(Point(LEFT + scale * median, height(50, bottom), text))
    kind, marker = models.kind(curve.label), models.marker(curve.label)
    return Series(models.number(curve.label), kind, marker, path, "", points)
