"""report: results.csv and the table again, from run folders."""

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UserError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report", help="Make results.csv and the table of finished runs.")(run)


def run(
    run_dirs: Annotated[list[Path], typer.Argument(help="Run folders, as written by eval.")],
    output_format: Annotated[
        str, typer.Option("--format", help="console, or csv on standard output.")
    ] = "console",
) -> int:
    """Rebuild results.csv of each run folder and print it.

    Returns:
        Exit status: 3 with error rows, 4 with images missing.
    """
    from reports import results, write_results

    from ..records import RunFolder
    from .eval import exit_status, show_results

    if output_format not in ("console", "csv"):
        raise UserError(f"--format {output_format!r} is unknown; it is console or csv")
    folders = [RunFolder.open(path) for path in run_dirs]
    status = 0
    for position, folder in enumerate(folders):
        path = write_results(folder)
        if output_format == "csv":
            table = results(folder)
            typer.echo(table.to_csv(index=False, header=position == 0), nl=False)
            status = max(status, exit_status(table))
        else:
            status = max(status, show_results(folder, path))
    return status
