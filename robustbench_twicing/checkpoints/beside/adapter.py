"""LoRA adapters, as peft saves them: merged into the weights that they were trained beside.

Hu et al., https://arxiv.org/abs/2106.09685: W becomes W + scale B A, where the scale is alpha / r,
or alpha / sqrt(r) for rank-stabilised ones (https://arxiv.org/abs/2312.03732).
"""

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from ...errors import UserError
from ...files.text import read_json
from ...models.vit.transformers_keys import as_in_files
from ..numbers import check_unquantised
from ..reading import read_checkpoint
from .processor import is_number

CONFIG = "adapter_config.json"
FILES = ("adapter_model.safetensors", "adapter_model.bin")
WRAPPED = "base_model.model."
_LORA = re.compile(r"(.+)\.lora_([AB])(?:\.[^.]+)?(?:\.weight)?")
_OTHERS = re.compile(r"\.(lora_\w+|ia3_\w+|hada_\w+|lokr_\w+|oft_\w+|vera_\w+|boft_\w+)\b")
_UNSUPPORTED = (
    "use_dora",
    "layer_replication",
    "lora_bias",
    "use_qalora",
    "trainable_token_indices",
)
"""Of a configuration: what changes weights otherwise than by adding the product of two matrices."""
_OTHER_BASE = ("pissa", "olora", "corda", "loftq")
"""Ways to begin that also change the weights of the network, which the adapter does not hold."""
_PLAIN = re.compile(r"[\w.]+")


class Merged(NamedTuple):
    """Weights with an adapter in them.

    Attributes:
        state_dict: of the network, in the keys that it had.
        note: a sentence for the record.
        sha256: of the adapter's file.
    """

    state_dict: dict[str, Tensor]
    note: str
    sha256: str


def refuse_unmerged(
    state_dict: Mapping[str, Tensor], source: str, network: Collection[str] = ()
) -> None:
    """Refuse weights that lie apart from an adapter of theirs, or an adapter alone.

    Args:
        state_dict: of a file.
        source: what errors call the file.
        network: keys of the network that is to have the weights, which may have such keys itself.

    Raises:
        UserError: keys of an adapter are among its.
    """
    keys = [key for key in state_dict if _OTHERS.search(key) and key not in network]
    if not keys:
        return
    alone = len(state_dict) < 2 * len(keys)
    raise UserError(
        f"{source} holds a LoRA adapter ({keys[0]}, {len(keys)} such keys) "
        + (
            "and no network: name the weights that it was trained beside, and --adapter with its "
            "folder"
            if alone
            else "that is not merged with its weights: merge it (peft's merge_and_unload) and save "
            "again, or give the weights alone and --adapter with its folder"
        )
    )


def merge_adapter(state_dict: Mapping[str, Tensor], adapter: str | Path, source: str) -> Merged:
    """Merge a LoRA adapter.

    Args:
        state_dict: of the network, in the keys with which the adapter was trained: transformers' or
            timm's.
        adapter: peft's folder, or a file of one, with adapter_config.json beside it.
        source: what errors call the network's file.

    Raises:
        UserError: no such adapter, another kind than LoRA, settings that are not supported, or
            matrices that do not fit the weights.
    """
    file = adapter_file(Path(adapter).expanduser())
    config = _config(file.parent / CONFIG)
    checkpoint = read_checkpoint(file)
    content = checkpoint.content
    tensors = dict(content.get("state_dict", content)) if isinstance(content, dict) else {}
    check_unquantised(tensors, str(file))
    merged, pairs = dict(state_dict), dict[str, dict[str, Tensor]]()
    for key, tensor in tensors.items():
        name = str(key).removeprefix(WRAPPED)
        matched = _LORA.fullmatch(name)
        if matched is not None:
            pairs.setdefault(matched[1], {})[matched[2]] = tensor
        elif _OTHERS.search(name):
            raise UserError(f"{file}: {key} is of no LoRA that only adds matrices; not supported")
        else:  # a bias, or a module that was trained as a whole, like the classifier
            merged[_own_key(name, state_dict, file, source)] = tensor
    if not pairs:
        raise UserError(f"{file} holds no LoRA adapter (no lora_A and lora_B)")
    for module, pair in pairs.items():
        key = _own_key(f"{module}.weight", state_dict, file, source)
        merged[key] = merged[key].float() + _delta(module, pair, merged[key], config, file)
    note = f"The LoRA adapter {adapter} was merged into {len(pairs)} weights (W + scale B A)."
    return Merged(merged, note, checkpoint.sha256)


def adapter_file(path: Path) -> Path:
    """The file with an adapter's tensors.

    Args:
        path: that file, or peft's folder with it.

    Raises:
        UserError: a folder without one.
    """
    if not path.is_dir():
        return path
    files = [path / name for name in FILES if (path / name).is_file()]
    if not files:
        raise UserError(f"--adapter {path} holds no {FILES[0]}; give the folder that peft saved")
    return files[0]


def _config(file: Path) -> Mapping[str, Any]:
    if not file.is_file():
        raise UserError(
            f"--adapter: there is no {file}, which says by what factor the adapter is added "
            "(lora_alpha); give the folder that peft saved"
        )
    config = read_json(file, "it says by what factor the adapter is added")
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise UserError(f"{file}: only adapters of peft_type LORA are supported")
    for name in _UNSUPPORTED:
        if config.get(name):
            raise UserError(f"{file}: {name} is not supported; merge it with peft and save again")
    start = str(config.get("init_lora_weights", True)).lower()
    if start.startswith(_OTHER_BASE):
        raise UserError(
            f"{file}: init_lora_weights {start!r} changes the network's own weights, too; merge it "
            "with peft and save again"
        )
    return config


def _own_key(name: str, state_dict: Mapping[str, Tensor], file: Path, source: str) -> str:
    """The key of the network's file for a key of the adapter's."""
    for key in (name, as_in_files(name)):
        if key in state_dict:
            return key
    raise UserError(f"{file} is not for {source}, which has no {name}")


def _delta(
    module: str, pair: Mapping[str, Tensor], weight: Tensor, config: Mapping[str, Any], file: Path
) -> Tensor:
    """Scale B A, in the weight's shape; of a convolution, A holds the kernel."""
    if set(pair) != {"A", "B"}:
        raise UserError(f"{file}: {module} has lora_{min(pair)} alone")
    down, up = pair["A"].float(), pair["B"].float().flatten(1)
    rank = down.shape[0] if down.ndim > 1 else 0
    if not rank or up.shape[1] != rank:
        raise UserError(f"{file}: lora_A and lora_B of {module} are of different ranks")
    product = up @ down.flatten(1)
    product = product.T if config.get("fan_in_fan_out") else product
    if product.numel() != weight.numel() or product.shape[0] != weight.shape[0]:
        raise UserError(
            f"{file}: {module} is {tuple(product.shape)} in the adapter and {tuple(weight.shape)} "
            "in the weights"
        )
    alpha = _alpha(module, config, file)
    scale = alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank
    return scale * product.reshape(weight.shape)


def _alpha(module: str, config: Mapping[str, Any], file: Path) -> float:
    """The module's own where the configuration has a pattern for it, as peft matches them."""
    alpha: Any = config.get("lora_alpha")
    patterns = config.get("alpha_pattern") or {}
    if not isinstance(patterns, dict):
        raise UserError(f"{file.parent / CONFIG}: alpha_pattern is no JSON object")
    for pattern, value in patterns.items():
        if not _PLAIN.fullmatch(pattern):
            raise UserError(
                f"{file.parent / CONFIG}: alpha_pattern {pattern!r:.200} is not supported"
            )
        if re.fullmatch(rf"(?:.*\.)?{pattern}", module):
            alpha = value
            break
    if not is_number(alpha):
        raise UserError(f"{file.parent / CONFIG}: lora_alpha {alpha!r:.200} is not a number")
    return float(alpha)
