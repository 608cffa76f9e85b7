"""A network of transformers from a configuration and tensors: nothing of a folder is run.

Its config.json and its safetensors are read as any other checkpoint's, and transformers is given
plain values and tensors, never the folder, in which code could lie.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from torch import Tensor, nn

from ...checkpoints.numbers import check_unquantised, in_format
from ...checkpoints.state_dict import OtherClassesError
from ...errors import UserError

INSTALL = "pip install 'robustbench-twicing[hf]', or pip install transformers"
_NOT_DATA = ("auto_map", "quantization_config", "backbone", "use_timm_backbone", "backbone_config")
"""Of a config.json: what asks for code, for other weights, or for kernels of other numbers."""
MANY = 3
"""Keys of a kind that an error names."""
_REFUSALS = (
    *(RuntimeError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(ImportError, StrictDataclassError),
)
"""By which transformers says that it cannot build what a configuration describes."""
LARGEST_VALUE = 10**6
"""Of a number in a configuration: a width, a number of positions or of words."""
_COUNTS = re.compile(r"(.*_)?(depths?|layers?|blocks|self_attends_per_block)")
"""Settings that say how many layers there are; each has tensors of its own."""


class TransformersClassifier(nn.Module):
    """A classifier of transformers as a plain network: normalised images to logits (B, K)."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.num_classes = int(model.config.num_labels)

    def forward(self, x: Tensor) -> Tensor:
        """Images (B, 3, H, W), normalised, to logits (B, K)."""
        logits: Tensor = self.model(pixel_values=x).logits
        return logits


def build_transformers(
    file: Path,
    config: Mapping[str, Any],
    state_dict: Mapping[str, Tensor],
    num_classes: int | None,
    attention: str,
) -> TransformersClassifier:
    """The network that a config.json describes, with its weights: all of them, and nothing else.

    Args:
        file: the config.json, for errors.
        config: what it says.
        state_dict: the weights beside it, in the keys of transformers' files.
        num_classes: in place of what it says.
        attention: ``explicit`` forms the matrix; ``auto`` and ``fused`` take torch's kernels.

    Raises:
        UserError: transformers is not installed, or does not know the network; code, quantised
            weights or another size of network in the configuration; weights that do not fit.
    """
    kind, described = _described(file, config, len(state_dict))
    if num_classes is not None:
        described.num_labels = num_classes
    kernels = attention != "explicit" and getattr(kind, "_supports_sdpa", False)
    described._attn_implementation = "sdpa" if kernels else "eager"
    source = str(file.parent)
    check_unquantised(state_dict, source)
    numbers = {
        key: in_format(key, tensor, torch.float32, source) if tensor.is_floating_point() else tensor
        for key, tensor in state_dict.items()
    }
    have = sum(tensor.numel() for tensor in numbers.values())
    with torch.random.fork_rng(devices=[]), _quiet():
        try:
            if _parameters(kind, described) > 2 * have:
                raise _too_large(file)
            model, info = kind.from_pretrained(
                None,
                config=described,
                state_dict=numbers,
                dtype=torch.float32,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
            )
        except _REFUSALS as error:
            raise UserError(f"{file}: transformers says {first_line(error)}") from error
    _check_loaded(source, info)
    return TransformersClassifier(model)


def _parameters(kind: Any, config: Any) -> int:
    """Of the network, counted without memory for them."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in kind(config).parameters())


def _too_large(file: Path) -> UserError:
    return UserError(f"{file} describes a far larger network than the weights beside it are of")


def _described(file: Path, config: Mapping[str, Any], tensors: int) -> tuple[Any, Any]:
    """The class of transformers, and its configuration: what that network's own settings say."""
    try:
        from transformers import CONFIG_MAPPING, MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING
        from transformers import PreTrainedConfig as Common
    except ImportError as error:
        raise UserError(
            f"{file.parent} is a network of transformers, which is not installed: {INSTALL}"
        ) from error
    for name in _NOT_DATA:
        if config.get(name):
            raise UserError(
                f"{file}: {name} is not supported; nothing but plain networks is loaded"
            )
    model_type: Any = config.get("model_type")
    try:
        kind: Any = CONFIG_MAPPING[model_type]
        network = MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING[kind]
    except (KeyError, TypeError):
        raise UserError(
            f"{file}: model_type {model_type!r:.200} is no image classifier of the transformers "
            "that is installed"
        ) from None
    # Those that all networks share choose kernels, formats and places of other code.
    specific = {field.name for field in fields(kind)} - {field.name for field in fields(Common)}
    names = {name for name in specific if not name.startswith("_")} - {"num_labels"} | {"id2label"}
    values = {name: config[name] for name in names if name in config}
    layers = sum(sum(_numbers(values[name])) for name in values if _COUNTS.fullmatch(name))
    if layers > tensors or max(_numbers(values), default=0) > LARGEST_VALUE:
        raise _too_large(file)
    try:
        return network, kind.from_dict(values)
    except _REFUSALS as error:
        raise UserError(f"{file}: transformers says {first_line(error)}") from error


def _numbers(value: Any) -> list[int]:
    """The whole numbers in a value of a JSON file, at any depth."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [number for part in parts for number in _numbers(part)]
    return [value] if type(value) is int else []


def _check_loaded(source: str, info: Mapping[str, Any]) -> None:
    shapes = sorted(info.get("mismatched_keys", ()))
    if shapes and all("classifier" in str(key) or "head" in str(key) for key, *_ in shapes):
        (_, have, want), *_ = shapes
        raise OtherClassesError(
            f"{source} has {have[0]} classes and config.json names {want[0]}; --num-classes "
            f"{have[0]} fits the file, if the data's labels do too",
            have=have[0],
            want=want[0],
        )
    wrong = {
        "missing": sorted(info.get("missing_keys", ())),
        "unexpected": sorted(info.get("unexpected_keys", ())),
        "of another shape": [str(key) for key, *_ in shapes],
    }
    listed = [
        f"{what} {', '.join(keys[:MANY])}" + (f" and {rest} more" if rest > 0 else "")
        for what, keys in wrong.items()
        if keys and (rest := len(keys) - MANY) is not None
    ]
    if listed:
        raise UserError(f"{source}: the weights do not fit config.json: {'; '.join(listed)}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' warnings and progress bars; what they say is checked here."""
    from transformers.utils import logging as theirs

    logging: Any = theirs
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def first_line(error: Exception) -> str:
    """Of what an error of a library says, with its type; and the next, where one announces it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    sentence = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    return f"{type(error).__name__}: {sentence:.300}" if lines else type(error).__name__
