"""What was run and what came out, in sentences."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN, WORST

from ...imagenet_c.corruption_rows import ATTACK, CORRUPTED, corruption_rows
from ...metrics.notes import mean_and_spread
from ...metrics.sweeps import budget_numbers, is_swept, norm_under
from ...plots import attack_title
from ..places import AT, Attacks, places

MOST_NAMES = 6
"""Models that are gone through one by one."""


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
    """Clean accuracy and that of the attack that stands for all (`places`), with intervals."""
    several = table[["dataset", "protocol"]].drop_duplicates().shape[0] > 1
    for place in places(table):
        rows, attacked = place.rows, place.condition
        where = f" ({place.dataset}, protocol {place.protocol})" if several else ""
        if rows["label"].nunique() > MOST_NAMES:
            yield from _extremes(rows, attacked, where)
            continue
        chosen = rows[(rows["attack"] == CLEAN) | (rows["condition"] == attacked)]
        for label in rows["label"].unique():
            accuracies = [_accuracy(row) for row in _rows(chosen[chosen["label"] == label])]
            yield f"{label}{where}: {', '.join(accuracies) or 'neither clean nor attacked images'}."


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
