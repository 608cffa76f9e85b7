"""What `analyze RUN` left in a run folder, as a section of the page."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.regular import check_regular
from robustbench_twicing.files.text import read_json

from ...merging.runs import Runs
from ..drawing.curve import Models
from ..drawing.embedding import ROOM, Embedded, embed_saved
from .measured import Measured, measured

FOLDER, RECORD = "analysis", "analysis.json"
BOMB = Image.DecompressionBombError
MOST_PICTURES = 12
MAPS = ("attention-", "layers-")
"""Begin the names of pictures that are no curves."""


class Representations(NamedTuple):
    """Analyses on the page.

    Attributes:
        shown: kind by kind, folder by folder.
        notes: why an analysis, or a part of it, is not shown.
    """

    shown: tuple[Measured, ...] = ()
    notes: tuple[str, ...] = ()


def representations_of(runs: Runs, models: Models) -> Representations:
    """Curves, maps and tables of the analyses in the folders of runs, of the runs' own networks.

    An analysis of other weights, or one that cannot be read, is left out with a note: it is no part
    of the results.

    Args:
        runs: merged runs.
        models: how they are shown.
    """
    shown: list[Measured] = []
    maps: list[Embedded] = []
    notes: list[str] = []
    for folder in dict.fromkeys(folder for entry in runs.entries for folder in entry.folders):
        place = folder / FOLDER
        if not (place / RECORD).exists():
            continue
        try:
            with _damaged_files():
                record = read_json(place / RECORD)
                labels = _labels(record, runs, folder)
                of_folder = list(measured(place, record, labels, models, len(shown)))
                drawn = list(_maps(place, record["pictures"]))
        except UserError as error:
            notes.append(f"The analysis in {place} is left out: {error}.")
            continue
        shown += of_folder
        maps += drawn
    fitting = _that_fit(maps)
    if len(fitting) < len(maps):
        notes.append("Analyses have more pictures than the page has room for; see their folders.")
    if fitting:
        sentence = "Where the attention of an image goes; 1 is what uniform attention gives."
        shown.append(Measured("Attention maps", sentence, pictures=fitting))
    return Representations(tuple(shown), tuple(notes))


@contextmanager
def _damaged_files() -> Iterator[None]:
    """What is not as `analyze` writes it is one line."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, OSError, BOMB) as error:
        raise UserError(f"its files are damaged ({type(error).__name__}: {error})") from error


def _labels(record: Mapping[str, Any], runs: Runs, folder: Path) -> dict[str, str]:
    """What the analysis calls the networks of this run, and what the page does."""
    known: dict[tuple[str, str], list[str]] = {}
    for entry in runs.entries:
        if folder in entry.folders:
            item = entry.evaluation.record
            known.setdefault((item.model, item.weights_sha256), []).append(entry.label)
    labels = {}
    for label, model in record["models"].items():
        same = known.get((model["model"], model["weights_sha256"]), [])
        if not same:
            raise UserError(f"its {label} has other weights than the networks of this run")
        labels[label] = label if label in same else same[0]
    return labels


def _maps(place: Path, names: Sequence[str]) -> Iterator[Embedded]:
    """The maps among the pictures of the record, with what their files say of them."""
    for name in names:
        path = place / Path(name).name  # nothing outside of the folder
        if path.name.startswith(MAPS):
            check_regular(path, ROOM)
            with Image.open(path, formats=["PNG"]) as image:
                title, alt = (str(image.info[key]) for key in ("Title", "Description"))
            yield Embedded(embed_saved(path.with_suffix(".svg")), title, alt)


def _that_fit(pictures: Sequence[Embedded]) -> list[Embedded]:
    room = ROOM
    shown: list[Embedded] = []
    for picture in pictures[:MOST_PICTURES]:
        room -= len(picture.uri)
        if room < 0:
            break
        shown.append(picture)
    return shown
