"""``preprocessor_config.json``: an image processor of transformers, as parts of a preprocessing.

Its settings mean what they mean in transformers: a size of height and width squashes, one of the
shortest edge keeps proportions, and ConvNeXT's ``crop_pct`` counts below 384 pixels.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...data.preprocessing import INTERPOLATIONS
from ...errors import UserError
from ...registry import unknown

_RESAMPLE = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
"""Pillow's numbers of filters."""
SQUARE = ("vit", "deit", "beit")
"""How the types begin for which one number is both sides; of others it may be one."""
OTHER_STEPS = ("do_flip_channel_order", "do_pad", "include_top")
"""Steps of some processors that change pixels and are not done here."""
LARGEST_SIDE = 4096
"""Pixels of a network's input; a network for more of them would have to be very large."""
LARGEST_NUMBER, LEAST_SHARE = 1e30, 0.01
SMALL = 384
"""Pixels from which on ConvNeXT's processor squashes in place of cropping."""


def parts_of_processor(
    values: Mapping[str, Any], config: Mapping[str, Any], file: Path
) -> dict[str, Any]:
    """The parts of a preprocessing that a processor's settings stand for.

    Args:
        values: of preprocessor_config.json.
        config: of config.json beside it, whose model type tells which processor it is.
        file: of the first, for errors.

    Raises:
        UserError: settings that cannot be followed.
    """
    for step in OTHER_STEPS:
        if values.get(step):
            raise _refused(file, f"{step} {values[step]!r}")
    parts = {**_sides(values, _kind(values, config), file), **_constants(values, file)}
    name = values.get("resample")
    name = _RESAMPLE.get(name, name) if type(name) is int else name
    if name is not None and name not in INTERPOLATIONS:
        raise unknown(f"{file}: interpolation", name, INTERPOLATIONS)
    return parts if name is None else parts | {"interpolation": name}


def triple(part: str, value: Any, file: Path) -> tuple[float, float, float]:
    """Three numbers of a file, from a list of three or of one.

    Raises:
        UserError: something else.
    """
    numbers = value if isinstance(value, list) else [value]
    numbers = numbers * 3 if len(numbers) == 1 else numbers
    if len(numbers) != 3 or not all(is_number(number) for number in numbers):
        raise UserError(
            f"{file}: {part} {value!r:.200} is not three numbers; correct or remove the file"
        )
    red, green, blue = map(float, numbers)
    return red, green, blue


def is_number(value: Any) -> bool:
    """Whether a value of a JSON file is a number that a float can hold."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and -LARGEST_NUMBER <= value <= LARGEST_NUMBER  # neither is NaN


def share_of(name: str, value: Any, file: Path) -> float:
    """A share of 1, not below a hundredth.

    Raises:
        UserError: something else.
    """
    if not is_number(value) or not LEAST_SHARE <= value <= 1:
        raise UserError(f"{file}: {name} {value!r:.200} is not a share of 1; remove or correct it")
    return float(value)


def _refused(file: Path, what: str) -> UserError:
    return UserError(
        f"{file}: {what} is not supported; write what the network expects into a config.json of "
        "timm's form (input_size, crop_pct, mean, std), in place of this file"
    )


def _kind(values: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    names = (values.get("image_processor_type"), values.get("feature_extractor_type"))
    named = next((name for name in names if isinstance(name, str)), config.get("model_type"))
    return str(named or "").lower()


def _sides(values: Mapping[str, Any], kind: str, file: Path) -> dict[str, Any]:
    """Crop, resize and whether that squashes."""
    cropped = values.get("do_center_crop", "crop_size" in values)
    crop = _one_side("crop_size", values.get("crop_size"), file) if cropped else None
    if not values.get("do_resize", True):
        raise _refused(file, "do_resize false")
    size = values.get("size")
    if size is None:
        return {} if crop is None else {"crop": crop}
    edge = size.get("shortest_edge") if isinstance(size, dict) else None
    if edge is None and type(size) is int and kind and not kind.startswith(SQUARE):
        raise _refused(file, f"size {size} of {kind}, which may be both sides or the shorter one,")
    if edge is None:
        side = _one_side("size", size, file)
        return {"crop": crop or side, "resize": side, "squash": True}
    return _shortest(values, _one_side("size", edge, file), crop, file)


def _shortest(values: Mapping[str, Any], edge: int, crop: int | None, file: Path) -> dict[str, Any]:
    """Where proportions are kept."""
    share = values.get("crop_pct")
    if share is None:
        if crop is None:
            raise _refused(file, "size with shortest_edge, without a centre crop,")
        return {"crop": crop, "resize": edge, "squash": False}
    share = share_of("crop_pct", share, file)
    squash = edge >= SMALL
    return {"crop": edge, "resize": edge if squash else int(edge / share), "squash": squash}


def _one_side(name: str, size: Any, file: Path) -> int:
    """The side of a square: a number, or height and width that agree."""
    side = size
    if isinstance(size, dict):
        height, width = size.get("height"), size.get("width")
        side = height if height == width else None
    if type(side) is not int or not 0 < side <= LARGEST_SIDE:
        raise _refused(file, f"{name} {size!r:.200}, which is no square of up to {LARGEST_SIDE},")
    return side


def _constants(values: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Mean and std of pixels in [0, 1], whatever the processor multiplies pixels up to 255 with."""
    if not values.get("do_rescale", True):
        raise _refused(file, "do_rescale false")
    if not values.get("do_normalize", "image_mean" in values):
        means, stds = (0.0,) * 3, (1.0,) * 3
    else:
        means, stds = (
            triple(f"image_{p}", values.get(f"image_{p}"), file) for p in ("mean", "std")
        )
    factor = values.get("rescale_factor", 1 / 255)
    if not is_number(factor) or not 1e-6 < factor < 1e6:
        raise _refused(file, f"rescale_factor {factor!r:.200}")
    unit = 1.0 if math.isclose(255 * factor, 1) else 255 * factor
    offset = 1.0 if values.get("rescale_offset") else 0.0
    return {
        "mean": tuple((mean + offset) / unit for mean in means),
        "std": tuple(std / unit for std in stds),
    }
