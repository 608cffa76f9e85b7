"""The processes that worked on runs: machines and versions, and where they were not the same."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.atomic import asked
from robustbench_twicing.files.printable import name_some
from robustbench_twicing.files.text import read_json
from robustbench_twicing.records.manifest import Manifest

VERSIONS, MACHINES = "mixed-versions", "mixed-machines"
"""Flags of the numbers of a run on which unlike processes worked."""
NOTED_LATER = ("kernels", "batch size", "pyautoattack")
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
    kernels: str = ""
    batch_size: int | Literal["auto"] | None = None
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
            computing = {"kernels": self.kernels, "batch size": self.batch_size}
            noted = {name: str(value) for name, value in computing.items() if value}
            return {"device": self.device, "CPU capability": self.cpu_capability, **noted}
        suite = {"robustbench_twicing": self.robustbench_twicing, "commit": self.commit(COMMIT)}
        return {**suite, "Python": self.python, **self.versions}


def read_sessions(folder: Path, kernels: str = "") -> list[Session]:
    """Every process that worked on a run, in order of start.

    Args:
        folder: of the run.
        kernels: of a process that does not say it itself.

    Raises:
        UserError: a damaged file, or the system does not say which there are.
    """
    place = folder / "sessions"
    files = asked(place, lambda: sorted(place.iterdir())) or []
    sessions = [_read(path) for path in files if path.suffix == ".json"]
    return [
        session.model_copy(update={"kernels": session.kernels or kernels}) for session in sessions
    ]


def kernels_of(manifest: Manifest) -> str:
    """How processors compute by the manifest, where early versions noted it for all processes."""
    details = [evaluation.record.details for evaluation in manifest.evaluations]
    names = {
        f"{model['kernels']} {model['memory_format']}" for model in details if "kernels" in model
    }
    return ", ".join(sorted(names))


def mixtures(sessions: Sequence[Session]) -> Iterator[tuple[str, str]]:
    """In which facts these processes differ; nothing where all were alike.

    Yields:
        `VERSIONS` or `MACHINES`, and the facts, like ``torch 2.3.0 and 2.4.0``.
    """
    for kind in (VERSIONS, MACHINES):
        facts = [session.facts(kind) for session in sessions]
        names = dict.fromkeys(name for session_facts in facts for name in session_facts)
        values = {name: _values(name, facts) for name in names}
        words = [
            f"{name} {_listed([str(value or 'none') for value in different])}"
            for name, different in values.items()
            if len(different) > 1
        ]
        if words:
            yield kind, ", ".join(words)


def _values(name: str, facts: Sequence[Mapping[str, str | None]]) -> list[str | None]:
    """The different values of a fact; early versions did not note all of them."""
    values = dict.fromkeys(session_facts.get(name) for session_facts in facts)
    return [value for value in values if value is not None or name not in NOTED_LATER]


def _listed(values: Sequence[str]) -> str:
    if len(values) <= MOST_VALUES:
        return " and ".join(values)
    return name_some(values, MOST_VALUES)


def _read(path: Path) -> Session:
    try:
        return Session.model_validate(read_json(path, REMEDY))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UserError(f"{path} is damaged ({where}: {first['msg'].lower()}); {REMEDY}") from error


REMEDY = "it only says which machine and versions were used: delete it to report without"
