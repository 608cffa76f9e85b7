"""One model's accuracy by corruption and severity, as a map of numbers."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, SEVERITIES

from ..imagenet_c.corruption_error import KIND
from ..imagenet_c.corruption_rows import ATTACK, corruption_rows
from ..imagenet_c.corruption_scores import kind_of
from .heat_map import heat_map
from .lettering import lettering
from .panel import panel


def corruption_map(ax: Axes, results: pd.DataFrame, *, label: str) -> None:
    """Draw top-1 accuracy in percent, corruptions down and severities across.

    A cell that was not scored is hatched and empty.

    Args:
        ax: where to.
        results: columns of `COLUMNS`, of one data set and protocol.
        label: whose.

    Raises:
        UserError: several data sets or protocols, or one condition of a label twice.
    """
    shown = panel(corruption_rows(results[results["label"] == label]))
    rows = shown.results
    top1 = rows["top1"].where(rows["status"] == "ok").astype(float)
    cells = rows.assign(top1=top1).pivot(index="corruption", columns="severity", values="top1")
    others = [name for name in cells.index if name not in (*MAIN, *EXTRA)]
    names = [name for name in (*MAIN, *EXTRA, *others) if name in cells.index]
    numbers = cells.reindex(index=names, columns=list(SEVERITIES)).to_numpy()
    down = [name.replace("_", " ") for name in names]
    heat_map(ax, numbers, down=down, across=list(map(str, SEVERITIES)))
    ax.set_xlabel(f"severity{'; hatched: not scored' if np.isnan(numbers).any() else ''}")
    lines = [label, f"top-1 accuracy, % under {corrupted_images(rows)}", shown.place]
    ax.set_title("\n".join(lettering(line, 48) for line in lines))


def corrupted_images(rows: pd.DataFrame) -> str:
    """What the images are: only its own corruptions, at its own size, are ImageNet-C.

    Args:
        rows: as `corruption_rows` gives them.
    """
    kind, source = kind_of(rows), ", ".join(dict.fromkeys(map(str, rows["source"])))
    benchmark = rows["attack"] == ATTACK
    if not benchmark.all():
        others = "some of which are" if benchmark.any() else "which are"
        return f"corruptions of {kind}, {others} not ImageNet-C's ({source})"
    if kind == KIND:
        return f"ImageNet-C ({source})"
    return f"ImageNet-C's corruptions of {kind}, which is not ImageNet-C ({source})"
