"""What a sweep of budgets says beyond its points: the area under it, and where images break."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from robustbench_twicing.conditions.budgets import PREFIXES, Norm, parse_budget
from robustbench_twicing.conditions.condition import CLASS_SUBSET, CLEAN, TRANSFER
from robustbench_twicing.conditions.threat_model import PROTOCOLS, norm_of
from robustbench_twicing.records.schema import Status

from ..merging.runs import Runs

SWEEP = ["label", "dataset", "protocol", "attack"]
"""What one sweep is of."""
WRITTEN: Mapping[Norm, str] = {"linf": "{:g}/255", "l2": "{:g}", "patch": "{0:g}x{0:g} px"}
"""How budgets are written, by their norm."""


def budget_curves(table: pd.DataFrame) -> pd.DataFrame:
    """The points of every sweep, with the clean images as its budget 0.

    Args:
        table: `results`, or some rows of them.

    Returns:
        ``label, dataset, protocol, attack, budget`` (see `budget_numbers`), ``entry`` (the position
        of the row in ``table``), ``status`` and the accuracies, sorted by budget within a sweep.
        Where a sweep has a budget 0 of its own, the clean row is left out.
    """
    rows = table.assign(entry=np.arange(len(table)), budget=budget_numbers(table))
    attacked = rows[is_swept(rows)]
    clean = rows[rows["attack"] == CLEAN]
    sweeps = attacked[SWEEP].drop_duplicates()
    own_zero = attacked.loc[attacked["budget"] == 0, SWEEP].drop_duplicates()
    lacking = sweeps.merge(own_zero, how="left", on=SWEEP, indicator=True)
    lacking = lacking.loc[lacking["_merge"] == "left_only", SWEEP]
    zeros = lacking.merge(clean.drop(columns="attack"), on=SWEEP[:3], how="inner")
    points = pd.concat([zeros, attacked], ignore_index=True)[
        [*SWEEP, "budget", "entry", "status", "top1", "top5", "robust_top1"]
    ]
    order = {sweep: place for place, sweep in enumerate(sweeps.itertuples(index=False, name=None))}
    keys = points[SWEEP].apply(tuple, axis=1).map(order) if len(points) else points["entry"]
    return (
        points.assign(place=keys)
        .sort_values(["place", "budget"], kind="stable")
        .drop(columns="place")
        .reset_index(drop=True)
    )


def is_swept(table: pd.DataFrame) -> "pd.Series[bool]":
    """Which rows of `results` are points of a curve, as `Condition.is_sweep` says of conditions."""
    return budget_numbers(table).notna() & ~table["attack"].isin([CLEAN, CLASS_SUBSET, TRANSFER])


def budget_numbers(table: pd.DataFrame) -> "pd.Series[float]":
    """The budget of each row as a number; 0 of clean images.

    In 255ths of L-infinity, as a length of L2, as the side of a patch in pixels. NaN for what has
    none: corrupted images, radii.
    """
    numbers = table["eps_255"].astype(float)
    for norm in PREFIXES:
        is_of_norm = table["norm"] == norm
        read = partial(_number, norm=norm)
        of_norm = table["eps"].where(is_of_norm).map(read, na_action="ignore").astype(float)
        numbers = numbers.where(~is_of_norm, of_norm)
        numbers = numbers.mask(is_of_norm & (table["attack"] == CLEAN), 0.0)
    return numbers


def _number(eps: str, norm: Norm) -> float:
    return float(parse_budget(eps, norm))


def budget_name(budget: float, protocol: str) -> str:
    """A number of `budget_numbers` as it is written: ``4/255``, ``0.5`` of L2, ``32x32 px``."""
    return WRITTEN[norm_under(protocol)].format(budget)


def norm_under(protocol: str) -> Norm:
    """Of budgets under a protocol; L-infinity under one that is not known."""
    return norm_of(protocol) if protocol in PROTOCOLS else "linf"


def area_under_curve(budgets: Sequence[float], accuracies: Sequence[float]) -> float:
    """Mean accuracy over a range of budgets: trapezoids, divided by the range.

    Args:
        budgets: ascending, any unit; the first is 0 where the clean images are the start.
        accuracies: at those budgets, any unit.

    Returns:
        In the accuracies' unit; the accuracy itself for one budget; NaN where one is missing.

    Raises:
        ValueError: budgets that do not ascend, or other numbers of both.
    """
    x, y = np.asarray(budgets, float), np.asarray(accuracies, float)
    if x.shape != y.shape or (np.diff(x) <= 0).any():
        raise ValueError("budgets must ascend, with one accuracy each")
    if len(x) < 2:
        return float(y[0]) if len(x) else float("nan")
    return float(np.trapezoid(y, x) / (x[-1] - x[0]))


def breaking_budgets(runs: Runs, table: pd.DataFrame) -> pd.DataFrame:
    """The smallest budget of a sweep under which each image is wrong.

    An image that is wrong on clean pixels breaks at 0; one that is right at every budget of the
    sweep never broke, which is infinity here, not the largest budget. Sweeps with a budget that
    was not scored are left out: an image might have broken there.

    Args:
        runs: merged runs.
        table: `results` of them.

    Returns:
        One row per sweep and image: ``label, dataset, protocol, attack, image, target`` and
        ``breaking_eps_255``, in the protocol's own space (a length under L2, a side
        under patch, not x 255).
    """
    sweeps = list(_broken_by_sweep(runs, table))
    if not sweeps:
        return pd.DataFrame(columns=[*SWEEP, "image", "target", "breaking_eps_255"])
    return pd.concat(sweeps, ignore_index=True)


def _broken_by_sweep(runs: Runs, table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    for sweep, points in budget_curves(table).groupby(SWEEP, sort=False):
        if (points["status"] != "ok").any():
            continue
        rows = []
        for entry, eps in zip(points["entry"], points["budget"], strict=True):
            images = runs.of(int(entry))
            images = images.loc[images["status"] == Status.OK, ["image", "target", "rank"]]
            rows.append(images.assign(eps=np.where(images["rank"] != 0, eps, np.inf)))
        grouped = pd.concat(rows).groupby("image", observed=True, sort=False)
        broken = grouped.agg(target=("target", "first"), breaking_eps_255=("eps", "min"))
        broken = broken.reset_index()
        for place, (name, value) in enumerate(zip(SWEEP, sweep, strict=True)):
            broken.insert(place, name, str(value))
        yield broken
