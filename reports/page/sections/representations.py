"""What `analyze RUN` left in a run folder, as a section of the page."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup
from PIL import Image

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.regular import check_regular
from robustbench_twicing.files.text import read_json

from ...merging.runs import Runs
from ...representations import attention, similarity
from ...tables.formats.as_html import as_html
from ...tables.table import ABOUT, Column, Table
from ..drawing.embedding import ROOM, Embedded

FOLDER, RECORD = "analysis", "analysis.json"
BOMB = Image.DecompressionBombError
MOST_PICTURES = 12
OF_PHOTOGRAPHS = ("attention-", "layers-")
"""Begin the names of pictures that show images."""
ABOUT_SIMILARITY = "Mean cosine of pairs of {} at the last layer, with 95 % intervals over images"
ABOUT_ATTENTION = (
    "Attention at the last layer: entropy (nats) and weights of the class token's row, entropy and "
    "participation of all rows"
)
TOKENS = {"all": "all tokens", "patches": "patch tokens"}


class Representations(NamedTuple):
    """Analyses on the page.

    Attributes:
        tables: as HTML.
        pictures: that were drawn.
        notes: why an analysis, or a part of it, is not shown.
    """

    tables: tuple[Markup, ...] = ()
    pictures: tuple[Embedded, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_shown(self) -> bool:
        """Whether there is anything but notes."""
        return bool(self.tables or self.pictures)


def representations_of(runs: Runs) -> Representations:
    """Tables and pictures of the analyses in the folders of runs, of the runs' own networks.

    An analysis of other weights, or one that cannot be read, is left out with a note: it is no part
    of the results.

    Args:
        runs: merged runs.
    """
    tables: list[Markup] = []
    pictures: list[Embedded] = []
    notes: list[str] = []
    for folder in dict.fromkeys(folder for entry in runs.entries for folder in entry.folders):
        place = folder / FOLDER
        if not (place / RECORD).exists():
            continue
        try:
            with _damaged_files():
                record = read_json(place / RECORD)
                _check_networks(record, runs, folder)
                of_folder = list(_tables(place, record, number=len(tables)))
                drawn = list(_pictures(place, record["pictures"]))
        except UserError as error:
            notes.append(f"The analysis in {place} is left out: {error}.")
            continue
        tables += of_folder
        pictures += drawn
    shown = _that_fit(pictures)
    if len(shown) < len(pictures):
        notes.append("Analyses have more pictures than the page has room for; see their folders.")
    return Representations(tuple(tables), tuple(shown), tuple(notes))


@contextmanager
def _damaged_files() -> Iterator[None]:
    """What is not as `analyze` writes it is one line."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, OSError, BOMB) as error:
        raise UserError(f"its files are damaged ({type(error).__name__}: {error})") from error


def _check_networks(record: Mapping[str, Any], runs: Runs, folder: Path) -> None:
    evaluations = [entry.evaluation for entry in runs.entries if folder in entry.folders]
    known = {(item.record.model, item.record.weights_sha256) for item in evaluations}
    for label, model in record["models"].items():
        if (model["model"], model["weights_sha256"]) not in known:
            raise UserError(f"its {label} has other weights than the networks of this run")


def _tables(place: Path, record: Mapping[str, Any], *, number: int) -> Iterator[Markup]:
    """The last layer of each file of numbers."""
    tokens = str(record["settings"]["tokens"])
    path = place / "similarity.csv"
    if path.exists():
        rows = _read(path, similarity.COLUMNS)
        rows = _last_layers(rows[rows["tokens"] == tokens], ["tensor", "label", "under"])
        rows = rows.sort_values("tensor", kind="stable")
        title = ABOUT_SIMILARITY.format(TOKENS[tokens])
        table = _table(f"similarity-{number}", title, rows, ["tensor"], ["similarity", "spread"])
        low, high = rows["similarity_ci_low"], rows["similarity_ci_high"]
        intervals = zip(low.astype(float), high.astype(float), strict=True)
        hints = {(row, 1): f"{start:.3f}–{end:.3f}" for row, (start, end) in enumerate(intervals)}
        yield Markup(as_html(table, hints=hints))
    path = place / "attention.csv"
    if path.exists():
        rows = _read(path, attention.COLUMNS)
        rows = _last_layers(rows[rows["head"] == "mean"], ["label", "under"])
        numbers = list(attention.NUMBERS)
        yield Markup(as_html(_table(f"attention-{number}", ABOUT_ATTENTION, rows, [], numbers)))


def _read(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """A file of numbers, all columns as text."""
    check_regular(path)
    return pd.read_csv(path, dtype=str, keep_default_na=False)[list(columns)]


def _last_layers(rows: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The last numbered layer of each curve."""
    numbered = rows[rows["layer"].str.isdigit()]
    return numbered.groupby(list(names), sort=False).tail(1)


def _table(
    name: str, title: str, rows: pd.DataFrame, first: Sequence[str], numbers: Sequence[str]
) -> Table:
    frame = rows[["layer", *numbers, "flags"]].copy()
    frame[list(numbers)] = frame[list(numbers)].apply(pd.to_numeric)
    frame["flags"] = frame["flags"].str.replace(";", " ")
    names = {**{column: column for column in first}, "label": "model"}
    names |= {"under": "under"} if rows["under"].any() else {}
    index = rows[list(names)].rename(columns=names)
    frame.index = pd.MultiIndex.from_frame(index)
    about = pd.DataFrame("", range(len(rows)), ABOUT).assign(n_images=rows["n_images"].to_numpy())
    if "dataset" in rows:
        about["dataset"] = rows["dataset"].to_numpy()
    columns = (
        Column("layer", digits=None),
        *(Column(column, digits=3) for column in numbers),
        Column("flags", digits=None),
    )
    groups = tuple(rows[first[0]]) if first else ()
    return Table(name, title, frame, columns, about, groups=groups)


def _pictures(place: Path, names: Sequence[str]) -> Iterator[Embedded]:
    """The pictures of the record, with what their files say of them."""
    for name in names:
        path = place / Path(name).name  # nothing outside of the folder
        check_regular(path, ROOM)
        with Image.open(path, formats=["PNG"]) as image:
            title, alt = (str(image.info[key]) for key in ("Title", "Description"))
        uri = f"data:image/png;base64,{b64encode(path.read_bytes()).decode()}"
        yield Embedded(uri, title, alt, has_photographs=path.name.startswith(OF_PHOTOGRAPHS))


def _that_fit(pictures: Sequence[Embedded]) -> list[Embedded]:
    room = ROOM
    shown: list[Embedded] = []
    for picture in pictures[:MOST_PICTURES]:
        room -= len(picture.uri)
        if room < 0:
            break
        shown.append(picture)
    return shown
