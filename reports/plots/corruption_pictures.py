"""Pictures of ImageNet-C: bars for a few models at a time, and a map for each model."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from robustbench_twicing.data.imagenet_c import EXTRA, MAIN

from ..imagenet_c.corruption_error import Baseline
from ..imagenet_c.corruption_rows import corruption_rows
from ..imagenet_c.corruption_scores import corruption_scores
from ..text.file_names import file_name
from .corruption_bars import MOST_BARS, corruption_bars
from .corruption_map import corruption_map
from .legend import outside_legend
from .lettering import styled
from .panel import panel
from .picture import Picture
from .series import Look


def corruption_pictures(
    rows: pd.DataFrame,
    baseline: Baseline | None,
    look_of: Mapping[str, Look],
    *,
    place: Sequence[str] = (),
) -> Iterator[Picture]:
    """Bars of the fifteen corruptions, bars of the extra four, and maps.

    Args:
        rows: of ImageNet-C, of one data set, protocol and source.
        baseline: the normaliser, AlexNet unless given.
        look_of: look of each label.
        place: for the files' names, what these rows are of.
    """
    present = set(corruption_rows(rows)["corruption"])
    labels = list(dict.fromkeys(rows["label"]))
    for extra, names in ((False, MAIN), (True, EXTRA)):
        for first in range(0, len(labels) if present & set(names) else 0, MOST_BARS):
            some = rows[rows["label"].isin(labels[first : first + MOST_BARS])]
            if not _has_bars(some, names, baseline):
                continue
            with styled():
                figure = Figure(figsize=(4.2 if extra else 9.0, 3.0))
                ax = figure.subplots()
                corruption_bars(ax, some, extra=extra, baseline=baseline, look_of=look_of)
                outside_legend(ax)
            number = f"{first // MOST_BARS + 1}" if len(labels) > MOST_BARS else ""
            kind = f"{'extra ' if extra else ''}corruption error"
            yield _bars(some, figure, kind, file_name(f"{kind}s", *place, number))
    for label in labels:
        with styled():
            figure = Figure(figsize=(4.2, 1.2 + 0.22 * len(present)))
            corruption_map(figure.subplots(), rows, label=label)
        title = f"Accuracy of {label} by corruption and severity: {_place(rows)}"
        alt = f"Map of top-1 accuracy in percent. {title}. Its numbers are in the tables."
        yield Picture(file_name("corruption-map", label, *place), title, alt, figure)


def _has_bars(rows: pd.DataFrame, names: Sequence[str], baseline: Baseline | None) -> bool:
    """Whether any corruption error is complete and comparable; maps show accuracy all the same."""
    scores = corruption_scores(rows, baseline=baseline)
    own = scores[(scores["number"] == "CE") & scores["corruption"].isin(names)]
    return bool((own["status"] == "ok").any())


def _bars(rows: pd.DataFrame, figure: Figure, kind: str, name: str) -> Picture:
    title = f"ImageNet-C {kind}: {_place(rows)}"
    models = ", ".join(dict.fromkeys(rows["label"]))
    alt = f"Bars of CE in percent, less is better. {title}. Models: {models}."
    return Picture(name, title, alt, figure)


def _place(rows: pd.DataFrame) -> str:
    return f"{panel(rows).place}, {rows['source'].iloc[0]}"
