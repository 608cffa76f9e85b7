"""Pictures of ImageNet-C: bars for a few models at a time, and a map for each model."""

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.figure import Figure

from robustbench_twicing.imagenet_c import EXTRA, MAIN
from robustbench_twicing.records.store import folder_name

from ..corruption_error import Baseline
from ..corruption_rows import corruption_rows
from .corruption_bars import MOST_BARS, corruption_bars
from .corruption_map import corruption_map
from .legend import outside_legend
from .lettering import styled
from .panel import panel
from .picture import Picture
from .series import Look


def corruption_pictures(
    rows: pd.DataFrame, baseline: Baseline | None, look_of: Mapping[str, Look]
) -> Iterator[Picture]:
    """Bars of the fifteen corruptions, bars of the extra four, and maps.

    Args:
        rows: of ImageNet-C, of one data set, protocol and source.
        baseline: the normaliser, AlexNet unless given.
        look_of: look of each label.
    """
    present = set(corruption_rows(rows)["corruption"])
    labels = list(dict.fromkeys(rows["label"]))
    for extra, names in ((False, MAIN), (True, EXTRA)):
        for first in range(0, len(labels) if present & set(names) else 0, MOST_BARS):
            some = rows[rows["label"].isin(labels[first : first + MOST_BARS])]
            with styled():
                figure = Figure(figsize=(4.2 if extra else 9.0, 3.0))
                ax = figure.subplots()
                corruption_bars(ax, some, extra=extra, baseline=baseline, look_of=look_of)
                outside_legend(ax)
            number = f"_{first // MOST_BARS + 1}" if len(labels) > MOST_BARS else ""
            yield _bars(some, figure, extra=extra, number=number)
    for label in labels:
        with styled():
            figure = Figure(figsize=(4.2, 1.2 + 0.22 * len(present)))
            corruption_map(figure.subplots(), rows, label=label)
        title = f"Accuracy of {label} by corruption and severity: {_place(rows)}"
        alt = f"Map of top-1 accuracy in percent. {title}. Its numbers are in the tables."
        yield Picture(folder_name(f"corruptions_{label}_{_ending(rows)}"), title, alt, figure)


def _bars(rows: pd.DataFrame, figure: Figure, *, extra: bool, number: str) -> Picture:
    kind = "extra corruption error" if extra else "corruption error"
    title = f"ImageNet-C {kind}: {_place(rows)}"
    models = ", ".join(dict.fromkeys(rows["label"]))
    alt = f"Bars of CE in percent, less is better. {title}. Models: {models}."
    name = folder_name(f"{kind.replace(' ', '-')}_{_ending(rows)}{number}")
    return Picture(name, title, alt, figure)


def _place(rows: pd.DataFrame) -> str:
    return f"{panel(rows).place}, {rows['source'].iloc[0]}"


def _ending(rows: pd.DataFrame) -> str:
    shown = panel(rows)
    return f"{shown.dataset}_{shown.protocol}_{rows['source'].iloc[0]}"
