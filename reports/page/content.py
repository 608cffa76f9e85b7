"""What the page says, before it has a form."""

from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from robustbench_twicing import __version__

from ..imagenet_c.corruption_error import Baseline
from ..merging.runs import Runs
from ..metrics.notes import notes
from ..plots import pictures
from ..tables.presets import Choices
from .comparing import Section, comparison_section
from .embedding import Embedded, embed_pictures
from .examples import MAGNIFIED, Examples, find_examples
from .flags import Flag, flags_by_kind
from .grid import Grid
from .provenance import provenance, sessions_of
from .tables import all_results, page_tables, without_flags
from .words import distrust_first, headlines, what_was_run

MOST_PICTURES = 16


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
    comparison: Section
    examples: Examples
    flags: tuple[Flag, ...]
    notes: tuple[str, ...]
    results: tuple[Markup, ...]
    provenance: tuple[Grid, ...]
    magnified: int = MAGNIFIED
    version: str = __version__

    @property
    def sections(self) -> list[tuple[str, str]]:
        """Id and name of the sections that are there."""
        there = {
            ("summary", "Summary"): True,
            ("tables", "Tables"): self.tables,
            ("plots", "Plots"): self.pictures,
            ("comparison", "Comparison"): self.comparison.tables,
            ("examples", "Adversarial examples"): self.examples.shown,
            ("flags", "Flags"): self.flags,
            ("notes", "Notes"): self.notes,
            ("all", "All results"): True,
            ("manifest", "Manifest"): True,
        }
        return [section for section, content in there.items() if content]


def make_page(
    runs: Runs,
    table: pd.DataFrame,
    *,
    baseline: str | None = None,
    normaliser: Baseline | None = None,
) -> Page:
    """Gather everything.

    Args:
        runs: merged runs.
        table: `results` of them.
        baseline: label that the others are compared with; the first unless given.
        normaliser: unit of corruption errors, AlexNet unless given.

    Raises:
        UserError: an unknown baseline, a run folder that is gone, or a damaged adversarial image.
    """
    sessions = sessions_of(runs)
    compared = comparison_section(runs, table, baseline)
    tables = page_tables(runs, table, Choices(baseline=normaliser))
    drawn = embed_pictures(
        pictures(table, baseline=normaliser, attacks=runs.attacks), MOST_PICTURES
    )
    said = without_flags(notes(runs, table), table)
    return Page(
        title=_title(table),
        run=tuple(what_was_run(table, runs.attacks)) or ("Nothing.",),
        headlines=(*headlines(table), *compared.verdicts) or ("No number.",),
        doubts=tuple(distrust_first(table, sessions, runs.attacks)),
        tables=tables.shown,
        pictures=drawn.shown,
        more_pictures=drawn.more,
        comparison=compared,
        examples=find_examples(runs, table),
        flags=tuple(flags_by_kind(table)),
        notes=(*tables.notes, *compared.notes, *said),
        results=all_results(runs, table),
        provenance=tuple(provenance(runs, sessions)),
    )


def _title(table: pd.DataFrame) -> str:
    names = list(dict.fromkeys(table["dataset"]))
    return f"Robustness on {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}"
