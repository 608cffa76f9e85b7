"""Numbers of an analysis, kind by kind: small plots over the layers, the last one as a table."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from robustbench_twicing.files.regular import check_regular

from ...plots.similarity_curves import TITLES, TOKENS, images_shown
from ...representations import attention, similarity, spectrum
from ...tables.formats.as_html import as_html
from ...tables.table import ABOUT, Column, Table
from ..drawing.curve import Models
from ..drawing.embedding import Embedded
from ..drawing.layers import HIGH, LOW, Quantity, layer_panel
from ..drawing.panels import Panel

ATTENTION = (
    Quantity("class_entropy", "Entropy of the class token's row", "nats"),
    Quantity("class_max", "Largest weight in that row", "of a patch"),
    Quantity("participation", "Tokens that share the weight", "all rows"),
)
EIGENVALUES = (
    Quantity("second_abs", "Second largest eigenvalue", "softmax matrix", ceiling=1.0),
    Quantity("second_abs_effective", "Second largest", "matrix on the values", ceiling=1.0),
    Quantity("share_complex", "Complex eigenvalues", "share of those beyond 0.01", ceiling=1.0),
)
TEXTS = (
    *("label", "under", "layer", "tensor", "tokens", "head", "flags"),
    *("dataset", "model", "checkpoint_sha256"),
)
"""Columns that are no numbers."""


class Measured(NamedTuple):
    """Numbers or pictures of one kind.

    Attributes:
        title: of them.
        sentence: what they are.
        panels: small plots over the layers.
        pictures: maps.
        tables: the last layer, as HTML.
    """

    title: str
    sentence: str
    panels: Sequence[Panel] = ()
    pictures: Sequence[Embedded] = ()
    tables: Sequence[Markup] = ()


def measured(
    place: Path, record: Mapping[str, Any], labels: Mapping[str, str], models: Models, number: int
) -> Iterator[Measured]:
    """The kinds of numbers that an analysis has.

    Args:
        place: its folder.
        record: its analysis.json.
        labels: of its networks on the page, by those in its files.
        models: how they are shown.
        number: that tells its tables from those of other analyses.
    """
    tokens = str(record["settings"]["tokens"])
    dataset = str(record["dataset"]["name"])
    rows = _read(place / "similarity.csv", similarity.COLUMNS, labels)
    if rows is not None:
        rows = rows[rows["tokens"] == tokens].sort_values("tensor", kind="stable")
        rows = rows.rename(columns={"similarity_ci_low": LOW, "similarity_ci_high": HIGH})
        panels = [
            panel
            for tensor, title in TITLES.items()
            for panel in layer_panel(rows[rows["tensor"] == tensor], _of_tensor(title), models)
        ]
        words = f"Mean cosine of all pairs of {TOKENS[tokens]} (1: all point the same way), over"
        table = _table(f"similarity-{number}", rows, ["tensor"], ["similarity", "spread"])
        yield Measured("Token similarity", _sentence(words, rows, dataset), panels, (), [table])
    rows = _read(place / "attention.csv", attention.COLUMNS, labels)
    if rows is not None:
        rows = rows[rows["head"] == "mean"]
        panels = [panel for of in ATTENTION for panel in layer_panel(rows, of, models)]
        table = _table(f"attention-{number}", rows, [], attention.NUMBERS)
        words = "How the rows of the softmax matrix spread their weights: means over heads and"
        yield Measured("Attention", _sentence(words, rows, dataset), panels, (), [table])
    rows = _read(place / "spectrum.csv", spectrum.COLUMNS, labels)
    if rows is not None:
        panels = [panel for of in EIGENVALUES for panel in layer_panel(rows, of, models)]
        table = _table(f"spectrum-{number}", rows, [], [*spectrum.MEANS, *spectrum.SHARES])
        words = "Eigenvalues of attention matrices, magnitudes: means over heads and"
        yield Measured("Spectrum", _sentence(words, rows, dataset), panels, (), [table])


def _sentence(words: str, rows: pd.DataFrame, dataset: str) -> str:
    """What the numbers are, over which images, and what the thin lines are."""
    conditions = ", ".join(under for under in rows["under"].unique() if under)
    thin = f" Thin lines with hollow markers: under {conditions}." if conditions else ""
    return f"{words} {images_shown(rows)} of {dataset}.{thin}"


def _of_tensor(title: str) -> Quantity:
    name, _, about = title.partition(", ")
    return Quantity("similarity", name[:1].upper() + name[1:], about, ceiling=1.0)


def _read(path: Path, columns: Sequence[str], labels: Mapping[str, str]) -> pd.DataFrame | None:
    """A file of numbers, with the page's labels; None where these were not measured."""
    if not path.exists():
        return None
    check_regular(path)
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)[list(columns)]
    numbers = [column for column in columns if column not in TEXTS]
    rows[numbers] = rows[numbers].apply(pd.to_numeric)
    return rows.assign(label=rows["label"].map(dict(labels).__getitem__))


def _last_layers(rows: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The last numbered layer of each curve."""
    numbered = rows[rows["layer"].str.isdigit()]
    return numbered.groupby(list(names), sort=False).tail(1)


def _table(name: str, rows: pd.DataFrame, first: Sequence[str], numbers: Sequence[str]) -> Markup:
    """The last layer of each curve, with the interval of the first number below it."""
    rows = _last_layers(rows, [*first, "label", "under"])
    frame = rows[["layer", *numbers, "flags"]].copy()
    frame["flags"] = frame["flags"].str.replace(";", " ")
    names = {**{column: column for column in first}, "label": "model"}
    names |= {"under": "under"} if rows["under"].any() else {}
    frame.index = pd.MultiIndex.from_frame(rows[list(names)].rename(columns=names))
    images = rows["n_images"].astype(str).to_numpy()
    about = pd.DataFrame("", range(len(rows)), ABOUT).assign(n_images=images)
    columns = (
        Column("layer", digits=None),
        *(Column(column, digits=3) for column in numbers),
        Column("flags", digits=None),
    )
    groups = tuple(rows[first[0]]) if first else ()
    table = Table(name, "The last layer", frame, columns, about, groups=groups)
    ends = zip(rows[LOW], rows[HIGH], strict=True) if LOW in rows else ()
    hints = {(row, 1): f"{low:.3f}–{high:.3f}" for row, (low, high) in enumerate(ends)}
    return Markup(as_html(table, hints=hints))
