"""Adversarial images of each network on each other, as two maps of numbers."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..text.file_names import file_name, places
from .heat_map import heat_map
from .lettering import lettering, styled
from .picture import Picture

PLACE = ("dataset", "protocol")
SHOWN = {"top1": "top-1 accuracy, %", "rate": "transfer rate, %"}
"""Columns of `transfer_rates` that are drawn, and their titles."""
WIDTH = 16
"""Letters of a line of a target's name."""


def transfer_pictures(rates: pd.DataFrame) -> Iterator[Picture]:
    """One picture for each attack on one data set: sources down, targets across.

    Below the sources stands random noise of the same budget. What is not known is hatched.

    Args:
        rates: of `transfer_rates`.
    """
    for (dataset, protocol, attack), rows in rates.groupby([*PLACE, "attack"], sort=False):
        labels = [list(dict.fromkeys(rows[name])) for name in ("source", "target")]
        numbers = {
            name: rows.pivot(index="source", columns="target", values=name)
            .reindex(index=labels[0], columns=labels[1])
            .to_numpy(float)
            for name in SHOWN
        }
        control = rows.groupby("target", sort=False)["control_top1"].first()
        title = f"Transfer of {attack}: {dataset}, protocol {protocol}"
        figure = _drawn(numbers, labels, control.reindex(labels[1]).to_numpy(float), title)
        alt = "Two maps of numbers, the networks on which images were made down and those that "
        alt += f"see them across. {title}. {_described(rows)}"
        name = file_name("transfer", str(attack), *places(rows, rates, PLACE))
        yield Picture(name, title, alt, figure)


def _drawn(
    numbers: dict[str, NDArray[np.float64]],
    labels: list[list[str]],
    control: NDArray[np.float64],
    title: str,
) -> Figure:
    sources, targets = labels
    down = [lettering(label, 2 * WIDTH) for label in sources]
    across = [lettering(label, WIDTH) for label in targets]
    with styled():
        size = 3.2 + 2.2 * max(2, len(targets)), 1.8 + 0.5 * (len(sources) + 1)
        figure = Figure(figsize=size)
        axes = figure.subplots(1, 2, sharey=True)
        # The second one first, for its axis is shared, and the first has a row more.
        heat_map(axes[1], numbers["rate"], down=down, across=across)
        below = np.vstack([numbers["top1"], control])
        heat_map(axes[0], below, down=[*down, "random noise"], across=across)
        for ax, heading in zip(axes, SHOWN.values(), strict=True):
            ax.set_title(heading)
            ax.set_xlabel("scored on")
        axes[0].set_ylabel("made on")
        figure.suptitle(lettering(title, 80), y=1.04)
    return figure


def _described(rows: pd.DataFrame) -> str:
    sentences = [
        f"{row['source']} on {row['target']}: top-1 {row['top1']:.1f}"
        + ("" if pd.isna(row["rate"]) else f", transfer rate {row['rate']:.1f}")
        for row in rows.to_dict("records")
    ]
    return f"{'; '.join(sentences)}."
