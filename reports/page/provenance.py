"""Settings, versions and hashes: what a reader needs to repeat the numbers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..merging.runs import Entry, Runs
from ..merging.sessions import Session, read_sessions
from .grid import Grid, table_of


def sessions_of(runs: Runs) -> list[Session]:
    """The processes that worked on these runs, in order of start.

    Raises:
        UserError: a damaged file.
    """
    folders = dict.fromkeys(folder for entry in runs.entries for folder in entry.folders)
    sessions = [each for folder in folders for each in read_sessions(folder)]
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
    return [table_of(caption, list(_once(rows))) for caption, rows in tables.items() if rows]


def _once(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    seen = set()
    for row in rows:
        key = tuple(map(str, row.values()))
        if key not in seen:
            seen.add(key)
            yield row


def _model(entry: Entry) -> dict[str, Any]:
    record = entry.evaluation.record
    return {
        "label": entry.evaluation.label,
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
        "label": entry.evaluation.label,
        "resize": parts.resize,
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
        **{name: versions.get(name) for name in ("torch", "timm", "torchattacks", "foolbox")},
        "device": session.device,
        "threads": session.threads,
        "platform": session.platform,
    }


def _command(session: Session) -> dict[str, Any]:
    return {"started": session.started, "command": " ".join(session.command)}
