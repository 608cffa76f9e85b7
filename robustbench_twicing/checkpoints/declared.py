"""What a training file says of itself beside its weights: architecture, arguments, epoch."""

import argparse
import types
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import PurePath
from typing import Any

from ..errors import UserError
from ..models.resolve import resolve_model
from ..models.spec import ModelSpec
from .contents import WRAPPERS, entries

LONGEST_VALUE = 200
"""Characters of an argument that are kept."""
MOST_ITEMS, DEEPEST_VALUE = 2**17, 50
"""Of an argument that is shown: items on one level, and levels. Lists that share lists print
without end."""
OVERRIDE_FLAG = "arch-override"
ARGUMENTS = ("args", "hyper_parameters", "config")
"""Where training scripts keep their arguments."""


def training_facts(content: Any) -> dict[str, Any]:
    """Everything at the top of a checkpoint that is not weights, as plain values for a record.

    Returns:
        ``epoch``, ``arch``, ``args`` (a dict), metrics and the like, as far as the file has them.
    """
    facts = {}
    for key, value in entries(content):
        arguments = _arguments(value)
        if key in ARGUMENTS and arguments is not None:
            facts[key] = {str(name): _plain(part) for name, part in arguments.items()}
        elif isinstance(key, str) and key not in WRAPPERS and _is_plain(value):
            facts[key] = _plain(value)
    return facts


def declared_architectures(content: Any) -> dict[str, str]:
    """The names a file gives to its architecture: where it says so -> what it says."""
    facts = training_facts(content)
    named = {key: facts.get(key) for key in ("arch", "architecture", "model_name")}
    for home in ARGUMENTS:
        arguments = facts.get(home)
        if isinstance(arguments, dict):
            named |= {f"{home}.{key}": arguments.get(key) for key in ("model", "arch")}
    return {where: name for where, name in named.items() if isinstance(name, str) and name}


def check_declared(
    named: Mapping[str, str], asked: ModelSpec, *, override: bool, source: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Compare the architecture that a file names with the one that was asked for.

    Args:
        named: as `declared_architectures`.
        asked: the model asked for; its layer placement is compared where the file names one, which
            the files of other training scripts do not.
        override: go on in spite of a contradiction.
        source: what errors call the file.

    Returns:
        Notes, and flags: ``arch-override`` where a contradiction was overridden.

    Raises:
        UserError: the file names another architecture, and `override` is False.
    """
    notes: list[str] = []
    flags: tuple[str, ...] = ()
    for where, name in named.items():
        try:
            declared = resolve_model(name)
        except UserError:
            notes.append(f"The file names its architecture {name!r} ({where}), unknown here.")
            continue
        if _same(declared, asked, placed="[" in name):
            continue
        if not override:
            raise UserError(
                f"{source} says it is {name} ({where}), but {asked.name} was asked for; "
                f"ask for {declared.name}, or insist with --arch-override, which stays on record"
            )
        notes.append(f"The file says it is {name} ({where}); evaluated as {asked.name} by request.")
        flags = (OVERRIDE_FLAG,)
    return tuple(dict.fromkeys(notes)), flags


def _same(declared: ModelSpec, asked: ModelSpec, *, placed: bool) -> bool:
    if declared.name == asked.name:
        return True
    if declared.name.split("[")[0] == asked.name.split("[")[0]:
        return not placed
    theirs = (declared.timm_name or "").split(".")[0]
    return asked.family == "timm" and theirs == (asked.timm_name or "").split(".")[0]


def _arguments(value: Any) -> Mapping[Any, Any] | None:
    if isinstance(value, (argparse.Namespace, types.SimpleNamespace)):
        return vars(value)
    return dict(entries(value)) if isinstance(value, dict) else None


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, PurePath))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = str(value) if isinstance(value, (str, PurePath)) else _shown(value)
    # A pickle's text may hold halves of surrogate pairs, for which records have no bytes.
    return text[:LONGEST_VALUE].encode("utf-8", "backslashreplace").decode()


def _shown(value: Any) -> str:
    """What Python prints of a value, or only its type where that would take without end."""
    level = [value]
    for _ in range(DEEPEST_VALUE):
        level = list(islice((item for part in level for item in _items(part)), MOST_ITEMS + 1))
        if not level:
            try:
                return repr(value)
            except (TypeError, ValueError, AttributeError):
                break
        if len(level) > MOST_ITEMS:
            break
    return f"a {type(value).__name__} that cannot be shown"


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, (argparse.Namespace, types.SimpleNamespace)):
        value = vars(value)
    if isinstance(value, dict):
        return [part for entry in entries(value) for part in entry]
    return value if isinstance(value, (list, tuple, set)) else ()
