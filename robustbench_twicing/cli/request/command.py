"""Commands that take all options of an evaluation."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import MISSING, fields
from typing import Any

import typer

from .options import EvalOptions


def add_command(
    app: typer.Typer,
    name: str,
    run: Callable[[EvalOptions], int | None],
    *,
    help_text: str,
    only: Collection[str] | None = None,
) -> None:
    """Add a command that takes all of `EvalOptions`, or only those that mean something to it.

    Typer reads a function's signature; this one is made from the fields, so that two commands
    with the same options have them written down once.
    """

    def command(**values: Any) -> int | None:
        return run(EvalOptions(**values))

    taken = [option for option in fields(EvalOptions) if only is None or option.name in only]
    parameters = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default if option.default is not MISSING else [],
            annotation=option.type,
        )
        for option in taken
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.type for option in taken}
    app.command(name, help=help_text)(command)
