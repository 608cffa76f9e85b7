"""Read a suite: a file of ours by name, or a user's own by path. It is data, never code."""

from collections.abc import Iterator
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from ..budgets import parse_budget
from ..errors import UserError
from ..imagenet_c import GROUPS, SEVERITIES, parse_corruptions

LARGEST_FILE = 1_000_000
CLEAN = "clean"


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice; YAML's own rule would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                problem = f"{key.value} is given twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


_NOT_YAML = (yaml.YAMLError, ValueError, RecursionError, LookupError, AttributeError, TypeError)
"""What PyYAML raises for bad text: ``!!int ''`` is an IndexError, ``!!timestamp x`` another."""


def _budget(value: object) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("a budget is written like 4/255")
    try:
        return parse_budget(str(value))
    except UserError as error:
        raise ValueError(str(error)) from error


def _corruptions(value: object) -> tuple[str, ...]:
    """Names, of which ``main``, ``extra`` and ``all`` stand for many; one may stand alone."""
    names = value if isinstance(value, (list, tuple)) else [value]
    texts = [name for name in names if isinstance(name, str)]
    if not texts or len(texts) < len(names):
        raise ValueError("a corruption is a name, like fog, or a list of names")
    try:
        return parse_corruptions(",".join(texts))
    except UserError as error:
        raise ValueError(str(error)) from error


def _severities(value: object) -> tuple[int, ...]:
    """Whole numbers; one may stand alone."""
    numbers = value if isinstance(value, (list, tuple)) else [value]
    if not numbers or not all(type(each) is int and each in SEVERITIES for each in numbers):
        raise ValueError("a severity is a whole number from 1 to 5, or a list of them")
    return tuple(dict.fromkeys(numbers))


ProtocolName = Literal["pixel", "paper"]
Budget = Annotated[Fraction, BeforeValidator(_budget)]


class SuiteItem(BaseModel):
    """One attack with its budgets and constants, or corruptions with their severities.

    Attributes:
        attack: a name in the table of attacks, or ``clean``, which has no budgets and constants.
        eps: budgets, in the protocol's own space.
        protocol: another protocol than the suite's.
        settings: constants in place of the protocol's.
        corruption: names of ImageNet-C, in place of an attack.
        severity: of these corruptions; all five unless given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    attack: str | None = None
    eps: tuple[Budget, ...] = ()
    protocol: ProtocolName | None = None
    settings: dict[str, bool | int | float | str] = Field(default_factory=dict)
    corruption: Annotated[tuple[str, ...], BeforeValidator(_corruptions)] = ()
    severity: Annotated[tuple[int, ...], BeforeValidator(_severities)] = SEVERITIES

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.attack is None) != bool(self.corruption):
            raise ValueError("a condition names either an attack or corruptions")
        if self.corruption and self.model_fields_set - {"corruption", "severity"}:
            raise ValueError("corruptions take severity and nothing else: they have no budget")
        if self.attack is not None and "severity" in self.model_fields_set:
            raise ValueError("severity belongs to corruption, not to an attack")
        if self.attack == CLEAN and (self.eps or self.settings):
            raise ValueError("clean takes no budgets and no constants")
        return self


class Suite(BaseModel):
    """An ordered list of conditions under one protocol."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    protocol: ProtocolName = "pixel"
    conditions: tuple[SuiteItem, ...] = Field(min_length=1)

    def budgets(self, attack: str) -> tuple[Fraction, ...]:
        """The attack's budgets here; for an attack that is not here, those of all others."""
        own = [item for item in self.conditions if item.attack == attack]
        found = [eps for item in own or self.conditions for eps in item.eps]
        return tuple(dict.fromkeys(found))


def list_suites() -> list[str]:
    """Names of the suites that come with the package."""
    found = files(__package__).iterdir()
    return sorted(each.name[:-5] for each in found if each.name.endswith(".yaml"))


def load_suite(name: str) -> Suite:
    """A suite of ours by name, or a user's file by a path that ends in .yaml or .yml.

    Raises:
        UserError: no such suite or file, or a line of it is wrong (named, with what is allowed).
    """
    if name in list_suites():
        return parse_suite((files(__package__) / f"{name}.yaml").read_text("utf-8"), name)
    if not name.endswith((".yaml", ".yml")):
        known = ", ".join(list_suites())
        raise UserError(f"no suite is called {name!r}; known: {known}, or give a file .yaml")
    path = Path(name)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{name} is too large for a suite file; it should be a few lines")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"suite file {name} cannot be read: {error}") from error
    return parse_suite(text, name)


def parse_suite(text: str, name: str) -> Suite:
    """Validate a suite's text.

    Raises:
        UserError: naming file and line, what is wrong and what is allowed.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.load(text, _Loader)
    except _NOT_YAML as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"suite file {name} is not YAML: {reason}") from error
    if not isinstance(values, dict):
        raise UserError(
            f"suite file {name} is not a mapping; it has the keys protocol and conditions"
        )
    try:
        return Suite.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        line = _line(node, first["loc"])
        where = ".".join(map(str, first["loc"])) or "the suite"
        allowed = ", ".join(_allowed(first["loc"]))
        raise UserError(
            f"{name}:{line}: {where}: {first['msg']}; allowed here: {allowed}"
        ) from error


def _allowed(location: tuple[Any, ...]) -> Iterator[str]:
    names = [part for part in location if isinstance(part, str)]
    if names[:1] == ["protocol"]:
        yield from get_args(ProtocolName)
    elif names[:1] == ["conditions"] and "eps" in names:
        yield "budgets like 4/255"
    elif names[:1] == ["conditions"] and "corruption" in names:
        yield from (*GROUPS["all"], *GROUPS)
    elif names[:1] == ["conditions"] and "severity" in names:
        yield from map(str, SEVERITIES)
    elif names[:1] == ["conditions"] and len(location) > 1:
        yield from SuiteItem.model_fields
    else:
        yield from Suite.model_fields


def _line(node: Any, location: tuple[Any, ...]) -> int:
    """Line of the deepest part of a location that is in the file, counted from 1."""
    for part in location:
        following = None
        if isinstance(node, yaml.MappingNode):
            pairs = ((key, value) for key, value in node.value if key.value == part)
            following = next((value for _, value in pairs), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            following = node.value[part] if part < len(node.value) else None
        if following is None:
            break
        node = following
    return int(node.start_mark.line) + 1
