"""report: results.csv and the table again, from run folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UserError

if TYPE_CHECKING:
    import pandas as pd


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", help="Make results.csv and the table of finished runs.")(run)


def run(
    run_dirs: Annotated[list[Path], typer.Argument(help="Run folders, as written by eval.")],
    output_format: Annotated[
        str, typer.Option("--format", help="console, or csv on standard output.")
    ] = "console",
    plots: Annotated[
        bool, typer.Option("--plots", help="Draw pictures into --out, as PNG, PDF and SVG.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the files that are made.")] = None,
    normaliser: Annotated[
        str | None,
        typer.Option(
            metavar="RUN_DIR[:LABEL]|FILE.csv", help="Unit of mCE in place of AlexNet's errors."
        ),
    ] = None,
) -> int:
    """Merge the run folders and print their results; a single one has results.csv made anew.

    Returns:
        Exit status: 3 with error rows, 4 with images missing.
    """
    from reports import merge, results

    from ..records import RunFolder
    from .eval import exit_status, show_results

    if output_format not in ("console", "csv"):
        raise UserError(f"--format {output_format!r} is unknown; it is console or csv")
    if plots and out is None:
        raise UserError("--plots makes files; say with --out in which folder")
    folders = [RunFolder.open(path) for path in run_dirs]
    if plots and out is not None:
        _draw(results(merge(folders)), out)
    if output_format == "console":
        return show_results(folders, normaliser=normaliser)
    table = results(merge(folders))
    typer.echo(table.to_csv(index=False), nl=False)
    return exit_status(table)


def _draw(table: "pd.DataFrame", out: Path) -> None:
    from reports.plots import pictures, save_pictures

    for path in save_pictures(pictures(table), out):
        typer.echo(f"picture: {path}", err=True)
