"""What report makes besides tables: pictures and the page."""

from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from reports import Runs
from reports.statistics.comparison import compare_if_possible
from reports.tables.formats import FORMATS

from ..errors import UserError

CONSOLE, HTML, ROBUSTBENCH = "console", "html", "robustbench"


class Files(NamedTuple):
    """What is made in which form and where, as typed.

    Attributes:
        output_format: of tables; with ``out``, html is the page.
        plots: whether pictures are drawn.
        baseline: label that the others are compared with; None for the first.
        out: folder; None for standard output.
        paper: file with facts for RobustBench; None for none.
    """

    output_format: str | None
    plots: bool
    baseline: str | None
    out: Path | None
    paper: Path | None = None

    @property
    def page(self) -> bool:
        """Whether the page is wanted."""
        return self.output_format == HTML and self.out is not None

    @property
    def console(self) -> bool:
        """Whether tables are shown on the terminal."""
        return self.output_format in (None, CONSOLE)

    def check(self) -> None:
        """Refuse what contradicts itself, before anything is read.

        Raises:
            UserError: an unknown format, or options that do nothing together.
        """
        known = (CONSOLE, *FORMATS, ROBUSTBENCH)
        if self.output_format is not None and self.output_format not in known:
            raise UserError(
                f"--format {self.output_format!r} is unknown; known: {', '.join(known)}"
            )
        if self.paper is not None and self.output_format != ROBUSTBENCH:
            raise UserError(
                "--paper is read by --format robustbench alone; add that, or leave --paper out"
            )
        if self.plots and self.out is None:
            raise UserError("--plots makes files; say with --out in which folder")
        if self.baseline is not None and not (self.page or self.plots):
            raise UserError("--baseline is for --plots, and for the page: --format html --out DIR")


def write_files(runs: Runs, table: pd.DataFrame, scores: pd.DataFrame, files: Files) -> list[str]:
    """Write pictures and the page where they are wanted; their paths, and the page's size.

    Args:
        runs: merged runs.
        table: `results` of them.
        scores: `corruption_scores` of them.
        files: what is wanted.

    Raises:
        UserError: an unknown baseline, a folder that cannot be written to, or a damaged
            adversarial image.
    """
    written: list[str] = []
    if files.plots and files.out is not None:
        written += map(str, _draw(runs, table, scores, files.out, files.baseline))
    if files.page and files.out is not None:
        from reports.page import spoken_size, write_page  # needs matplotlib, as most reports do not

        path = write_page(runs, table, files.out, baseline=files.baseline, scores=scores)
        written.append(f"{path} ({spoken_size(path.stat().st_size)})")
    return written


def _draw(
    runs: Runs,
    table: pd.DataFrame,
    scores: pd.DataFrame,
    out: Path,
    baseline: str | None,
) -> list[Path]:
    from reports.metrics.radii import radius_curves
    from reports.metrics.transfer import transfer_rates
    from reports.plots import forest_pictures, pictures, save_pictures

    radii = radius_curves(runs, table)
    drawn = pictures(
        table,
        scores=scores,
        attacks=runs.attacks,
        radii=radii,
        transfers=transfer_rates(runs, table),
    )
    comparison = compare_if_possible(runs, table, baseline=baseline)
    if not isinstance(comparison, str):
        drawn = chain(drawn, forest_pictures(comparison.rows, comparison.baseline))
    return save_pictures(drawn, out)
