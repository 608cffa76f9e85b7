"""``hf:FOLDER``: image classifiers of transformers, and timm's as Hugging Face's hub keeps them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...checkpoints.beside.adapter import merge_adapter, refuse_unmerged
from ...checkpoints.beside.config_file import CONFIG, read_expected
from ...checkpoints.hub import HF_PREFIX, find_folder
from ...checkpoints.numbers import about_formats
from ...checkpoints.reading import Checkpoint, read_checkpoint
from ...checkpoints.safetensors_files import INDEX_NAMES
from ...checkpoints.state_dict import weights_sha256
from ...checkpoints.weights import Given
from ...data.preprocessing import Preprocessing
from ...errors import UserError
from ...files.text import read_json
from .made import Made, ModelRequest, origins
from .named import table_model
from .transformers_network import TransformersClassifier, build_transformers, first_line

_FILES = ("model.safetensors", INDEX_NAMES[0])
MANY = 3
"""Files that an error names."""


def hugging_face_model(asked: ModelRequest) -> Made:
    """A model of a folder or repository.

    Args:
        asked: its name is ``hf:FOLDER`` or ``hf:OWNER/NAME``; with a checkpoint, which is the
            folder then, only what the model is called. ``weights`` and ``arch_override`` are
            followed by timm's models alone.

    Raises:
        UserError: no such folder, transformers is not installed, or a network, weights or
            preprocessing that cannot be followed.
    """
    place = asked.checkpoint or asked.name.removeprefix(HF_PREFIX)
    folder = find_folder(place)
    called = HF_PREFIX + (place if not Path(place).expanduser().is_dir() else folder.resolve().name)
    config = _config(folder, place)
    architecture = config.get("architecture")
    if isinstance(architecture, str):
        if config.get("model_args"):
            raise UserError(
                f"{folder / CONFIG}: model_args {config['model_args']} are not supported"
            )
        return table_model(asked._replace(name=f"timm:{architecture}", checkpoint=str(folder)))
    if asked.weights == "ema" or asked.arch_override:
        raise UserError(f"{called} has one set of weights; leave --weights and --arch-override out")
    expected = read_expected(folder)
    preprocessing, notes = _preprocessing(called, folder, expected.parts, asked.parts)
    file = read_checkpoint(_weights_file(folder))
    state_dict = dict(file.content.get("state_dict", file.content))
    refuse_unmerged(state_dict, str(folder))
    if asked.adapter is not None:
        merged = merge_adapter(state_dict, asked.adapter, str(folder))
        state_dict = merged.state_dict
        notes.append(merged.note)
    network = build_transformers(
        folder / CONFIG, config, state_dict, asked.num_classes, asked.attention
    )
    _check_side(called, network, preprocessing.crop)
    given = _given(network, place, file, state_dict)
    sizes = {"num_classes": network.num_classes, "architecture": type(network.model).__name__}
    told = origins(preprocessing, "default", expected, None, asked.parts)
    all_notes = (*expected.notes, *notes)
    return Made(called, "hf", given, preprocessing, told, all_notes, expected.flags, sizes)


def _config(folder: Path, place: str) -> dict[str, Any]:
    file = folder / CONFIG
    if not file.is_file():
        adapter = (folder / "adapter_config.json").is_file()
        raise UserError(
            f"hf:{place}: {folder} holds an adapter and no network; name the network's folder, and "
            f"--adapter {folder}"
            if adapter
            else f"hf:{place}: there is no {CONFIG} in {folder}, which would say what network it is"
        )
    config = read_json(file, "it says what network it is")
    if not isinstance(config, dict):
        raise UserError(f"{file} is no JSON object; it should say what network it is")
    return config


def _preprocessing(
    called: str, folder: Path, declared: Mapping[str, Any], parts: Mapping[str, Any]
) -> tuple[Preprocessing, list[str]]:
    """What the files say, with what the user replaces."""
    missing = [part for part in ("crop", "mean", "std") if declared.get(part, parts[part]) is None]
    if missing:
        raise UserError(
            f"{called}: no preprocessor_config.json in {folder} says what images it expects; give "
            + " and ".join(f"--{part}" for part in missing)
        )
    crop = declared.get("crop", parts["crop"])
    base = Preprocessing(crop, crop).override(**{**parts, **declared})
    return base.by_request(parts)


def _weights_file(folder: Path) -> Path:
    for name in _FILES:
        if (folder / name).is_file():
            return folder / name
    others = sorted(path.name for path in folder.glob("*.bin"))
    held = f" (it has {', '.join(others[:MANY])})" if others else ""
    raise UserError(
        f"{folder} has no {_FILES[0]}{held}; save the network again with save_pretrained, which "
        "writes safetensors"
    )


def _check_side(called: str, network: TransformersClassifier, crop: int) -> None:
    """Whether the network takes images of that size, which one of zeros tells."""
    try:
        with torch.no_grad():
            network(torch.zeros(1, 3, crop, crop))
    except (ValueError, RuntimeError) as error:
        raise UserError(
            f"{called} does not take images of {crop} pixels ({first_line(error)}); correct "
            f"preprocessor_config.json or {CONFIG}, or say --crop"
        ) from error


def _given(
    network: TransformersClassifier, place: str, file: Checkpoint, state_dict: Mapping[str, Tensor]
) -> Given:
    import transformers

    return Given(
        network,
        checkpoint=place,
        checkpoint_sha256=file.sha256,
        weights="plain",
        weights_sha256=weights_sha256(network.model.state_dict()),
        notes=tuple(about_formats(state_dict)),
        details={"container": file.container, "transformers": transformers.__version__},
    )
