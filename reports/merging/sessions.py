"""The processes that worked on runs: machines and versions, and where they were not the same."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.text import read_json

VERSIONS, MACHINES = "mixed-versions", "mixed-machines"
"""Flags of the numbers of a run on which unlike processes worked."""
COMMIT = 10
"""Digits of a commit that are shown."""
MOST_VALUES = 4
"""Values of one fact that a sentence names."""


class _Git(BaseModel):
    commit: str
    dirty: bool


class Session(BaseModel, extra="allow"):
    """What one process wrote down of itself when it began to work on a run."""

    started: str
    robustbench_twicing: str = ""
    git: _Git | None = None
    python: str = ""
    platform: str = ""
    versions: dict[str, str | None] = {}
    device: str = ""
    cpu_capability: str = ""
    threads: int | None = None
    command: list[str] = []

    def commit(self, digits: int | None = None) -> str:
        """Of the checkout, in full or so many digits, and whether it was changed."""
        if self.git is None:
            return "no checkout"
        return f"{self.git.commit[:digits]}{' (changed)' if self.git.dirty else ''}"

    def facts(self, kind: str) -> dict[str, str | None]:
        """What must be equal for numbers of two processes to be computed alike."""
        if kind == MACHINES:
            return {"device": self.device, "CPU capability": self.cpu_capability}
        own = {"robustbench_twicing": self.robustbench_twicing, "commit": self.commit(COMMIT)}
        return {**own, "Python": self.python, **self.versions}


class Mixture(NamedTuple):
    """Facts in which processes differ.

    Attributes:
        flag: `VERSIONS` or `MACHINES`.
        words: like ``torch 2.3.0 and 2.4.0``.
    """

    flag: str
    words: str


def read_sessions(folder: Path) -> list[Session]:
    """Every process that worked on a run, in order of start.

    Raises:
        UserError: a damaged file.
    """
    return [_read(path) for path in sorted((folder / "sessions").glob("*.json"))]


def mixtures(sessions: Sequence[Session]) -> Iterator[Mixture]:
    """In which facts these processes differ; nothing where all were alike."""
    for kind in (VERSIONS, MACHINES):
        each = [session.facts(kind) for session in sessions]
        names = dict.fromkeys(name for facts in each for name in facts)
        values = {name: list(dict.fromkeys(facts.get(name) for facts in each)) for name in names}
        words = [
            f"{name} {_listed([str(value or 'none') for value in found])}"
            for name, found in values.items()
            if len(found) > 1
        ]
        if words:
            yield Mixture(kind, ", ".join(words))


def _listed(values: Sequence[str]) -> str:
    if len(values) <= MOST_VALUES:
        return " and ".join(values)
    return f"{', '.join(values[:MOST_VALUES])} and {len(values) - MOST_VALUES} more"


def _read(path: Path) -> Session:
    try:
        return Session.model_validate(read_json(path, REMEDY))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{path} is damaged ({where}: {first['msg'].lower()}); {REMEDY}") from error


REMEDY = "it only says which machine and versions were used: delete it to report without"
