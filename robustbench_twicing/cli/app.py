"""Commands, and how their failures reach the user: one line and an exit status."""

import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer

from .. import __version__
from ..errors import UserError
from ..files.printable import name_some, one_line
from .commands import (
    analyze,
    attacks,
    compare,
    corrupt,
    data,
    demo,
    efficiency,
    eval,
    inspect,
    models,
    plan,
    report,
    train,
    transfer,
    verify,
)
from .signals import DONE, INCOMPLETE, MISTAKE, UNKNOWN, StoppedError
from .terminal import Console, is_broken, prepare_streams

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Base of the parser's errors, wherever this typer has it from."""
INTERRUPTED = 130
"""What the parser makes of Ctrl-C."""


def build_app() -> typer.Typer:
    """The application with all its commands; torch is not imported."""
    app = typer.Typer(
        name="robustbench-twicing",
        help="Adversarial robustness of vision transformers: evaluate, report, compare.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def about(
        version: bool = typer.Option(
            *(False, "--version", "-V"),
            help="Print the version.",
            is_eager=True,
            callback=_show_version,
        ),
    ) -> None:
        pass

    for command in COMMANDS:
        command.register(app)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        Console().print(__version__, highlight=False)
        raise typer.Exit


COMMANDS = (
    *(demo, eval, plan, transfer, report, compare, verify, inspect, data, corrupt, train, models),
    *(attacks, efficiency, analyze),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Bugs keep their traceback; a user's mistake is one line on standard error.
    """
    if arguments is None:
        prepare_streams()
    try:
        return _run(arguments)
    except OSError as error:
        if not is_broken(sys.stdout):
            raise
        complain(f"standard output cannot be written to: {error.strerror}")
        return MISTAKE
    finally:
        if arguments is None:  # the process ends: one more Ctrl-C adds nothing to what was said
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(arguments: Sequence[str] | None) -> int:
    warnings.filterwarnings("ignore", module=r"PIL\.")  # sizes are checked, metadata is not used
    command = typer.main.get_command(build_app())
    asked = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _check_text(asked)
        status = command.main(
            args=asked,
            prog_name="robustbench-twicing",
            standalone_mode=False,
        )
    except typer.Exit as exit_:
        return exit_.exit_code
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except UserError as error:
        complain(str(error))
        return MISTAKE
    except StoppedError as stopped:
        complain(str(stopped))
        return INCOMPLETE
    except UsageError as error:
        complain(_usage(error, command))
        return MISTAKE if isinstance(error, typer.BadParameter) else UNKNOWN
    if status == INTERRUPTED:
        complain(
            "interrupted; what was finished is kept (eval, transfer, corrupt and train go on with "
            "the same --out)"
        )
        return INCOMPLETE
    return status if isinstance(status, int) else DONE


def _usage(error: Exception, program: Any) -> str:
    """What is wrong with a command line: what is missing, which other commands know an option."""
    asked, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    parameter = getattr(error, "param", None)
    if hasattr(error, "param_type") and context is not None and parameter is not None:
        return _missing(parameter, context.info_name)
    knowing = [
        name
        for name, command in getattr(program, "commands", {}).items()
        if any(asked in parameter.opts for parameter in command.params)
    ]
    if asked is None or context is None or not knowing:
        return str(error.format_message())  # type: ignore[attr-defined]
    others = name_some(knowing, 4)
    return f"No such option: {asked}; {context.info_name} does without it, and it is of {others}"


def _missing(parameter: Any, command: str) -> str:
    """What a command cannot do without, and what that is."""
    kind, name = parameter.param_type_name, parameter.get_error_hint().replace("'", "")
    named = name.upper() if kind == "argument" else name
    return f"Missing {kind} {named} of {command}: {parameter.help} See {command} --help"


def _check_text(arguments: Sequence[str]) -> None:
    """Records are UTF-8, and a name that is not could be written into none of them."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"the argument {argument!r} is not valid UTF-8; rename that file or label"
            ) from error


def complain(message: str) -> None:
    """One line on standard error; none where there is nothing to say, as after the help."""
    line = one_line(message)
    if line:
        sys.stderr.write(f"robustbench-twicing: {line}\n")
