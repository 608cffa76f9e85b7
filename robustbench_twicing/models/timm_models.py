"""timm's own models, under timm's own preprocessing."""

import math
from dataclasses import asdict
from typing import Any

import timm
from timm.data.config import resolve_data_config
from timm.models import get_pretrained_cfg
from torch import nn

from ..data.preprocessing import Preprocessing
from ..errors import UserError
from .sizes import TimmSizes
from .spec import ModelSpec

MODES = ("center", "squash")
"""timm's crop modes that this suite has."""
TIMM = "https://github.com/huggingface/pytorch-image-models"


def timm_spec(name: str) -> ModelSpec | None:
    """What timm says of a model; None where timm has no model of that name.

    Args:
        name: timm's name, with or without the tag of its weights.

    Raises:
        UserError: an unknown tag, or preprocessing that this suite cannot do.
    """
    facts = _facts(name)
    if facts is None:
        return None
    return ModelSpec(
        name=f"timm:{name}",
        family="timm",
        sizes={"timm_name": name},
        preprocessing=_preprocessing(name, resolve_data_config(pretrained_cfg=facts)),  # type: ignore[no-untyped-call]
        source=facts.get("origin_url") or TIMM,
        timm_name=name,
    )


def timm_names() -> list[str]:
    """All of timm's architectures."""
    return list(timm.list_models())


def build_timm(sizes: TimmSizes) -> nn.Module:
    """The network of timm without its weights.

    Raises:
        UserError: an unknown name, or a size that this network cannot take.
    """
    if _facts(sizes.timm_name) is None:
        raise UserError(f"timm has no model {sizes.timm_name!r}")
    wanted: dict[str, Any] = {"num_classes": sizes.num_classes, "img_size": sizes.img_size}
    given = {name: size for name, size in wanted.items() if size is not None}
    try:
        network: nn.Module = timm.create_model(sizes.timm_name, **given)
    except TypeError as error:
        if "img_size" in str(error):
            raise UserError(
                f"timm's {sizes.timm_name} takes any image size; leave img_size out"
            ) from error
        raise
    return network


def _facts(name: str) -> dict[str, Any] | None:
    architecture, _, tag = name.partition(".")
    if not timm.is_model(architecture):
        return None
    try:
        config = get_pretrained_cfg(name)
    except RuntimeError as error:
        raise UserError(f"timm has no weights {tag!r} for {architecture!r}") from error
    return asdict(config) if config else {}


def _preprocessing(name: str, config: dict[str, Any]) -> Preprocessing:
    channels, height, width = config["input_size"]
    if channels != 3 or height != width or config["crop_mode"] not in MODES:
        raise UserError(
            f"timm's {name} is evaluated on {channels}x{height}x{width} with crop mode "
            f"{config['crop_mode']!r}; only a square centre crop of RGB images, "
            "squashed before or not, is supported"
        )
    return Preprocessing(
        crop=height,
        resize=math.floor(height / config["crop_pct"]),
        interpolation=config["interpolation"],
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        squash=config["crop_mode"] == "squash",
    )
