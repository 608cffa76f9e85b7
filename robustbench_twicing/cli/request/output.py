"""Options of what is printed, the same for all commands that print results."""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import typer

from .options import EvalOptions

PRINTED = "What is printed"
Amount = Literal["full", "short", "none"]
Notes = Annotated[
    Amount,
    typer.Option(
        "--notes",
        help="full: all notes and columns; short: flags and failures, the rest summed up.",
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
        notes: how many.
        json: records in place of tables.
        quiet: neither notes nor paths.
    """

    notes: Amount = "short"
    json: bool = False
    quiet: bool = False

    @property
    def shown_notes(self) -> Amount:
        """How many are printed beside tables."""
        return "none" if self.quiet else self.notes


@dataclass(frozen=True)
class OutputOptions(EvalOptions):
    """Options of an evaluation, and of what is printed."""

    notes: Notes = "short"
    json: Json = False
    quiet: Quiet = False

    @property
    def output(self) -> Output:
        """Those of what is printed."""
        return Output(self.notes, self.json, self.quiet)
