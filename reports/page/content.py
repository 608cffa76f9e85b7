"""What the page says, before it has a form."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup

from robustbench_twicing import __version__

from ..corruption_error import Baseline
from ..merging import Runs
from ..notes import notes
from ..plots import Picture, pictures
from .all_results import all_results
from .embedding import MIB, embed_figure
from .examples import MAGNIFIED, Examples, find_examples
from .flags import Flag, flags_by_kind
from .grid import Grid
from .provenance import provenance, read_sessions
from .tables import page_tables, without_flags
from .words import distrust_first, headlines, what_was_run

MOST_PICTURES = 16
MOST_PICTURE_BYTES = 6 * MIB


class Embedded(NamedTuple):
    """A picture in the page.

    Attributes:
        uri: its content.
        title: one line.
        alt: what it shows, for those who do not see it.
    """

    uri: str
    title: str
    alt: str


@dataclass(frozen=True)
class Page:
    """What the template shows; each section is left out where it is empty."""

    title: str
    run: tuple[str, ...]
    headlines: tuple[str, ...]
    doubts: tuple[str, ...]
    tables: tuple[Markup, ...]
    pictures: tuple[Embedded, ...]
    more_pictures: bool
    examples: Examples
    flags: tuple[Flag, ...]
    notes: tuple[str, ...]
    results: Grid
    provenance: tuple[Grid, ...]
    baseline: str = ""
    verdicts: tuple[str, ...] = ()
    forests: tuple[Embedded, ...] = ()
    comparison: tuple[Markup, ...] = ()
    magnified: int = MAGNIFIED
    version: str = __version__

    @property
    def sections(self) -> list[tuple[str, str]]:
        """Id and name of the sections that are there."""
        there = {
            ("summary", "Summary"): True,
            ("tables", "Tables"): self.tables,
            ("plots", "Plots"): self.pictures,
            ("comparison", "Comparison"): self.comparison,
            ("examples", "Adversarial examples"): self.examples.shown,
            ("flags", "Flags"): self.flags,
            ("notes", "Notes"): self.notes,
            ("all", "All results"): True,
            ("manifest", "Manifest"): True,
        }
        return [section for section, content in there.items() if content]


def make_page(runs: Runs, table: pd.DataFrame, *, baseline: Baseline | None = None) -> Page:
    """Gather everything.

    Args:
        runs: merged runs.
        table: `results` of them.
        baseline: the normaliser of corruption errors, AlexNet unless given.

    Raises:
        UserError: a run folder that is gone, or a damaged adversarial image.
    """
    sessions = read_sessions(runs)
    tables = page_tables(runs, table)
    shown, more = _embedded(pictures(table, baseline=baseline))
    return Page(
        title=_title(table),
        run=tuple(what_was_run(table)) or ("Nothing.",),
        headlines=tuple(headlines(table)) or ("No number.",),
        doubts=tuple(distrust_first(table, sessions)),
        tables=tables.shown,
        pictures=tuple(shown),
        more_pictures=more,
        examples=find_examples(runs, table),
        flags=tuple(flags_by_kind(table)),
        notes=(*tables.notes, *without_flags(notes(runs, table), table)),
        results=all_results(table),
        provenance=tuple(provenance(runs, sessions)),
    )


def _title(table: pd.DataFrame) -> str:
    names = list(dict.fromkeys(table["dataset"]))
    return f"Robustness on {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}"


def _embedded(drawn: Iterator[Picture]) -> tuple[list[Embedded], bool]:
    """As many pictures as there is room for, and whether there are more."""
    shown: list[Embedded] = []
    size = 0
    for picture in islice(drawn, MOST_PICTURES + 1):
        uri = embed_figure(picture)
        size += len(uri)
        if len(shown) == MOST_PICTURES or size > MOST_PICTURE_BYTES:
            return shown, True
        shown.append(Embedded(uri, picture.title, picture.alt))
    return shown, False
