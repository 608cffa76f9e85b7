"""What a manifest must look like to be read: types and ranges, for files that others wrote."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..conditions.threat_model import PROTOCOLS
from ..data.imagenet_c import SIDE
from ..errors import UserError

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
