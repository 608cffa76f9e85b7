"""Settings, versions and hashes: what a reader needs to repeat the numbers."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from robustbench_twicing.files.printable import count

from ...merging.entry import Entry
from ...merging.runs import Runs
from ...merging.sessions import Session, read_sessions
from ...metrics.preprocessing import preprocessing_origins

PACKAGES = ("torch", "timm", "pyautoattack", "torchattacks", "foolbox")
"""Whose versions are shown."""
SHORT = 10
"""Digits of a commit."""


class Grid(NamedTuple):
    """A table of settings.

    Attributes:
        caption: one line.
        numbers: by name of a column, whether it holds numbers only; the first names the row.
        rows: values by column; None where there is none.
    """

    caption: str
    numbers: Mapping[str, bool]
    rows: Sequence[Mapping[str, Any]]


def sessions_of(runs: Runs) -> list[Session]:
    """The processes that worked on these runs, in order of start.

    Raises:
        UserError: a damaged file.
    """
    folders = dict.fromkeys(folder for entry in runs.entries for folder in entry.folders)
    sessions = [session for folder in folders for session in read_sessions(folder)]
    return sorted(sessions, key=lambda session: session.started)


def provenance(runs: Runs, sessions: Sequence[Session]) -> list[Grid]:
    """Tables of models, preprocessing, data, settings of attacks, runs, and processes."""
    tables = {
        "Models and weights": [_model(entry) for entry in runs.entries],
        "Preprocessing": [_preprocessing(entry) for entry in runs.entries],
        "Data": [_data(entry) for entry in runs.entries],
        "Attacks": [_condition(entry) for entry in runs.entries],
        "Runs": [_run(entry) for entry in runs.entries],
        "Processes and their software": [_process(session) for session in sessions],
    }
    return [_grid(caption, rows) for caption, rows in tables.items() if rows]


def _grid(caption: str, rows: Sequence[Mapping[str, Any]]) -> Grid:
    """With rows that are alike shown once."""
    different: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in rows:
        different.setdefault(tuple(map(str, row.values())), row)
    shown = list(different.values())
    numbers = {name: all(isinstance(row[name], int | float) for row in shown) for name in rows[0]}
    return Grid(caption, numbers, shown)


def _model(entry: Entry) -> dict[str, Any]:
    record = entry.evaluation.record
    return {
        "label": entry.label,
        "model": record.model,
        "checkpoint": record.checkpoint,
        "checkpoint SHA-256": record.checkpoint_sha256,
        "weights": record.weights,
        "weights SHA-256": record.weights_sha256,
        "parameters": record.details.get("parameters"),
    }


def _preprocessing(entry: Entry) -> dict[str, Any]:
    parts = entry.evaluation.preprocessing
    return {
        "label": entry.label,
        "resize": f"{parts.resize} x {parts.resize}" if parts.squash else parts.resize,
        "crop": parts.crop,
        "interpolation": parts.interpolation,
        "mean": " ".join(f"{channel:g}" for channel in parts.mean),
        "std": " ".join(f"{channel:g}" for channel in parts.std),
        "said by": preprocessing_origins(entry),
    }


def _data(entry: Entry) -> dict[str, Any]:
    dataset = entry.evaluation.dataset
    return {
        "data set": dataset.name,
        "images": dataset.n_images,
        "source": dataset.source,
        "labels": dataset.labelling,
        "classes": dataset.num_classes,
        "convention": "" if dataset.space is None else dataset.space.convention,
        "fingerprint": dataset.fingerprint,
        "left out": len(dataset.skipped),
    }


def _condition(entry: Entry) -> dict[str, Any]:
    condition, threat = entry.condition, entry.condition.threat
    settings = (f"{name}={value}" for name, value in condition.settings.items())
    return {
        "condition": condition.id,
        "protocol": condition.protocol,
        "budget": str(condition.eps),
        "space": threat.space,
        "clipped": "yes" if threat.clip else "no",
        "away from": f"{threat.label} label",
        "constants": ", ".join(settings),
        "code": condition.code_sha256[:16],
    }


def _run(entry: Entry) -> dict[str, Any]:
    manifest = entry.manifest
    return {
        "run folder": ", ".join(folder.name for folder in entry.folders),
        "seed": manifest.seed,
        "part size": manifest.part_size,
        "device": manifest.device,
        "attack precision": manifest.attack_precision,
        "schema": manifest.schema,
    }


def _process(session: Session) -> dict[str, Any]:
    versions = session.versions
    return {
        "started": session.started,
        "robustbench_twicing": session.robustbench_twicing,
        "commit": session.commit(),
        "python": session.python,
        **{name: versions.get(name) for name in PACKAGES},
        "device": session.device,
        "threads": session.threads,
        "platform": session.platform,
        "command": command_of(session),
    }


def commands(sessions: Sequence[Session]) -> list[str]:
    """The different commands of these processes, to be typed again."""
    typed = (command_of(session) for session in sessions if session.command)
    return list(dict.fromkeys(typed))


def command_of(session: Session) -> str:
    """The command of a process as a shell takes it, the script by its name."""
    if not session.command:
        return ""
    script, *arguments = session.command
    program = PurePath(script).name
    python = ["python"] if program.endswith(".py") else []
    return shlex.join([*python, program, *arguments])


def software(sessions: Sequence[Session]) -> str:
    """Versions, machine and start of the last process in a line, and how many others there are."""
    if not sessions:
        return ""
    session = sessions[-1]
    versions = [
        f"{name} {session.versions[name]}" for name in PACKAGES if session.versions.get(name)
    ]
    facts = [
        f"robustbench_twicing {session.robustbench_twicing} ({session.commit(SHORT)})",
        f"Python {session.python}",
        *versions,
        f"{session.device}, {count(session.threads or 0, 'thread')}",
        f"started {session.started[:16].replace('T', ' ')} UTC",
    ]
    others = count(len(sessions) - 1, "other process", "other processes")
    return ", ".join(facts) + (f"; and {others}, see below" if len(sessions) > 1 else "")
