"""The summary of a report in sentences: what was run, what came out, what to distrust first."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN, WORST, Condition

from ..imagenet_c.corruption_rows import ATTACK, CORRUPTED, corruption_rows
from ..merging.sessions import Session
from ..metrics.flags import by_weight, explain_flag
from ..metrics.notes import mean_and_spread, some
from ..metrics.sweeps import budget_curves, budget_numbers, is_swept, norm_under
from ..plots import attack_title

Attacks = Mapping[str, Condition]
MOST_NAMES = 6
"""Models that are gone through one by one."""
HEADLINE = {"pixel": 1.0, "paper": 4.0, "l2": 0.5, "patch": 32.0}
"""By protocol, the number of a budget whose result is a headline: the nearest that was run."""
AT = {"linf": "{}/255", "l2": "L2 {}", "patch": "{} px"}
"""How budgets stand in a sentence, by their norm."""


def what_was_run(table: pd.DataFrame, attacks: Attacks) -> Iterator[str]:
    """Models, images, conditions and protocol, one sentence a data set and protocol.

    Args:
        table: `results`.
        attacks: see `Runs.attacks`.
    """
    for (dataset, protocol), rows in table.groupby(["dataset", "protocol"], sort=False):
        images = rows["n_images"].max()
        yield (
            f"{_counted(rows)} on {dataset} ({images} {'image' if images == 1 else 'images'}), "
            f"protocol {protocol}: {'; '.join(_conditions(rows, attacks))}."
        )


def headlines(table: pd.DataFrame) -> Iterator[str]:
    """Clean accuracy and that of the worst case over all attacks, with intervals.

    Where a model has no worst case, being attacked in one way only, it is that of the attack with
    the lowest mean accuracy; its budget is the one nearest to `HEADLINE`, so that neither is chosen
    by how a model fares.
    """
    for (dataset, protocol), rows in table.groupby(["dataset", "protocol"], sort=False):
        attacked = _headline(rows, str(protocol))
        several = table[["dataset", "protocol"]].drop_duplicates().shape[0] > 1
        where = f" ({dataset}, protocol {protocol})" if several else ""
        if rows["label"].nunique() > MOST_NAMES:
            yield from _extremes(rows, attacked, where)
            continue
        chosen = rows[(rows["attack"] == CLEAN) | (rows["condition"] == attacked)]
        for label in rows["label"].unique():
            accuracies = [_accuracy(row) for row in _rows(chosen[chosen["label"] == label])]
            yield f"{label}{where}: {', '.join(accuracies) or 'neither clean nor attacked images'}."


def distrust_first(
    table: pd.DataFrame, sessions: Sequence[Session], attacks: Attacks
) -> Iterator[str]:
    """What makes the numbers doubtful, the gravest first.

    Args:
        table: `results`.
        sessions: the processes that computed them.
        attacks: see `Runs.attacks`.
    """
    if table.empty:
        yield "Nothing was scored."
        return
    lost = table[~table["status"].isin(("ok", "survivors"))]
    if len(lost):
        names = [f"{row['label']} {row['condition']} ({row['status']})" for row in _rows(lost[:3])]
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        yield f"{len(lost)} of {len(table)} results are not scored: {', '.join(names)}{more}."
    yield from _flagged(table)
    yield from _precision(table)
    yield from _not_tried(table, attacks)
    if table["protocol"].nunique() > 1:
        yield "Numbers of different protocols stand in different tables: they cannot be compared."
    if any(session.git is not None and session.git.dirty for session in sessions):
        yield "Some of it was computed by code that no commit holds (the checkout was changed)."


def _flagged(table: pd.DataFrame) -> Iterator[str]:
    """One sentence a kind of flag, with how many results have it."""
    for flag in flags_by_kind(table):
        everywhere = flag.results == len(table)
        rows = "all results" if everywhere else f"{flag.results} of {len(table)} results"
        yield f"{flag.name} ({rows}): {flag.meaning}"


def _precision(table: pd.DataFrame) -> Iterator[str]:
    scored = table[table["status"] == "ok"]
    if len(scored):
        sides = scored["top1_ci_high"] - scored["top1"], scored["top1"] - scored["top1_ci_low"]
        widest = max(side.astype(float).max() for side in sides)
        counts = dict.fromkeys((scored["n_images"].min(), scored["n_images"].max()))
        yield (
            f"With {' to '.join(map(str, counts))} images, a 95 % interval reaches up to "
            f"{widest:.1f} points to either side; only differences on the same images, as in the "
            "comparison, can be read more finely."
        )


def _not_tried(table: pd.DataFrame, attacks: Attacks) -> Iterator[str]:
    tried = [condition for name, condition in attacks.items() if name in set(table["attack"])]
    follows = any(condition.white_box for condition in tried)
    if not follows or any(condition.about.gradient_free for condition in tried):
        return
    hidden = "a model that only hides its gradients would look robust here."
    if set(table["protocol"]) == {"patch"}:
        yield f"Patches are drawn along gradients alone: {hidden}"
    else:
        yield f"No attack without gradients was run (SPSA, Square, AutoAttack): {hidden}"


def _counted(rows: pd.DataFrame) -> str:
    labels = list(dict.fromkeys(rows["label"]))
    if len(labels) > MOST_NAMES:
        return f"{len(labels)} models"
    return f"{len(labels)} {'model' if len(labels) == 1 else 'models'} ({', '.join(labels)})"


def _conditions(rows: pd.DataFrame, attacks: Attacks) -> Iterator[str]:
    """Attacks with their budgets, in order."""
    for attack in rows.loc[rows["attack"] != WORST, "attack"].unique():
        results = rows[rows["attack"] == attack]
        if attack == CLEAN:
            yield _unattacked(results["condition"].iloc[0])
        elif attack in CORRUPTED:
            cells = corruption_rows(results)
            severities = _listed([str(severity) for severity in sorted(cells["severity"].unique())])
            sources = ", ".join(dict.fromkeys(results["source"]))
            whose = "of ImageNet-C" if attack == ATTACK else "that are not ImageNet-C's"
            yield (
                f"{cells['corruption'].nunique()} corruptions {whose} at severity "
                f"{severities} ({sources})"
            )
        elif is_swept(results).all():
            numbers = [f"{budget:g}" for budget in sorted(budget_numbers(results).unique())]
            norm = norm_under(str(results["protocol"].iloc[0]))
            at = AT[norm].format(_listed(numbers))
            yield f"{attack_title(rows, attack, attacks)} at {at}"
        else:
            yield ", ".join(results["condition"].unique())


def _unattacked(condition: str) -> str:
    """Clean images, or those of a test set of their own."""
    return "clean images" if condition == CLEAN else f"the images of {condition} as they are"


def _listed(names: Sequence[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last


def _headline(rows: pd.DataFrame, protocol: str) -> str:
    """Id of the attacked condition that stands for all."""
    curves = budget_curves(rows)
    curves = curves[(curves["budget"] > 0) & (curves["status"] == "ok")]
    if curves.empty:
        return ""
    is_worst = curves["attack"] == WORST
    have_worst = set(curves["label"]) == set(curves.loc[is_worst, "label"])
    curves = curves[is_worst == have_worst]
    strongest = curves.groupby("attack", sort=False)["top1"].mean().idxmin()
    headline = HEADLINE.get(protocol, HEADLINE["pixel"])
    points = curves[curves["attack"] == strongest]
    nearest = int((points["budget"] - headline).abs().argmin())
    return str(rows["condition"].iloc[int(points["entry"].iloc[nearest])])


def _accuracy(row: Mapping[str, object]) -> str:
    condition = str(row["condition"])
    where = f"on {_unattacked(condition)}" if row["attack"] == CLEAN else f"under {condition}"
    if row["attack"] == WORST:
        where = f"in the worst case of its attacks, {condition}"
    if row["status"] != "ok":
        return f"no number {where} ({row['status']})"
    spread = mean_and_spread(row)
    drawn = f"; of {row['draws']} draws {spread} %" if spread else ""
    return (
        f"{row['top1']:.1f} % top-1 {where} (95 % interval {row['top1_ci_low']:.1f} to "
        f"{row['top1_ci_high']:.1f}{drawn})"
    )


def _extremes(rows: pd.DataFrame, attacked: str, where: str) -> Iterator[str]:
    for chosen in (rows["attack"] == CLEAN, rows["condition"] == attacked):
        scored = rows[chosen & (rows["status"] == "ok")].reset_index()
        if len(scored):
            labels = scored.groupby("top1")["label"].agg(", ".join)
            first, last = _rows(scored.loc[[scored["top1"].idxmax(), scored["top1"].idxmin()]])
            yield (
                f"Highest of {len(scored)}{where}: {labels.iloc[-1]}, {_accuracy(first)}; "
                f"lowest: {labels.iloc[0]}, {_accuracy(last)}."
            )


def _rows(table: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


class Flag(NamedTuple):
    """A kind of flag.

    Attributes:
        name: the one of this kind with the largest number in it, and how many others there are.
        meaning: one sentence on that one.
        results: how many results have one of this kind.
        where: which results have which.
    """

    name: str
    meaning: str
    results: int
    where: tuple[str, ...]


def flags_by_kind(table: pd.DataFrame) -> Iterator[Flag]:
    """The kinds of flags in a table of results, the gravest first."""
    rows = table.assign(flag=table["flags"].str.split(";")).explode("flag")
    rows = rows[rows["flag"] != ""]
    for _, same in rows.groupby(rows["flag"].map(lambda flag: by_weight(flag)[0])):
        kinds = sorted(same["flag"].unique(), key=_size, reverse=True)
        others = f" and {len(kinds) - 1} like it" if len(kinds) > 1 else ""
        results = same.index.nunique()
        if results == len(table) and not others:
            where = ["On all results."]
        else:
            where = [_where(flag, same[same["flag"] == flag]) for flag in kinds]
        meaning = explain_flag(kinds[0])
        yield Flag(f"{kinds[0]}{others}", meaning, results, tuple(where))


def _size(flag: str) -> tuple[float, str]:
    number = re.search(r"\d+(\.\d+)?", flag.removeprefix("8bit"))
    return (float(number[0]) if number else 0.0, flag)


def _where(flag: str, rows: pd.DataFrame) -> str:
    return f"{flag}: {some(list(rows['label'] + ' ' + rows['condition']))}"
