"""Adversarial images of each network on each other: accuracies, and transfer rates."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN, TRANSFER

from ...merging.runs import Runs
from ...metrics.notes import notes, remarks
from ...metrics.transfer import transfer_rates
from ...text.file_names import file_name
from ..cells import about, check_alike, unscored
from ..table import Column, Table
from . import Choices, preset

EXPLAINED = (
    "top-1: of the network above, over all images that the attack made on the source at the left. "
    "rate: of the images that both have right on clean pixels (their number stands beside it), the "
    "share that is wrong. A network under its own images is attacked in the white box; noise: "
    "random changes of the same budget, which nobody aimed."
)
NAMES = ("top-1", "rate", "of")


@preset("transfer", on_page=True)
def transfer(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """Attacks and sources down; across for each target top-1 and transfer rate."""
    del choices
    rates = transfer_rates(runs, rows)
    if rates.empty:
        return
    for _, same in rates.groupby("condition", sort=False):
        condition = str(same["condition"].iloc[0])
        check_alike(runs, condition, [int(entry) for entry in same["entry"]])
    targets = list(dict.fromkeys(rates["target"]))
    lines = list(_lines(rates, rows, targets))
    index = pd.MultiIndex.from_tuples([line[:2] for line in lines], names=["attack", "made on"])
    values = np.full((len(lines), len(NAMES) * len(targets)), np.nan)
    entries = np.full(values.shape, -1)
    for number, (_, _, cells) in enumerate(lines):
        for target, numbers in cells.items():
            at = len(NAMES) * targets.index(target)
            values[number, at : at + len(NAMES)] = numbers[:-1]
            entries[number, at] = numbers[-1] if numbers[-1] in rows.index else -1
    used = pd.concat(
        [
            rows.loc[entries[number][entries[number] >= 0]].assign(line=number)
            for number in range(len(lines))
        ]
    )
    described = about(used, range(len(lines)), ("line",)).set_axis(index)
    lacking = rates.loc[rates["n_both_right"].isna(), "source"]
    known = rows[rows["attack"] == TRANSFER]
    place = rows.iloc[0]
    yield Table(
        file_name("transfer", place["dataset"], place["protocol"]),
        "Adversarial images of one network on others, percent",
        pd.DataFrame(values, index),
        tuple(
            Column(name, target, 0 if name == "of" else 2, metric="top1" * (name == "top-1"))
            for target in targets
            for name in NAMES
        ),
        described,
        groups=tuple(line[0] for line in lines),
        entries=entries,
        notes=(
            EXPLAINED,
            *(
                f"No rate for images of {source}: its own records are not here; give its run "
                "folder, too."
                for source in dict.fromkeys(lacking)
            ),
            *unscored(known),
            *notes(runs, known),
        ),
        remarks=remarks(runs, known),
    )


Line = tuple[str, str, dict[str, tuple[Any, ...]]]
"""Attack, source, and by target what is in `NAMES`, and the position of an entry."""


def _lines(rates: pd.DataFrame, rows: pd.DataFrame, targets: Sequence[str]) -> Iterator[Line]:
    """Clean images; then of every attack each source, and noise."""
    none = (np.nan, np.nan)
    clean = rows[(rows["attack"] == CLEAN) & rows["label"].isin(targets)]
    if len(clean):
        cells = zip(clean["label"], clean["top1"], clean.index, strict=True)
        yield CLEAN, "", {label: (top1, *none, entry) for label, top1, entry in cells}
    for attack, of_attack in rates.groupby("attack", sort=False):
        for source, same in of_attack.groupby("source", sort=False):
            shown = same[["target", "top1", "rate", "n_both_right", "entry"]]
            yield (
                str(attack),
                str(source),
                {target: tuple(cells) for target, *cells in shown.itertuples(index=False)},
            )
        control = of_attack["control"].dropna()
        if len(control):
            name = str(control.iloc[0])
            noise = rows[(rows["condition"] == name) & rows["label"].isin(targets)]
            cells = zip(noise["label"], noise["top1"], noise.index, strict=True)
            yield str(attack), name, {label: (top1, *none, at) for label, top1, at in cells}
