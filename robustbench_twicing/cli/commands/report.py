"""report: tables, pictures and results.csv again, from run folders."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reports.tables.presets import preset_names

from ...errors import UserError
from ..options.printed import Json, Notes, Output, Quiet, Rename, parse_names

if TYPE_CHECKING:
    from reports.tables.table import Table

    from ..report_files import Files
    from ..run_folders import Results
    from ..tables import TableOptions

NAMES = "NAME,..."
PRESET = typer.Option()


def register(app: typer.Typer) -> None:
    """Add the command; presets may have been declared since this module was loaded."""
    PRESET.help = f"{', '.join(preset_names())} or efficiency."
    app.command("report", help="Merge finished runs into results.csv, tables and pictures.")(run)


def run(
    run_dirs: Annotated[
        list[Path],
        typer.Argument(help="Run folders, as written by eval: shards, machines, models."),
    ],
    preset: Annotated[str | None, PRESET] = None,
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
            help="console, csv, md, latex, json or html; with --out, html is a page of everything. "
            "robustbench: JSON of each label for its model_info.",
        ),
    ] = None,
    paper: Annotated[
        Path | None,
        typer.Option(metavar="FILE.yaml", help="With --format robustbench: facts of the paper."),
    ] = None,
    plots: Annotated[
        bool, typer.Option("--plots", help="Draw pictures into --out, as PNG, PDF and SVG.")
    ] = False,
    figure: Annotated[
        str,
        typer.Option(help="With --plots: page, or column, for one column of a two-column paper."),
    ] = "page",
    images: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Every image under every condition, one line each."),
    ] = None,
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
    rename: Rename = None,
    notes: Notes = "short",
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Merge the run folders and show their results; a single one has results.csv made anew.

    Returns:
        Exit status: 3 with error rows, 4 with images missing.
    """
    from ..report_files import ROBUSTBENCH, Files, write_robustbench
    from ..run_folders import check_out
    from ..signals import DONE
    from ..tables import EFFICIENCY, TableOptions, check_options, make_efficiency_tables

    output = Output(notes, json, quiet, parse_names(rename or []))
    options = TableOptions(preset, rows, columns, values, eps or [], mark, published)
    check_options(options)
    files = Files(output_format, plots, baseline, out, paper, figure, images)
    files.check()
    check_out(out)
    if json and (options.named or output_format is not None or out is not None):
        raise UserError(
            "--json prints the records of results.csv; for a table it is --format json, and files "
            "are results.csv and those of --out"
        )
    shown = {"normaliser": normaliser, "plots": plots, "images": images, "rename": rename}
    given = [name for name, value in shown.items() if value]
    if output_format == ROBUSTBENCH:
        usual = TableOptions(eps=[])._asdict()
        asked = [name for name, value in options._asdict().items() if value != usual[name]] + given
        if asked:
            raise UserError(
                f"--{asked[0]} is for tables and pictures, and --format robustbench makes none; "
                f"leave --{asked[0]} out"
            )
        return write_robustbench(run_dirs, files, output)
    if preset == EFFICIENCY:
        if given:
            raise UserError(
                f"--{given[0]} is for the results of run folders, and --preset efficiency shows "
                f"none; leave --{given[0]} out"
            )
        tables = make_efficiency_tables(run_dirs, options)
        if files.console:
            _print(tables, output)
        _write(tables, files, output)
        return DONE
    return _report(run_dirs, options, files, normaliser, output)


def _report(
    run_dirs: Sequence[Path],
    options: "TableOptions",
    files: "Files",
    normaliser_name: str | None,
    output: Output,
) -> int:
    from reports import read_normaliser
    from reports.statistics.comparison import check_baseline

    from ..report_files import say_written, write_images
    from ..results import exit_status
    from ..run_folders import open_runs, read_runs, results_of

    folders = open_runs(run_dirs)
    labels = [model.label for folder in folders for model in folder.manifest.evaluations]
    check_baseline(labels, files.baseline)
    reference = None if normaliser_name is None else read_normaliser(normaliser_name)
    runs = read_runs(folders, quiet=output.quiet).renamed(output.names)
    files = files._replace(baseline=output.names.get(files.baseline or "", files.baseline))
    results = results_of(runs, reference)
    is_whole = len(folders) == 1 and not output.names  # a run's own file keeps its labels
    folder = folders[0].path if is_whole else None
    _show(results, folder, options, files, output)
    if files.images is not None:
        say_written([write_images(runs, files.images)], output)
    return exit_status(results.table)


def _show(
    results: "Results",
    folder: Path | None,
    options: "TableOptions",
    files: "Files",
    output: Output,
) -> None:
    """Print and write what is asked for, and the CSV files of a run into its own folder."""
    from reports.text.csv_text import csv_text

    from ..report_files import say_written, write_files
    from ..results import save_tables, show_results
    from ..tables import make_tables

    if files.console and not options.named:
        show_results(results, folder=folder, output=output)
        if files.out is None:
            return
    if files.out is None and files.output_format == "csv" and not options.named:
        typer.echo(csv_text(results.table), nl=False)
        return
    tables = make_tables(results, options)
    if options.named and files.console:
        _print(tables, output)
    if files.out is not None:
        say_written(save_tables(results, files.out), output)
        say_written(write_files(results, files, quiet=output.quiet), output)
    if options.named or not files.page:
        _write(tables, files, output)


def _print(tables: "Sequence[Table]", output: Output) -> None:
    from reports.tables.formats.as_console import print_table

    from ..terminal import Console

    for table in tables:
        print_table(table, Console(), notes=output.shown_notes)


def _write(tables: "Sequence[Table]", files: "Files", output: Output) -> None:
    """Into files with --out, in all formats or the one asked for; else on standard output."""
    from reports.tables.formats import FORMATS, render, write_tables

    from ..report_files import CONSOLE, say_written

    name = files.output_format
    if files.out is not None and name != CONSOLE:
        forms = [name] if name else list(FORMATS)
        say_written(write_tables(tables, files.out, forms, output.notes), output)
    elif files.out is None and name not in (None, CONSOLE):
        typer.echo("\n".join(render(table, name, output.notes) for table in tables), nl=False)
