"""``config.json`` beside weights, as timm and Hugging Face write it: what the network expects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...data.folders.class_list import MOST_CLASSES
from ...data.preprocessing import INTERPOLATIONS
from ...errors import UserError
from ...files.text import read_json
from ...registry import unknown
from .label_order import Order, check_labels
from .processor import LARGEST_SIDE, is_number, parts_of_processor, share_of, triple

CONFIG, PROCESSOR = "config.json", "preprocessor_config.json"
"""The second is Hugging Face's, whose first holds no mean and deviation."""
SAME_MATHEMATICS = ("vit", "deit")
"""Model types of transformers whose networks are DeiT's."""


@dataclass(frozen=True)
class Expected:
    """What the files say.

    Attributes:
        parts: of the preprocessing, by name, as `Preprocessing.override` takes them.
        num_classes: length of the network's output; None where nothing says it.
        notes: sentences on what was read, and on what is not done.
        declared: ``config.json architecture`` -> timm's name of the network, where it is said.
        sizes: ``num_heads``, ``norm_eps`` and ``activation``, which weights do not show, where
            transformers' config.json describes a ViT or DeiT.
        network: transformers' or timm's name of the network that is described; empty where none is.
        crop_share: side of the crop over the shorter side after resizing, where no side is named.
        file: name of the file that says the parts.
        flags: marks that stay on every number.
    """

    parts: Mapping[str, Any] = field(default_factory=dict)
    num_classes: int | None = None
    notes: tuple[str, ...] = ()
    declared: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, Any] = field(default_factory=dict)
    network: str = ""
    crop_share: float | None = None
    file: str = ""
    flags: tuple[str, ...] = ()

    def for_crop(self, crop: int) -> dict[str, Any]:
        """The parts for `Preprocessing.by_request`, of a network that takes `crop` pixels."""
        parts = {"crop": None, "resize": None, **self.parts}
        if self.crop_share is not None:
            parts["resize"] = int(crop / self.crop_share)
        return parts


def read_expected(checkpoint: str | Path | None, *, pixels: bool = False) -> Expected:
    """Read the files beside a checkpoint.

    Args:
        checkpoint: a file, or the folder that holds it; what is no path has no such file.
        pixels: the network is own code that is given pixels: mean and std are said, not followed.

    Raises:
        UserError: not JSON, or a value of another form.
    """
    if checkpoint in (None, "") or not Path(checkpoint or "").expanduser().exists():
        return Expected()
    path = Path(checkpoint or "").expanduser()
    folder = path if path.is_dir() else path.parent
    config, processor = (_object(folder / name) for name in (CONFIG, PROCESSOR))
    inner = config.get("pretrained_cfg")
    config |= inner if isinstance(inner, dict) else {}
    file = folder / (PROCESSOR if processor else CONFIG)
    parts, share = _timms(config, folder / CONFIG)
    parts |= parts_of_processor(processor, config, folder / PROCESSOR) if processor else {}
    name, kind = config.get("architecture"), config.get("model_type")
    declared = {f"{CONFIG} architecture": name} if isinstance(name, str) and name else {}
    notes = [*_said(declared, parts, share, file.name)]
    names = config.get("id2label")
    order = check_labels(names, folder / CONFIG) if isinstance(names, dict) else Order()
    notes += filter(None, [order.note])
    constants = [parts.pop(part) for part in ("mean", "std") if pixels and part in parts]
    if constants:
        normalize = "/".join(",".join(map(str, triple)) for triple in constants)
        notes.append(
            f"Own code is given pixels: mean and std of {file.name} are not applied; if the "
            f"network expects them, say --normalize {normalize}."
        )
    return Expected(
        parts,
        _classes(config),
        tuple(notes),
        declared,
        _sizes(config, folder / CONFIG),
        next((text for text in (name, kind) if isinstance(text, str)), ""),
        share,
        file.name,
        order.flags,
    )


def _object(file: Path) -> dict[str, Any]:
    content = (
        read_json(file, "it says what the network beside it expects") if file.is_file() else {}
    )
    return dict(content) if isinstance(content, dict) else {}


def _said(
    declared: Mapping[str, str], parts: Mapping[str, Any], share: float | None, name: str
) -> list[str]:
    listed = [f"architecture {architecture}" for architecture in declared.values()]
    listed += [f"{part} {value}" for part, value in parts.items()]
    listed += [] if share is None else [f"crop_pct {share}"]
    return [f"{name} beside the weights says: {', '.join(listed)}."] if listed else []


def _classes(values: Mapping[str, Any]) -> int | None:
    number, names = values.get("num_classes"), values.get("id2label")
    if type(number) is int and 0 < number <= MOST_CLASSES:
        return number
    return len(names) if isinstance(names, dict) and names else None


def _timms(values: Mapping[str, Any], file: Path) -> tuple[dict[str, Any], float | None]:
    """Preprocessing as timm says it, and the share of the crop where it names no side."""
    parts: dict[str, Any] = {
        part: triple(part, values[part], file) for part in ("mean", "std") if part in values
    }
    share, side = values.get("crop_pct"), _side(values)
    share = None if share is None else share_of("crop_pct", share, file)
    if side is not None:
        parts["crop"] = side
        if share is not None:
            parts["resize"] = int(side / share)
    mode = values.get("crop_mode", "center")
    if mode not in ("center", "squash"):
        raise UserError(
            f"{file}: crop_mode {mode!r} is not supported, only center and squash are; correct or "
            "remove the file"
        )
    if mode == "squash":
        parts["squash"] = True
    name = values.get("interpolation")
    if name is not None and name not in INTERPOLATIONS:
        raise unknown(f"{file}: interpolation", name, INTERPOLATIONS)
    parts |= {} if name is None else {"interpolation": name}
    return parts, share if side is None else None


def _side(values: Mapping[str, Any]) -> int | None:
    """Of timm's ``input_size`` (channels, height, width), or transformers' ``image_size``."""
    size = values.get("input_size", values.get("image_size"))
    if isinstance(size, list) and len(size) == 3 and size[1] == size[2]:
        size = size[1]
    return size if type(size) is int and 0 < size <= LARGEST_SIDE else None


def _sizes(values: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """What the numbers of a ViT or DeiT of transformers depend on beside its weights."""
    if values.get("model_type") not in SAME_MATHEMATICS:
        return {}
    named = {
        "num_heads": "num_attention_heads",
        "norm_eps": "layer_norm_eps",
        "activation": "hidden_act",
    }
    sizes = {ours: values[theirs] for ours, theirs in named.items() if theirs in values}
    eps = sizes.get("norm_eps")
    if eps is not None and (not is_number(eps) or not 0 < eps < 1):
        raise UserError(f"{file}: layer_norm_eps {eps!r:.200} is not a small number above 0")
    return sizes
