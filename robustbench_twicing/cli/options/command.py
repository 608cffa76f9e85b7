"""Commands that take all options of an evaluation."""

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, get_args

import typer

from .evaluation import EvalOptions

COMPLETING = "_ROBUSTBENCH_TWICING_COMPLETE"
"""With this variable a shell asks how a command line may go on."""


def add_command(
    app: typer.Typer,
    name: str,
    run: Callable[..., int | None],
    *,
    help_text: str,
    options: type[EvalOptions] = EvalOptions,
    only: Collection[str] | None = None,
    needed: Collection[str] = (),
    common: Collection[str] | None = None,
    examples: Sequence[str] = (),
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
        needed: those without which it does nothing.
        common: those that ``--help`` shows, where it leaves the others to ``--help-all``.
        examples: commands to type, below the help; without the name of the program.
        arguments: what it takes besides, by name with its annotation; each is needed.
    """
    arguments = arguments or {}

    def command(**values: Any) -> int | None:
        values.pop("help_all", None)  # what it asks for was shown, and the program has ended
        given = {argument: values.pop(argument) for argument in arguments}
        return run(options(**values), **given)

    taken = [option for option in fields(options) if only is None or option.name in only]
    annotations = {
        option.name: option.type if common is None or option.name in common else _hidden(option)
        for option in taken
    }
    parameters = [
        inspect.Parameter(argument, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
        for argument, annotation in arguments.items()
    ]
    parameters += [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(option, option.name in needed),
            annotation=annotations[option.name],
        )
        for option in taken
    ]
    if common is not None:
        annotation = Annotated[bool, _help_all(len(taken))]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(
            inspect.Parameter("help_all", keyword, default=False, annotation=annotation)
        )
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    program = "python run_eval.py"
    epilog = "\n\n".join(["Examples:", *(f"{program} {line}" for line in examples)])
    app.command(name, help=help_text, epilog=epilog if examples else None)(command)


def _default(option: "Field[Any]", needed: bool) -> Any:
    if needed:
        return inspect.Parameter.empty
    return option.default if option.default is not MISSING else []


def _hidden(option: "Field[Any]") -> Any:
    """The annotation of an option that the short help leaves out."""
    kind, declared = get_args(option.type)
    left_out = copy(declared)
    left_out.hidden = COMPLETING not in os.environ  # a shell completes hidden options never
    return Annotated[kind, left_out]


def _help_all(number: int) -> Any:
    """The option that shows every option."""

    def show(context: typer.Context, wanted: bool) -> None:
        if wanted:
            for parameter in context.command.params:
                parameter.hidden = False  # type: ignore[attr-defined]
            typer.echo(context.get_help())
            raise typer.Exit

    return typer.Option(
        "--help-all",
        help=f"Show all {number} options.",
        is_eager=True,
        callback=show,
    )


def options_given(options: EvalOptions, *, but: Collection[str] = ()) -> list[str]:
    """``--name`` of every option that was given another value than it has by itself.

    Args:
        options: as typed.
        but: fields that do not count.
    """
    names = []
    for item in fields(options):
        usual = item.default if item.default is not MISSING else None
        value = getattr(options, item.name)
        if item.name not in but and value != usual and (value or usual):
            names.append(f"--{item.name.replace('_', '-')}")
    return names
