"""Options of what is printed, the same for all commands that print results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, NamedTuple

import typer

from reports.metrics.flags import Amount

from ...errors import UserError
from .evaluation import EvalOptions

_opt = partial(typer.Option, rich_help_panel="What is printed")
Notes = Annotated[
    Amount,
    _opt(
        "--notes",
        help="full: all notes and columns; short: flags and failures, the rest summed up.",
    ),
]
Json = Annotated[
    bool, _opt("--json", help="Records as JSON on standard output, in place of tables.")
]
Quiet = Annotated[
    bool, _opt(*("--quiet", "-q"), help="Tables and what went wrong; no progress, notes or paths.")
]
Rename = Annotated[
    list[str] | None,
    _opt(
        "--rename",
        metavar="LABEL=NAME",
        help="NAME in place of LABEL in tables, pictures and files of --out; repeat.",
    ),
]


def parse_names(given: Sequence[str]) -> dict[str, str]:
    """Label -> name, from what `Rename` was given.

    Raises:
        UserError: one without a name, or a label that is given twice.
    """
    names: dict[str, str] = {}
    for text in given:
        label, _, name = text.partition("=")
        if not label or not name.strip():
            raise UserError(f"--rename {text!r} has no name; write LABEL=NAME, like deit=DeiT-Ti")
        if label in names:
            raise UserError(f"--rename names {label!r} twice; give each label one name")
        names[label] = name.strip()
    return names


class Output(NamedTuple):
    """What is printed beside the tables, or in place of them.

    Attributes:
        notes: how many.
        json: records in place of tables.
        quiet: neither notes nor paths.
        names: label -> the name that is shown in its place.
    """

    notes: Amount = "short"
    json: bool = False
    quiet: bool = False
    names: Mapping[str, str] = MappingProxyType({})

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
