"""``config.json`` beside weights, as timm and Hugging Face write it: what the network expects."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..checkpoints.weights import BUNDLED, PRETRAINED
from ..data.preprocessing import INTERPOLATIONS
from ..errors import UserError
from ..files.text import read_json

NAMES = ("config.json", "preprocessor_config.json")
"""The second is Hugging Face's, whose first holds no mean and deviation."""
_RESAMPLE = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
"""Pillow's numbers of filters, as Hugging Face writes them."""


class Expected(NamedTuple):
    """What the files say.

    Attributes:
        parts: of the preprocessing, by name, as `Preprocessing.override` takes them.
        num_classes: length of the network's output; None where nothing says it.
        notes: sentences on what was read, and on what is not done.
    """

    parts: Mapping[str, Any]
    num_classes: int | None = None
    notes: tuple[str, ...] = ()


def read_expected(checkpoint: str | None, *, pixels: bool = False) -> Expected:
    """Read the files beside a checkpoint.

    Args:
        checkpoint: a file, or the folder that holds it; anything else has no such file.
        pixels: the network is own code that is given pixels: mean and std are said, not followed.

    Raises:
        UserError: not JSON, or a value of another form.
    """
    path = Path(checkpoint or "").expanduser()
    if checkpoint in (None, "", PRETRAINED, BUNDLED) or not path.exists():
        return Expected({})
    folder = path if path.is_dir() else path.parent
    files = [folder / name for name in NAMES if (folder / name).is_file()]
    values: dict[str, Any] = {}
    for file in files:
        content = read_json(file, "it says what the network beside it expects")
        if isinstance(content, dict):
            inner = content.get("pretrained_cfg")
            values |= content | (inner if isinstance(inner, dict) else {})
    parts = _parts(values, files[0] if files else folder)
    notes = []
    if parts:
        listed = ", ".join(f"{name} {value}" for name, value in parts.items())
        notes.append(f"{files[0].name} beside the weights says: {listed}.")
    if values.get("crop_mode", "center") != "center":
        notes.append(f"crop_mode {values['crop_mode']!r} of {files[0].name} is not applied.")
    constants = [parts.pop(part) for part in ("mean", "std") if pixels and part in parts]
    if constants:
        said = "/".join(",".join(map(str, triple)) for triple in constants)
        notes.append(
            f"Own code is given pixels: mean and std of {files[0].name} are not applied; if the "
            f"network expects them, say --normalize {said}."
        )
    return Expected(parts, _classes(values), tuple(notes))


def _classes(values: Mapping[str, Any]) -> int | None:
    number, names = values.get("num_classes"), values.get("id2label")
    if type(number) is int and number > 0:
        return number
    return len(names) if isinstance(names, dict) and names else None


def _parts(values: Mapping[str, Any], file: Path) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for part in ("mean", "std"):
        triple = values.get(part, values.get(f"image_{part}"))
        if triple is not None:
            parts[part] = _triple(part, triple, file)
    side = _side(values)
    if side is not None:
        share = values.get("crop_pct") or 1.0
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
            raise UserError(f"{file}: crop_pct {share!r} is not a share of 1; remove or correct it")
        parts |= {"crop": side}
        if "crop_pct" in values:
            parts |= {"resize": int(side / share)}
    name = values.get("interpolation", values.get("resample"))
    name = _RESAMPLE.get(name, name) if type(name) is int else name
    if name is not None and name not in INTERPOLATIONS:
        raise UserError(
            f"{file}: interpolation {name!r} is unknown; known: {', '.join(INTERPOLATIONS)}"
        )
    return parts if name is None else parts | {"interpolation": name}


def _triple(part: str, value: Any, file: Path) -> tuple[float, float, float]:
    numbers = value if isinstance(value, list) else [value]
    numbers = numbers * 3 if len(numbers) == 1 else numbers
    if len(numbers) != 3 or any(type(number) not in (int, float) for number in numbers):
        raise UserError(
            f"{file}: {part} {value!r} is not three numbers; correct or remove the file"
        )
    red, green, blue = map(float, numbers)
    return red, green, blue


def _side(values: Mapping[str, Any]) -> int | None:
    """Of timm's ``input_size`` (channels, height, width), or Hugging Face's ``size``."""
    size = values.get("input_size", values.get("crop_size", values.get("size")))
    if isinstance(size, dict):
        size = size.get("height", size.get("shortest_edge"))
    if size is None:
        size = values.get("image_size")
    if isinstance(size, list) and len(size) == 3 and size[1] == size[2]:
        size = size[1]
    return size if type(size) is int and size > 0 else None
