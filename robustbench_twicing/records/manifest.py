"""run.json: everything a reader needs to trust or repeat the numbers."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self

from pydantic import Field, TypeAdapter, ValidationError

from ..conditions.condition import Condition
from ..conditions.threat_model import PROTOCOLS
from ..data.dataset import Skipped
from ..data.imagenet import LabelSpaceRecord
from ..data.preprocessing import Preprocessing
from ..errors import UserError
from ..files.atomic import asked
from ..files.printable import count
from ..files.text import read_json
from ..models.family import ModelRecord
from .first_version import completed
from .schema import MOST_DRAWS, SCHEMA_VERSION, check_version

SETTINGS = "run.json"
"""Name of the file; the folder that has it is a run folder."""
PARTS, SESSIONS = "parts", "sessions"
"""Folders beside it."""
MOST_PARTS = 1_000_000
"""Of one evaluation; every one of them is looked for."""
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


def read_settings(path: Path) -> Any:
    """What run.json holds; None where there is none.

    Raises:
        UserError: it cannot be read, or is not JSON.
    """
    file = path / SETTINGS
    return read_json(file) if asked(file, file.exists) else None


def binding_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """The words of run.json that bind its parts to it.

    Not what to do with images that cannot be read: that changes no finished part.
    """
    values: dict[str, Any] = json.loads(json.dumps(settings))
    values.pop("on_bad_image", None)
    return values


@dataclass(frozen=True)
class DatasetRecord:
    """What a manifest says of a data set.

    Attributes:
        name: see `Dataset`, as for all that is not named here.
        n_images: how many are evaluated.
        fingerprint: hash over names, labels and sizes or pixels of all images.
        skipped: files that were left out, and why.
        space: labels that are not simply the model's logits.
        limit_seed: of the choice of a subset; None where there was none.
        typical_side: median of the shorter side, in pixels; known where images are corrupted.
        right_labels_sha256: where images may have several, the hash of these; see `RightLabels`.
    """

    name: str
    source: str
    n_images: Count
    fingerprint: str
    labelling: str
    num_classes: Count | None
    space: LabelSpaceRecord | None = None
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    limit_seed: int | None = None
    typical_side: Count | None = None
    right_labels_sha256: str | None = None


@dataclass(frozen=True)
class Evaluation:
    """One model on one data set.

    Attributes:
        label: name in tables.
        record: of the model.
        preprocessing: of the model.
        dataset: see `DatasetRecord`.
        conditions: key (``pixel:clean``) of every condition, in order, and how many of the data
            set's images it is about.
    """

    label: str
    record: ModelRecord
    preprocessing: Preprocessing
    dataset: DatasetRecord
    conditions: dict[str, Count]


@dataclass(frozen=True)
class Manifest:
    """What was asked for; `records.identity` says when two are of the same run.

    Attributes:
        evaluations: what is evaluated, one entry per model and data set.
        conditions: those of all data sets, each once.
        seed: base seed of every random stream.
        part_size: images of one part, the range of images that one Parquet file holds.
        on_bad_image: ``stop`` or ``skip``.
        device: kind of device, ``cpu`` or ``cuda``.
        attack_precision: number format of the attacks' passes; scores are always in fp32.
        score_8bit: which adversarial images are scored rounded to 8 bits, too: ``all`` or a
            ``sample``.
        mode: ``full``, or ``survivors``: attacked were images that no attack before had fooled.
        left_out: names of data sets that the suite has and the user left out.
        draws: of the network, in each of which every image is scored.
        schema: version of the format.
    """

    evaluations: tuple[Evaluation, ...]
    conditions: tuple[Condition, ...]
    seed: int
    part_size: Annotated[int, Field(ge=1, alias="batch_size")]  # its name in version 1
    on_bad_image: str = "stop"
    device: str = "cpu"
    attack_precision: str = "fp32"
    score_8bit: str = "sample"
    mode: Literal["full", "survivors"] = "full"
    left_out: tuple[str, ...] = ()
    draws: Annotated[int, Field(ge=1, le=MOST_DRAWS)] = 1
    schema: int = SCHEMA_VERSION

    def conditions_of(self, evaluation: Evaluation) -> tuple[Condition, ...]:
        """The conditions of one model on one data set, in order."""
        by_key = {condition.key: condition for condition in self.conditions}
        return tuple(by_key[key] for key in evaluation.conditions)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values: dict[str, Any] = _ADAPTER.dump_python(
            self,
            mode="json",
            by_alias=True,
            warnings=False,  # lists where tuples are meant
        )
        for evaluation in values["evaluations"]:
            for name in ("limit_seed", "typical_side", "right_labels_sha256"):
                if evaluation["dataset"][name] is None:
                    del evaluation["dataset"][name]  # of what is not chosen, corrupted, several
        for condition in values["conditions"]:
            if not condition["code_sha256"]:
                del condition["code_sha256"]  # this suite's own
        return values

    @classmethod
    def from_json(cls, values: Any, where: str) -> Self:
        """Read it back.

        Args:
            values: what run.json holds.
            where: its path, for messages.

        Raises:
            UserError: another schema, or not a manifest; naming the first place that is wrong.
        """
        if not isinstance(values, dict):
            raise UserError(f"{where} is not a manifest: it holds no settings")
        check_version(values.get("schema"), where)
        values = completed(values)
        names = {"batch_size" if name.name == "part_size" else name.name for name in fields(cls)}
        if set(values) != names:
            _refuse(where, f"check {', '.join(sorted(set(values) ^ names))}")
        try:
            manifest: Self = _ADAPTER.validate_json(_as_text(values), strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            _refuse(where, f"{'.'.join(map(str, first['loc']))}: {first['msg']}", error)
        for problem in _contradictions(manifest):
            _refuse(where, problem)
        return manifest


_ADAPTER: TypeAdapter[Any] = TypeAdapter(Manifest)


def _as_text(values: Any) -> str:
    """As JSON; halves of surrogate pairs, which JSON can hold and UTF-8 cannot, are spelt out."""
    text = json.dumps(values, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda half: f"\\\\u{ord(half[0]):04x}", text)


def _refuse(where: str, reason: str, cause: Exception | None = None) -> NoReturn:
    raise UserError(f"{where} is not a manifest of this version: {reason}") from cause


def _contradictions(manifest: Manifest) -> Iterator[str]:
    """What is wrong with a manifest whose values are right one by one."""
    keys = {condition.key for condition in manifest.conditions}
    pairs = {(evaluation.label, evaluation.dataset.name) for evaluation in manifest.evaluations}
    if not manifest.evaluations:
        yield "it names no model"
    if len(keys) < len(manifest.conditions):
        yield "a condition is there twice"
    if len(pairs) < len(manifest.evaluations):
        yield "a model is there twice on one data set"
    for evaluation in manifest.evaluations:
        if set(evaluation.conditions) - keys:
            yield "a condition is not there"
        if evaluation.dataset.n_images / manifest.part_size > MOST_PARTS:
            yield f"{count(evaluation.dataset.n_images, 'image')} in parts of {manifest.part_size}"
    for condition in manifest.conditions:
        yield from (f"{condition.id}: {problem}" for problem in _wrong_in(condition))


def _wrong_in(condition: Condition) -> Iterator[str]:
    if condition.protocol not in PROTOCOLS:
        yield f"protocol {condition.protocol!r} is unknown"
    if set(condition.changed) - set(condition.settings):
        yield "it changes a constant that it does not have"
    for name in ("steps", "rel_step"):
        if not isinstance(condition.settings.get(name, 0), (int, float)):
            yield f"{name} is no number"
