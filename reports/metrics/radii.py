"""Accuracy at every budget, from each image's distance to the nearest adversarial example."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.condition import CLEAN
from robustbench_twicing.conditions.threat_model import TOLERANCE, ThreatModel

from ..merging.ensembles import Attacks, counted
from ..merging.entry import Entry
from ..merging.runs import Runs
from ..merging.strongest import UNITS
from ..statistics.intervals import Interval, median_interval, wilson_band
from ..text.csv_text import save_csv

RECORD, BEST = "record", "best"
ROUNDING = 1e-6
"""Relative difference of two distances that is none."""
Place = tuple[str, str, str]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RadiusCurve:
    """Distances of one model on one data set, from one source.

    Attributes:
        label: of the model.
        dataset: its name.
        protocol: under which adversarial examples were looked for.
        norm: that distances are measured in.
        source: ``record``, the nearest wrong row of all attacks at some budget; the name of an
            attack that finds distances; or ``best``, the smallest of these.
        radii: of each image (n,), ascending, in the norm's unit (`UNITS`): 0 where the network is
            wrong on clean pixels, infinite where no example is known.
        reach: upper end of the area, in the same unit.
    """

    label: str
    dataset: str
    protocol: str
    norm: Norm
    source: str
    radii: Floats
    reach: float = 0.0

    def right(self, budgets: Floats) -> NDArray[np.int64]:
        """Images whose radius is larger than each budget, in the norm's unit."""
        return len(self.radii) - np.searchsorted(self.radii, budgets, side="right")

    @property
    def steps(self) -> Floats:
        """The budgets at which the curve falls, ascending, with 0 before them."""
        return np.unique(np.append(self.radii[np.isfinite(self.radii)], 0.0))

    @property
    def area(self) -> float:
        """Mean accuracy over the budgets from 0 to `reach`, or at 0 alone, in [0, 1]; exact."""
        if not self.reach:
            return float((self.radii > 0).mean())
        return float(np.minimum(self.radii, self.reach).mean() / self.reach)


def radius_curves(runs: Runs, table: pd.DataFrame) -> list[RadiusCurve]:
    """The curves of every model, data set and protocol with scored attacks.

    The record radius costs nothing: it is the smallest distance that was measured over an image's
    wrong rows, and no larger than the budget under which it was found, which rounding may exceed.
    It is an upper bound, loose where budgets lie far apart, and where attacks were left out for
    images that others had broken.

    Args:
        runs: merged runs.
        table: `results` of them, or some rows, whose index is the position of the entry. Without an
            attack of status ``ok`` or ``survivors`` there is no curve, and none of an attack that
            failed; what it found before counts in the others.
    """
    curves = [
        RadiusCurve(*place, norm, str(source), np.sort(radii.to_numpy(float)))
        for place, norm, entries in _groups(runs, table)
        for source, radii in _radii(runs, entries).items()
    ]
    reaches = {of: _reach(runs, of, curves) for of in {_axis(curve) for curve in curves}}
    return [RadiusCurve(**{**vars(curve), "reach": reaches[_axis(curve)]}) for curve in curves]


def radii_above_sweep(runs: Runs, statuses: Sequence[str]) -> dict[int, int]:
    """Images whose radius is larger than a budget at which an attack broke them, by entry.

    Args:
        runs: merged runs.
        statuses: of every entry, as in `results`.
    """
    above = {}
    for _, _, entries in _groups(runs, pd.DataFrame({"status": statuses})):
        conditions = {entry: runs.entries[entry].condition for entry in entries if entries[entry]}
        finders = [entry for entry in conditions if conditions[entry].about.finds_radius]
        radii = _radii(runs, entries) if finders else pd.DataFrame()
        for entry in finders if RECORD in radii else []:
            missed = radii[conditions[entry].attack] > radii[RECORD] * (1 + ROUNDING)
            above[entry] = int(missed.sum())
    return above


def curve_points(curves: Sequence[RadiusCurve]) -> pd.DataFrame:
    """curves.csv: accuracy in percent from one budget to the next, with 95 % Wilson intervals.

    Columns ``label, dataset, protocol, norm, unit, source, n_images, eps, n_right, top1,
    top1_ci_low, top1_ci_high``: of n images, ``n_right`` have a radius above ``eps``.
    """
    frames = []
    for curve in curves:
        right, count = curve.right(curve.steps), len(curve.radii)
        low, high = wilson_band(right, count)
        columns = {"eps": curve.steps, "n_right": right, "top1": 100 * right / count}
        interval = {"top1_ci_low": 100 * low, "top1_ci_high": 100 * high}
        frames.append(pd.DataFrame({**_about(curve), **columns, **interval}))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def radius_summaries(curves: Sequence[RadiusCurve]) -> pd.DataFrame:
    """radii.csv: medians with 95 % intervals from order statistics, and the area under each curve.

    Columns ``label, dataset, protocol, norm, unit, source, n_images``, ``n_right`` (on clean
    pixels), ``n_unknown`` (no example was found), ``median, median_ci_low,
    median_ci_high`` over all images and ``median_right, ...`` over those that are right, ``area``
    in percent and ``area_to``, the end of its range. A median is infinite where no
    example is known of half the images.
    """
    return pd.DataFrame([_summary(curve) for curve in curves])


def save_radii(curves: Sequence[RadiusCurve], folder: Path) -> list[Path]:
    """Write curves.csv and radii.csv into a folder, where there are curves; their paths."""
    if not curves:
        return []
    frames = {"curves.csv": curve_points(curves), "radii.csv": radius_summaries(curves)}
    return [save_csv(frame, folder / name) for name, frame in frames.items()]


def _summary(curve: RadiusCurve) -> dict[str, object]:
    right = curve.radii[curve.radii > 0]
    medians = {"median": curve.radii, "median_right": right}
    row: dict[str, object] = {
        **_about(curve),
        "n_right": len(right),
        "n_unknown": int(np.isinf(curve.radii).sum()),
    }
    for name, radii in medians.items():
        interval = median_interval(radii) if len(radii) else Interval(np.nan, np.nan)
        row |= {
            name: float(np.median(radii)) if len(radii) else np.nan,
            f"{name}_ci_low": interval.low,
            f"{name}_ci_high": interval.high,
        }
    return {**row, "area": 100 * curve.area, "area_to": curve.reach}


def _about(curve: RadiusCurve) -> dict[str, object]:
    place = {"label": curve.label, "dataset": curve.dataset, "protocol": curve.protocol}
    unit = {"norm": curve.norm, "unit": UNITS[curve.norm][1], "source": curve.source}
    return {**place, **unit, "n_images": len(curve.radii)}


def _groups(runs: Runs, table: pd.DataFrame) -> Iterator[tuple[Place, Norm, Mapping[int, bool]]]:
    """By place, entries and whether they are scored, where there is a scored attack among them.

    Patches have none: nobody measures how large a patch an image needs.
    """
    groups: dict[Place, dict[int, bool]] = {}
    for position, status in zip(map(int, table.index), table["status"], strict=True):
        entry = runs.entries[position]
        is_attack = entry.condition.is_attacked and not entry.condition.is_worst
        if is_attack or entry.condition.attack == CLEAN:
            is_scored = status in ("ok", "survivors")
            groups.setdefault(entry.key[:3], {})[position] = is_scored
    for place, entries in groups.items():
        conditions = [runs.entries[entry].condition for entry in entries if entries[entry]]
        attacked = [condition for condition in conditions if condition.is_attacked]
        if attacked and attacked[0].threat.norm != "patch":
            yield place, attacked[0].threat.norm, entries


def _radii(runs: Runs, entries: Mapping[int, bool]) -> pd.DataFrame:
    """One column a source, one row an image; entries are as `_groups` gives them."""
    conditions = {entry: runs.entries[entry].condition for entry in entries}
    members = {entry: of for entry, of in conditions.items() if of.is_attacked}
    clean = [entry for entry in entries if entry not in members]
    tally, number = of_attacks = counted(runs, Attacks(clean, members))
    distances, columns = tally.nearest(number), dict[str, Floats]()
    if distances is None:
        return pd.DataFrame(columns)
    budgets = [condition.eps for condition in members.values() if condition.is_sweep]
    if budgets:
        columns[RECORD] = distances.swept
    rows = of_attacks.ensemble.members
    columns |= {rows[row].attack: radii for row, radii in distances.radii.items()}
    allowing = [
        _allowing(radii, budgets, rows[row].threat) for row, radii in distances.radii.items()
    ]
    best = np.minimum.reduce([*columns.values(), *allowing])
    radii = pd.DataFrame({**columns, BEST: best}, range(len(distances.indices)), dtype=float)
    radii.loc[distances.was_wrong] = 0.0
    scored = {
        RECORD if of.is_sweep else of.attack for entry, of in members.items() if entries[entry]
    }
    return radii[[name for name in columns if name in scored] + [BEST] * (len(columns) > 1)]


def _allowing(radii: Floats, budgets: Sequence[Fraction], threat: ThreatModel) -> Floats:
    """The smallest budget at which the worst case counts an example, in the norm's unit.

    That is up to `TOLERANCE` below the radius; infinite where all budgets are smaller, and where
    they are of another space than the radii (n,).
    """
    scale = UNITS[threat.norm][0]
    ends = sorted(float(eps * scale) for eps in set(budgets) if threat.space == "pixel")
    allowing = np.array([*ends, np.inf])
    return allowing[np.searchsorted(allowing + TOLERANCE * scale, radii)]


def _axis(curve: RadiusCurve) -> tuple[str, str, Norm]:
    """Curves of all labels have one range."""
    return curve.dataset, curve.protocol, curve.norm


def _reach(runs: Runs, axis: tuple[str, str, Norm], curves: Sequence[RadiusCurve]) -> float:
    """The largest budget that was asked for, in pixels; without one, the largest distance."""
    budgets = [
        _budget(entry)
        for entry in runs.entries
        if entry.condition.is_sweep and entry.key[1:3] == axis[:2]
    ]
    largest = max(budgets, default=0.0)
    return largest or float(max(curve.steps.max() for curve in curves if _axis(curve) == axis))


def _budget(entry: Entry) -> float:
    """In pixels and the norm's unit, of the channel where it is largest."""
    threat = entry.condition.threat
    scale = max(entry.evaluation.preprocessing.std) if threat.space == "normalized" else 1.0
    return float(entry.condition.eps * UNITS[threat.norm][0]) * scale
