"""report: tables, pictures and results.csv again, from run folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..report_files import CONSOLE, Files, write_files
from ..run_folders import check_out
from ..signals import DONE
from ..tables import EFFICIENCY, TableOptions, check_options, make_efficiency_sheets, make_sheets

if TYPE_CHECKING:
    from reports.tables.sheet import Sheet

NAMES = "NAME,..."


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", help="Merge finished runs into results.csv, tables and pictures.")(run)


def run(
    run_dirs: Annotated[
        list[Path],
        typer.Argument(help="Run folders, as written by eval: shards, machines, models."),
    ],
    preset: Annotated[
        str | None,
        typer.Option(help="results, table1, table2, featscale, layers, sweeps or efficiency."),
    ] = None,
    rows: Annotated[
        str, typer.Option(metavar=NAMES, help="A free table's rows: columns of results.csv.")
    ] = "",
    columns: Annotated[
        str, typer.Option(metavar=NAMES, help="A free table's columns, like condition.")
    ] = "",
    values: Annotated[
        str, typer.Option(metavar=NAMES, help="What a free table shows, like top1.")
    ] = "",
    eps: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ATTACK=]BUDGET",
            help="Budget of FGSM and PGD, or of ATTACK, in table1 and layers; repeat.",
        ),
    ] = None,
    mark: Annotated[
        str, typer.Option(help="best, significant (where tests say so) or none.")
    ] = "best",
    published: Annotated[
        bool, typer.Option("--published", help="Published numbers beside ours, with a verdict.")
    ] = False,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="console, csv, md, latex, json or html; with --out, html is a page of everything.",
        ),
    ] = None,
    plots: Annotated[
        bool, typer.Option("--plots", help="Draw pictures into --out, as PNG, PDF and SVG.")
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Compared with on the page; default: the first label."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the files that are made.")] = None,
    normaliser: Annotated[
        str | None,
        typer.Option(
            metavar="RUN_DIR[:LABEL]|FILE.csv", help="Unit of mCE in place of AlexNet's errors."
        ),
    ] = None,
) -> int:
    """Merge the run folders and show their results; a single one has results.csv made anew.

    Returns:
        Exit status: 3 with error rows, 4 with images missing.
    """
    options = TableOptions(preset, rows, columns, values, eps or [], mark, published, normaliser)
    check_options(options)
    files = Files(output_format, plots, baseline, out)
    files.check()
    check_out(out)
    if preset == EFFICIENCY:
        sheets = make_efficiency_sheets(run_dirs, options)
        if output_format in (None, CONSOLE):
            _print(sheets)
        _write(sheets, output_format, out)
        return DONE
    return _report(run_dirs, options, files)


def _report(run_dirs: Sequence[Path], options: TableOptions, files: Files) -> int:
    from reports import merge, read_normaliser, results
    from reports.statistics.comparison import check_baseline
    from reports.text.csv_text import csv_text

    from ..run_folders import open_runs
    from .eval import exit_status, save_tables, show_results

    folders = open_runs(run_dirs)
    labels = [each.label for folder in folders for each in folder.manifest.evaluations]
    check_baseline(labels, files.baseline)
    if options.normaliser is not None:
        read_normaliser(options.normaliser)
    named, output_format, out = options.named, files.output_format, files.out
    if output_format in (None, CONSOLE) and not named:
        status = show_results(folders, normaliser=options.normaliser)
        if out is None:
            return status
    runs = merge(folders)
    table = results(runs)
    if out is None and output_format == "csv" and not named:
        typer.echo(csv_text(table), nl=False)
        return exit_status(table)
    sheets = make_sheets(runs, table, options)
    if named and output_format in (None, CONSOLE):
        _print(sheets)
    if out is not None:
        _say(save_tables(table, out, normaliser=options.normaliser))
        _say(write_files(runs, table, files, normaliser=options.normaliser))
    if named or not files.page:
        _write(sheets, output_format, out)
    return exit_status(table)


def _print(sheets: "Sequence[Sheet]") -> None:
    from reports.tables.formats.as_console import print_sheet

    from ..terminal import Console

    for sheet in sheets:
        print_sheet(sheet, Console())


def _write(sheets: "Sequence[Sheet]", output_format: str | None, out: Path | None) -> None:
    """Into files with --out, in all formats or the one asked for; else on standard output."""
    from reports.tables.formats import FORMATS, save_sheets

    if out is not None and output_format != CONSOLE:
        _say(save_sheets(sheets, out, [output_format] if output_format else list(FORMATS)))
    elif out is None and output_format not in (None, CONSOLE):
        typer.echo("\n".join(FORMATS[output_format].render(each) for each in sheets), nl=False)


def _say(paths: Sequence[Path | str]) -> None:
    for path in paths:
        typer.echo(f"written: {path}", err=True)
