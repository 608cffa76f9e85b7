"""Commands that take all options of an evaluation."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import typer

from .options import EvalOptions


def add_command(
    app: typer.Typer, name: str, run: Callable[[EvalOptions], int | None], *, help_text: str
) -> None:
    """Add a command that takes all of `EvalOptions`.

    Typer reads a function's signature; this one is made from the fields, so that two commands
    with the same options have them written down once.
    """

    def command(**values: Any) -> int | None:
        return run(EvalOptions(**values))

    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default if each.default is not MISSING else [],
            annotation=each.type,
        )
        for each in fields(EvalOptions)
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.type for each in fields(EvalOptions)}
    app.command(name, help=help_text)(command)
