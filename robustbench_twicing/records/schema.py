"""Columns of a record, and the version that a reader checks."""

import re
from enum import StrEnum
from typing import Annotated, Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..conditions.threat_model import PROTOCOLS
from ..data.imagenet_c import SIDE
from ..errors import UserError

SCHEMA_VERSION = 1


class Status(StrEnum):
    """What became of one image under one condition."""

    OK = "ok"
    ERROR = "error"
    SKIPPED = "skipped"
    MISSING = "missing"


_NAME = pa.dictionary(pa.int32(), pa.string())

RECORD_SCHEMA = pa.schema(
    [
        ("label", _NAME),
        ("dataset", _NAME),
        ("protocol", _NAME),
        ("condition", _NAME),
        ("index", pa.int32()),  # position in the data set
        ("image", pa.string()),  # image id
        ("pixels_sha256", pa.string()),  # of the uint8 pixels, first 16 hex digits
        ("target", pa.int32()),
        ("clean_prediction", pa.int32()),
        ("clean_rank", pa.int32()),  # 0: right before the attack
        ("prediction", pa.int32()),
        ("rank", pa.int32()),  # 0: top-1 right, below 5: top-5 right
        ("clean_loss", pa.float64()),
        ("loss", pa.float64()),
        ("gradient", pa.float64()),  # largest |d loss / d pixel| at the clean image, if computed
        ("rank_8bit", pa.int32()),  # rank after rounding the adversarial image to 8 bits
        ("linf", pa.float64()),  # largest pixel change by an attack, in [0, 1]
        ("status", _NAME),
        ("message", pa.string()),
    ]
)
"""One row per (label, dataset, protocol, condition, image). Facts only; empty where not scored."""


def check_version(found: object, where: str) -> None:
    """Refuse a file of another schema.

    Raises:
        UserError: naming both versions and which side is to be updated.
    """
    if found == SCHEMA_VERSION:
        return
    newer = isinstance(found, int) and found > SCHEMA_VERSION
    advice = "update robustbench-twicing" if newer else "evaluate again with this version"
    raise UserError(f"{where}: schema {found!r}, this version reads {SCHEMA_VERSION}; {advice}")


MOST_PARTS = 1_000_000
"""Of one evaluation; every one of them is looked for."""
_FRACTION = r"^[0-9]{1,2000}(/0*[1-9][0-9]{0,1999})?$"
_PROTOCOL = f"^({'|'.join(map(re.escape, PROTOCOLS))})$"

Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


class _Shape(BaseModel):
    """Strict in what it names; what it does not name is not looked at by any reader."""

    model_config = ConfigDict(strict=True, extra="allow")


class _Record(_Shape):
    model: str
    family: str
    checkpoint: str
    checkpoint_sha256: str
    weights: str
    weights_sha256: str
    notes: list[str]
    flags: list[str]
    details: dict[str, Any]


class _Preprocessing(_Shape):
    crop: Count
    resize: Count | None
    interpolation: str
    mean: Annotated[list[float], Field(min_length=3, max_length=3)]
    std: Annotated[list[float], Field(min_length=3, max_length=3)]


class _Data(_Shape):
    name: str
    source: str
    n_images: Count
    fingerprint: str
    labelling: str
    num_classes: Count | None
    notes: list[str]
    flags: list[str]
    skipped: list[dict[str, str]]
    space: dict[str, Any] | None = None
    typical_side: Count | None = None


class _Evaluation(_Shape):
    label: str
    record: _Record
    preprocessing: _Preprocessing
    dataset: _Data
    conditions: dict[str, Count]


class _Threat(_Shape):
    space: Annotated[str, Field(pattern="^(pixel|normalized)$")]
    clip: bool
    label: str


class _Images(_Shape):
    source: str
    side: Count = SIDE


class _Condition(_Shape):
    id: str
    attack: str
    eps: Annotated[str, Field(pattern=_FRACTION)]
    protocol: Annotated[str, Field(pattern=_PROTOCOL)]
    threat: _Threat
    white_box: bool
    settings: dict[str, bool | int | float | str | None]
    changed: dict[str, Any]
    notes: list[str]
    flags: list[str] = []
    images: _Images | None = None

    @model_validator(mode="after")
    def _changes_its_own(self) -> "_Condition":
        if set(self.changed) - set(self.settings):
            raise ValueError("it changes a constant that it does not have")
        for name in ("steps", "rel_step"):
            if not isinstance(self.settings.get(name, 0), (int, float)):
                raise ValueError(f"{name} is no number")
        return self


class _Manifest(_Shape):
    evaluations: list[_Evaluation]
    conditions: list[_Condition]
    seed: int
    batch_size: Annotated[int, Field(ge=1)]
    on_bad_image: str
    device: str
    attack_precision: str
    left_out: list[str]

    @model_validator(mode="after")
    def _is_readable(self) -> "_Manifest":
        for each in self.evaluations:
            if each.dataset.n_images / self.batch_size > MOST_PARTS:
                raise ValueError(f"{each.dataset.n_images} images in parts of {self.batch_size}")
        return self


def check_shape(values: dict[str, Any], where: str) -> None:
    """Refuse a manifest that no reader could make sense of.

    Args:
        values: a run.json, in the words of today's.
        where: its path.

    Raises:
        UserError: naming the first place that is wrong.
    """
    try:
        _Manifest.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(
            f"{where} is not a manifest of this version: {place}: {first['msg']}"
        ) from error
