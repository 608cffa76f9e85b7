"""Options of what is printed, the same for all commands that print results."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import typer

from .options import EvalOptions

PRINTED = "What is printed"
Notes = Annotated[
    bool,
    typer.Option(
        "--notes",
        help="All notes and columns, also those that are summed up otherwise.",
        rich_help_panel=PRINTED,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Records as JSON on standard output, in place of tables.",
        rich_help_panel=PRINTED,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        *("--quiet", "-q"),
        help="Tables and what went wrong; no progress, notes or paths.",
        rich_help_panel=PRINTED,
    ),
]


class Output(NamedTuple):
    """What is printed beside the tables, or in place of them.

    Attributes:
        notes: every note and column.
        json: records in place of tables.
        quiet: neither notes nor paths.
    """

    notes: bool = False
    json: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class OutputOptions(EvalOptions):
    """Options of an evaluation, and of what is printed."""

    notes: Notes = False
    json: Json = False
    quiet: Quiet = False

    @property
    def output(self) -> Output:
        """Those of what is printed."""
        return Output(self.notes, self.json, self.quiet)
