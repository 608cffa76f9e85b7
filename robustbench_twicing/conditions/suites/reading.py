"""Read a suite: a file of ours by name, or a user's own by path. It is data, never code."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from ...data.imagenet_c import GROUPS, SEVERITIES
from ...data.known_sets.table import KNOWN_SETS
from ...errors import UserError
from ...files.atomic import is_there
from ...files.text import read_text
from ...files.yaml_text import parse_mapping
from ...registry import did_you_mean, unknown
from .items import ProtocolName, Suite, SuiteItem

ENDINGS = (".yaml", ".yml")
LARGEST_FILE = 100_000
"""Bytes; a suite is a few lines."""


def list_suites() -> list[str]:
    """Names of the suites that come with the package."""
    entries = files(__package__).iterdir()
    return sorted(entry.name[:-5] for entry in entries if entry.name.endswith(".yaml"))


def load_suite(name: str) -> Suite:
    """A suite of ours by name, or a user's file by a path that ends in .yaml or .yml.

    Raises:
        UserError: no such suite or file, or a line of it is wrong (named, with what is allowed).
    """
    if name in list_suites():
        text = (files(__package__) / f"{name}.yaml").read_text("utf-8")
        return _with_included(parse_suite(text, name), name)
    path = Path(name)
    if path.suffix not in ENDINGS:
        known, hint = ", ".join(list_suites()), did_you_mean(name, list_suites())
        raise UserError(f"no suite is called {name!r}.{hint} Known: {known}, or give a file .yaml")
    if not is_there(path):
        beside = [str(other) for ending in ENDINGS for other in path.parent.glob(f"*{ending}")]
        hint = did_you_mean(name, beside) or did_you_mean(path.stem, list_suites())
        raise UserError(f"there is no suite file {name}.{hint} Known: {', '.join(list_suites())}")
    text = read_text(path, LARGEST_FILE)
    return _with_included(parse_suite(text, name), name)


def _with_included(suite: Suite, name: str) -> Suite:
    """The suite with the conditions of those that it includes, none of them twice."""
    items: list[SuiteItem] = []
    for included in suite.include:
        if included not in list_suites():
            raise unknown(f"{name}: the included suite", included, list_suites())
        other = load_suite(included)
        if other.include:
            raise UserError(f"{name} includes {included}, which includes others itself")
        for item in other.conditions:
            fixed = item.corruption or item.dataset or item.protocol
            items.append(item if fixed else item.model_copy(update={"protocol": other.protocol}))
    items += suite.conditions
    once = {item.model_dump_json(): item for item in items}
    return suite.model_copy(update={"conditions": tuple(once.values())})


def parse_suite(text: str, name: str) -> Suite:
    """Validate a suite's text.

    Raises:
        UserError: naming file and line, what is wrong and what is allowed.
    """
    mapping = parse_mapping(text, f"suite file {name}", "protocol and conditions")
    protocol = mapping.values.get("protocol")
    try:
        return Suite.model_validate(mapping.values, context={"protocol": protocol})
    except ValidationError as error:
        first = error.errors()[0]
        line = mapping.line(first["loc"])
        where = ".".join(map(str, first["loc"])) or "the suite"
        allowed = ", ".join(_allowed(first["loc"]))
        wrong = f"{where}: {first['msg']}"
        if first["type"] == "extra_forbidden":
            wrong = f"{first['loc'][-1]!r} means nothing here"
        raise UserError(f"{name}:{line}: {wrong}; allowed here: {allowed}") from error


def _allowed(location: tuple[Any, ...]) -> Iterator[str]:
    names = [part for part in location if isinstance(part, str)]
    if names[:1] == ["protocol"]:
        yield from get_args(ProtocolName)
    elif names[:1] == ["conditions"] and "eps" in names:
        yield "budgets like 4/255, 0.5 under protocol l2, 32 under protocol patch"
    elif names[:1] == ["conditions"] and "corruption" in names:
        yield from (*GROUPS["all"], *GROUPS)
    elif names[:1] == ["conditions"] and "dataset" in names:
        yield from (known.name for known in KNOWN_SETS.values() if known.shifted)
    elif names[:1] == ["conditions"] and "severity" in names:
        yield from map(str, SEVERITIES)
    elif names[:1] == ["conditions"] and len(location) > 1:
        yield from SuiteItem.model_fields
    else:
        yield from Suite.model_fields
