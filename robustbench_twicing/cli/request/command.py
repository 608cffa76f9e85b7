"""Commands that take all options of an evaluation."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any

import typer

from .options import EvalOptions


def add_command(
    app: typer.Typer,
    name: str,
    run: Callable[..., int | None],
    *,
    help_text: str,
    options: type[EvalOptions] = EvalOptions,
    only: Collection[str] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> None:
    """Add a command that takes all of `EvalOptions`, or only those that mean something to it.

    Typer reads a function's signature; this one is made from the fields, so that two commands
    with the same options have them written down once.

    Args:
        app: the command line.
        name: of the command.
        run: called with the options, and the arguments by name.
        help_text: one line.
        options: a class that may add options of its own.
        only: options that it takes; all unless given.
        arguments: what it takes besides, by name with its annotation; each is needed.
    """
    arguments = arguments or {}

    def command(**values: Any) -> int | None:
        given = {argument: values.pop(argument) for argument in arguments}
        return run(options(**values), **given)

    taken = [option for option in fields(options) if only is None or option.name in only]
    parameters = [
        inspect.Parameter(argument, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
        for argument, annotation in arguments.items()
    ]
    parameters += [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default if option.default is not MISSING else [],
            annotation=option.type,
        )
        for option in taken
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {**arguments, **{option.name: option.type for option in taken}}
    app.command(name, help=help_text)(command)
