"""Mistakes of a script in the words of a script: arguments in place of options."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..errors import UserError

OPTION = "--([a-z]+(?:-[a-z]+)*)"
OPTIONS = re.compile(
    rf"(?<![\w./-]){OPTION}(?:(?:, | and | or ){OPTION})*( (?=['\"0-9-]|skip|clean))?"
)
"""One option, or several in a row, and the space before a value."""
ARGUMENTS: Mapping[str, str] = {
    **dict.fromkeys(("data", "data-root", "labels", "classes"), "data"),
    **dict.fromkeys(("model", "checkpoint", "weights", "crop", "resize", "interpolation"), "model"),
    **dict.fromkeys(("suite", "attacks", "eps", "protocol", "set"), "conditions"),
    **dict.fromkeys(("corruptions", "severities", "imagenet-c"), "conditions"),
    **dict.fromkeys(("imagenet-c-jpeg", "imagenet-c-size", "frost-dir"), "conditions"),
    **{"normalize": "mean and std", "num-classes": "num_classes", "limit-seed": "limit_seed"},
    **{"batch-size": "batch_size", "on-bad-image": "on_bad_image"},
    **{name: name for name in ("out", "limit", "mean", "std", "seed", "label", "device")},
    **{name: name for name in ("workers", "cache", "survivors", "expectation", "draws")},
}
"""Of `evaluate`, by the option of the command line; others are options alone, and stay."""


@contextmanager
def arguments_named() -> Iterator[None]:
    """A `UserError` that is raised inside names arguments of `evaluate`."""
    try:
        yield
    except UserError as error:
        error.args = tuple(
            in_python(value) if isinstance(value, str) else value for value in error.args
        )
        raise


def in_python(message: str) -> str:
    """A message with arguments of `evaluate` in place of options of the command line."""
    return OPTIONS.sub(_arguments, message)


def _arguments(options: re.Match[str]) -> str:
    names = [
        argument
        for option in re.findall(OPTION, options[0])
        for argument in ARGUMENTS.get(option, f"--{option}").split(" and ")
    ]
    *first, last = (name if name.startswith("--") else f"{name}=" for name in dict.fromkeys(names))
    joint = " or " if " or " in options[0] else " and "
    space = "" if last.endswith("=") else options[options.re.groups] or ""
    return (f"{', '.join(first)}{joint}{last}" if first else last) + space
