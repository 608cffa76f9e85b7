"""What report makes besides tables: pictures and the page."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import typer

from reports import Runs, results
from reports.statistics.comparison import compare_if_possible
from reports.tables.formats import FORMATS

from ..errors import UserError
from ..files.printable import count, spoken_size
from ..registry import unknown
from .options.printed import Output
from .run_folders import Results, check_csv, open_runs, read_runs
from .terminal import patiently

CONSOLE, HTML, ROBUSTBENCH = "console", "html", "robustbench"
PAGE, COLUMN = FIGURES = "page", "column"
"""What pictures are drawn for."""


class Files(NamedTuple):
    """What is made in which form and where, as typed.

    Attributes:
        output_format: of tables; with ``out``, html is the page.
        plots: whether pictures are drawn.
        baseline: label that the others are compared with; None for the first.
        out: folder; None for standard output.
        paper: file with facts for RobustBench; None for none.
        figure: what pictures are drawn for, of `FIGURES`.
        images: file for `save_images`; None for none.
    """

    output_format: str | None
    plots: bool
    baseline: str | None
    out: Path | None
    paper: Path | None = None
    figure: str = PAGE
    images: Path | None = None

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
            raise unknown("--format", self.output_format, known)
        if self.paper is not None and self.output_format != ROBUSTBENCH:
            raise UserError(
                "--paper is read by --format robustbench alone; add that, or leave --paper out"
            )
        if self.figure not in FIGURES:
            raise unknown("--figure", self.figure, FIGURES)
        if self.figure != PAGE and not self.plots:
            raise UserError(f"--figure {self.figure} is for --plots; add --plots --out DIR")
        if self.images is not None:
            check_csv("--images", self.images)
        if self.plots and self.out is None:
            raise UserError("--plots makes files; say with --out in which folder")
        if self.baseline is not None and not (self.page or self.plots):
            raise UserError("--baseline is for --plots, and for the page: --format html --out DIR")


def write_files(results: Results, files: Files, *, quiet: bool = False) -> list[str]:
    """Write pictures and the page where they are wanted; their paths, and the page's size.

    Args:
        results: what the runs came to.
        files: what is wanted.
        quiet: whether nothing is said where it takes long.

    Raises:
        UserError: an unknown baseline, a folder that cannot be written to, or a damaged
            adversarial image.
    """
    runs, table, scores = results
    written: list[str] = []
    if files.plots and files.out is not None:
        with patiently(f"drawing into {files.out}", hidden=quiet):
            written += map(str, _draw(results, files.out, files))
    if files.page and files.out is not None:
        from reports.page import write_page  # needs matplotlib, as most reports do not

        with patiently(f"writing the page into {files.out}", hidden=quiet):
            path = write_page(runs, table, files.out, baseline=files.baseline, scores=scores)
        written.append(f"{path} ({spoken_size(path.stat().st_size)})")
    return written


def _draw(results: Results, out: Path, files: Files) -> list[Path]:
    from reports.metrics.radii import radius_curves
    from reports.metrics.transfer import transfer_rates
    from reports.plots import forest_pictures, in_column, pictures, save_pictures

    runs, table, scores = results
    radii = radius_curves(runs, table)
    drawn = pictures(
        table,
        scores=scores,
        attacks=runs.attacks,
        radii=radii,
        transfers=transfer_rates(runs, table),
        accuracies=("top1",) if files.figure == COLUMN else ("top1", "top5"),
    )
    comparison = compare_if_possible(runs, table, baseline=files.baseline)
    if not isinstance(comparison, str):
        drawn = chain(drawn, forest_pictures(comparison.rows, comparison.baseline))
    return save_pictures(in_column(drawn) if files.figure == COLUMN else drawn, out)


def write_images(runs: Runs, path: Path) -> str:
    """Write `save_images`; the path, and how many lines it has.

    Raises:
        UserError: as `save_images`.
    """
    from reports.exports.images import save_images

    return f"{path} ({count(save_images(runs, path), 'line')})"


def write_robustbench(run_dirs: Sequence[Path], files: Files, output: Output) -> int:
    """JSON of every label, into files with --out, else on standard output; the exit status.

    Raises:
        UserError: a run that cannot be read, or is not of the board; facts that are not of it.
    """
    from reports.exports.model_info import write_model_info
    from reports.exports.paper import read_paper
    from reports.exports.robustbench import model_infos

    from .results import exit_status

    folders = open_runs(run_dirs)
    evaluations = [model for folder in folders for model in folder.manifest.evaluations]
    labels = list(dict.fromkeys(evaluation.label for evaluation in evaluations))
    paper = None if files.paper is None else read_paper(files.paper, labels)
    runs = read_runs(folders, quiet=output.quiet)
    table = results(runs)
    for label, info in model_infos(runs, table, paper).items():
        if files.out is None:
            typer.echo(info.to_json(), nl=False)
        else:
            reasons = "; ".join(info.robustbench_twicing.why_not)
            path = write_model_info(info, files.out, label)
            say_written([f"{path}{reasons and f' (not all numbers: {reasons})'}"], output)
    return exit_status(table)


def say_written(paths: Sequence[Path | str], output: Output) -> None:
    """Say on standard error which files were written, unless quiet is asked for."""
    for path in [] if output.quiet else paths:
        typer.echo(f"written: {path}", err=True)
