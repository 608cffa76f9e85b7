"""run.json: everything a reader needs to trust or repeat the numbers."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, Self

from ..errors import UserError
from ..files.atomic import asked
from ..files.text import read_json
from .schema import SCHEMA_VERSION, check_shape, check_version

SETTINGS = "run.json"
"""Name of the file; the folder that has it is a run folder."""
PARTS, SESSIONS = "parts", "sessions"
"""Folders beside it."""


def read_settings(path: Path) -> Any:
    """What run.json holds; None where there is none.

    Raises:
        UserError: it cannot be read, or is not JSON.
    """
    file = path / SETTINGS
    return read_json(file) if asked(file, file.exists) else None


def comparable(settings: dict[str, Any]) -> dict[str, Any]:
    """What must be equal for a run to be continued.

    Not what to do with images that cannot be read: that changes no finished part.
    """
    values: dict[str, Any] = json.loads(json.dumps(settings))
    values.pop("on_bad_image", None)
    plain = {name: each for name, each in values.items() if not isinstance(each, (list, dict))}
    return plain | values  # another seed is named as such, not by the subset that it draws


@dataclass(frozen=True)
class Evaluation:
    """One model on one data set.

    Attributes:
        label: name in tables.
        record: `ModelRecord` as plain values.
        preprocessing: `Preprocessing` as plain values.
        dataset: name, source, fingerprint, counts, labelling, skipped files, notes, flags.
        conditions: key (``pixel:clean``) of every condition, in order, and how many of the data
            set's images it is about.
    """

    label: str
    record: dict[str, Any]
    preprocessing: dict[str, Any]
    dataset: dict[str, Any]
    conditions: dict[str, int]


@dataclass(frozen=True)
class Manifest:
    """What was asked for; a run folder is continued only with an equal one.

    Attributes:
        evaluations: what is evaluated, one entry per model and data set.
        conditions: id, attack, eps (exact fraction), threat model, constants, protocol; those of
            all data sets, each once.
        left_out: names of data sets that the suite has and the user left out.
        seed: base seed of every random stream.
        batch_size: images per batch, which is also the range of one part.
        on_bad_image: ``stop`` or ``skip``.
        device: kind of device, ``cpu`` or ``cuda``.
        attack_precision: number format of the attacks' passes; scores are always in fp32.
        schema: version of the format.
    """

    evaluations: tuple[Evaluation, ...]
    conditions: tuple[dict[str, Any], ...]
    seed: int
    batch_size: int
    on_bad_image: str = "stop"
    device: str = "cpu"
    attack_precision: str = "fp32"
    left_out: tuple[str, ...] = ()
    schema: int = field(default=SCHEMA_VERSION)

    def conditions_of(self, evaluation: Evaluation) -> tuple[dict[str, Any], ...]:
        """The conditions of one model on one data set, in order."""
        known = {condition_key(each): each for each in self.conditions}
        return tuple(known[key] for key in evaluation.conditions)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any, where: str) -> Self:
        """Read it back.

        Raises:
            UserError: another schema, or not a manifest.
        """
        if not isinstance(values, dict):
            raise UserError(f"{where} is not a manifest: it holds no settings")
        check_version(values.get("schema"), where)
        values = _completed(values)
        wanted = {each.name for each in fields(cls)}
        if set(values) != wanted:
            odd = ", ".join(sorted(set(values) ^ wanted))
            raise UserError(f"{where} is not a manifest of this version: check {odd}")
        check_shape(values, where)
        try:
            evaluations = tuple(Evaluation(**each) for each in values["evaluations"])
            conditions = tuple(values["conditions"])
            left_out = tuple(values["left_out"])
        except TypeError as error:
            raise UserError(f"{where} is not a manifest of this version: {error}") from error
        own = {"evaluations": evaluations, "conditions": conditions, "left_out": left_out}
        found = cls(**{**values, **own})
        known = {condition_key(each) for each in conditions}
        if any(set(each.conditions) - known for each in evaluations):
            raise UserError(f"{where} is not a manifest of this version: a condition is not there")
        return found


def _completed(values: dict[str, Any]) -> dict[str, Any]:
    """A manifest of one data set, from before a run had several, in the words of today's."""
    try:
        keys = [condition_key(each) for each in values["conditions"]]
        evaluations = [
            {"conditions": dict.fromkeys(keys, int(each["dataset"]["n_images"])), **each}
            for each in values["evaluations"]
        ]
    except (TypeError, KeyError, ValueError):
        return values  # no manifest; the caller says so
    return {"left_out": [], **values, "evaluations": evaluations}


def condition_key(condition: Mapping[str, Any]) -> str:
    """What tells a run's conditions apart: protocol and id."""
    return f"{condition['protocol']}:{condition['id']}"


class Difference(NamedTuple):
    """Where two nested plain values differ first.

    Attributes:
        path: of the value, like ``evaluations[0].label``.
        old: the first side's value, short.
        new: the second side's.
    """

    path: str
    old: str
    new: str


def first_difference(old: Any, new: Any, path: str = "") -> Difference | None:
    """Where two nested plain values differ first; None where they are equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            name = f"{path}.{key}" if path else str(key)
            found = first_difference(old.get(key), new.get(key), name)
            if found:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            found = first_difference(one, other, f"{path}[{index}]")
            if found:
                return found
        return None
    return None if old == new else Difference(path, _short(old), _short(new))


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} entries"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def other_settings(path: Path, difference: Difference) -> str:
    """Why a folder cannot be gone on with, and what to type instead."""
    if difference.path.endswith(".details.kernels"):  # the default depends on the processor
        made, asked = difference.old.strip("'"), difference.new.strip("'")
        return (
            f"{path} was made with --kernels {made}, {asked} is asked for; "
            f"give --kernels {made}, or use another --out"
        )
    return (
        f"{path} was made with other settings ({difference.path}: {difference.old} "
        f"there, {difference.new} asked for); use another --out"
    )
