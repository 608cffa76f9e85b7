"""Settings, versions and hashes: what a reader needs to repeat the numbers."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...merging.entry import Entry
from ...merging.runs import Runs
from ...merging.sessions import Session, read_sessions


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
    """Tables of models, preprocessing, data, settings of attacks, runs, and software."""
    tables = {
        "Models and weights": [_model(entry) for entry in runs.entries],
        "Preprocessing": [_preprocessing(entry) for entry in runs.entries],
        "Data": [_data(entry) for entry in runs.entries],
        "Attacks": [_condition(entry) for entry in runs.entries],
        "Runs": [_run(entry) for entry in runs.entries],
        "Software and machines": [_software(session) for session in sessions],
        "Commands": [_command(session) for session in sessions],
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


def _software(session: Session) -> dict[str, Any]:
    versions = session.versions
    return {
        "robustbench_twicing": session.robustbench_twicing,
        "commit": session.commit(),
        "python": session.python,
        **{
            name: versions.get(name)
            for name in ("torch", "timm", "pyautoattack", "torchattacks", "foolbox")
        },
        "device": session.device,
        "threads": session.threads,
        "platform": session.platform,
    }


def _command(session: Session) -> dict[str, Any]:
    return {"started": session.started, "command": " ".join(session.command)}
