"""All pictures that a table of results is good for, drawn one after the other."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from robustbench_twicing.conditions.condition import CLEAN, Condition

from ..imagenet_c.corruption_rows import CORRUPTED
from ..metrics.radii import RadiusCurve
from ..metrics.sweeps import budget_curves, budget_name
from ..text.file_names import file_name, places
from .corruption_bars import corruption_pictures
from .curves import Accuracy, attack_title, budget_curve, points
from .lettering import styled
from .panel import legend_height, outside_legend, panel
from .picture import Picture
from .radius_curve import radius_pictures
from .series import Look, looks
from .transfer_map import transfer_pictures

PLACE = ("dataset", "protocol")
MOST_NAMES = 5
"""Models that a description goes through one by one."""


def pictures(
    results: pd.DataFrame,
    *,
    scores: pd.DataFrame | None = None,
    attacks: Mapping[str, Condition] | None = None,
    radii: Sequence[RadiusCurve] = (),
    transfers: pd.DataFrame | None = None,
    accuracies: Sequence[Accuracy] = ("top1", "top5"),
) -> Iterator[Picture]:
    """Draw accuracy over the budget of each attack, and corruption errors, where there are any.

    Data sets, protocols and, for corruptions, sources of images have pictures of their own. A model
    looks the same in all of them.

    Args:
        results: columns of `COLUMNS`.
        scores: `corruption_scores` of these results, in units of AlexNet unless given.
        attacks: see `Runs.attacks`; attacks are called by their plain names unless given.
        radii: see `radius_curves`; no robustness curves are drawn unless given.
        transfers: see `transfer_rates`; no maps of them are drawn unless given.
        accuracies: that stand beside each other over the budget.
    """
    look_of = looks(list(results["label"]))
    for _, rows in results.groupby(["dataset", "protocol"], sort=False):
        for attack in budget_curves(rows)["attack"].unique():
            name = file_name("accuracy", attack, *places(rows, results, PLACE))
            title = attack_title(rows, attack, attacks or {})
            yield _budgets(rows, attack, title, look_of, name, accuracies)
    yield from _of_corruptions(results, scores, look_of)
    yield from radius_pictures(radii, look_of)
    if transfers is not None:
        yield from transfer_pictures(transfers)


def _of_corruptions(
    results: pd.DataFrame, scores: pd.DataFrame | None, look_of: Mapping[str, Look]
) -> Iterator[Picture]:
    corrupted = results[results["attack"].isin(CORRUPTED)]
    groups = corrupted.groupby([*PLACE, "source"], sort=False)
    for _, same in groups:
        place = places(same, corrupted, (*PLACE, "source"))
        yield from corruption_pictures(same, scores, look_of, place=place)


def _budgets(
    rows: pd.DataFrame,
    attack: str,
    title: str,
    look_of: Mapping[str, Look],
    name: str,
    accuracies: Sequence[Accuracy],
) -> Picture:
    ours = rows[rows["attack"].isin([CLEAN, attack])]
    ours = ours[ours["label"].isin(rows.loc[rows["attack"] == attack, "label"])]
    shown, labels = panel(ours), list(dict.fromkeys(ours["label"]))
    with styled():
        count = len(accuracies)
        figure = Figure(figsize=(4.2 * count, max(3.2, legend_height(labels))))
        axes = figure.subplots(1, count, squeeze=False, gridspec_kw={"wspace": 0.28})[0]
        for ax, accuracy in zip(axes, accuracies, strict=True):
            budget_curve(ax, ours, attack=attack, accuracy=accuracy, look_of=look_of, title=title)
        outside_legend(axes[-1])
    title = f"Accuracy under {title}: {shown.place}"
    shown_as = " and ".join(accuracy.replace("top", "top-") for accuracy in accuracies)
    alt = f"Line plots, {shown_as} accuracy in percent over the budget. {title}. "
    alt += _described(ours, attack, labels)
    return Picture(name, title, alt, figure)


def _described(rows: pd.DataFrame, attack: str, labels: list[str]) -> str:
    if len(labels) > MOST_NAMES:
        return f"{len(labels)} models; their numbers are in the tables."
    sentences = []
    for label, curve in points(rows, attack, "top1").groupby("label", sort=False):
        scored = curve.dropna(subset="percent")
        named = zip(scored["percent"], scored["budget"], scored["protocol"], strict=True)
        steps = [f"{percent:.1f} at {budget_name(budget, of)}" for percent, budget, of in named]
        sentences.append(f"{label}: top-1 {', '.join(steps) or 'not scored'}.")
    return " ".join(sentences)
