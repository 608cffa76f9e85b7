"""compare: all models against one of them on the same images, with significance."""

from pathlib import Path
from typing import Annotated

import typer

from ..options.printed import Json, Notes, Quiet, Rename, parse_names


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare", help="All models against one on the same images, with p values.")(run)


def run(
    run_dirs: Annotated[list[Path], typer.Argument(help="Run folders, as written by eval.")],
    baseline: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Compared with; default: the first label.")
    ] = None,
    intersect: Annotated[
        bool, typer.Option("--intersect", help="Compare the images that both have.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for comparison.csv, changed.csv and the tables.")
    ] = None,
    rename: Rename = None,
    notes: Notes = "short",
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Print differences with intervals and p values; write them, and the images that changed.

    Returns:
        Exit status: 3 with error rows, 4 with images missing, in any of the runs.
    """
    from reports import results
    from reports.statistics.comparison import compare
    from reports.tables.comparing import comparison_notes, tables_by_model
    from reports.tables.formats.as_console import print_notes, print_table

    from ..results import exit_status, print_results_json, write_comparison
    from ..run_folders import check_out, open_runs, read_runs
    from ..terminal import Console

    check_out(out)
    names = parse_names(rename or [])
    runs = read_runs(open_runs(run_dirs), quiet=quiet).renamed(names)
    table = results(runs)
    baseline = names.get(baseline or "", baseline)
    comparison = compare(runs, table, baseline=baseline, intersect=intersect, seed=seed)
    if json:
        print_results_json(comparison.rows)
    else:
        console = Console()
        for of_model in tables_by_model(comparison, every_column=notes == "full"):
            print_table(of_model, console)
        if not quiet and notes != "none":
            print_notes(comparison_notes(comparison, every_column=notes == "full"), console)
    written = [] if out is None else write_comparison(comparison, out)
    for path in [] if quiet else written:
        typer.echo(f"written: {path}", err=True)
    return exit_status(table)
