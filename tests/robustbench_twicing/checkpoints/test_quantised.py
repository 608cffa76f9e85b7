"""Weights of integers or of 8-bit floats mean nothing without scales, in any container."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.errors import UserError

KEY = "blocks.0.attn.qkv.weight"
Write = Callable[[dict[str, Tensor], Path], None]


def index(tensors: dict[str, Tensor], folder: Path) -> None:
    save_file(tensors, folder / "part.safetensors")
    weight_map = dict.fromkeys(tensors, "part.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


WRITERS: dict[str, Write] = {
    "zip": lambda tensors, folder: torch.save(tensors, folder / "c.pth"),
    "legacy": lambda tensors, folder: torch.save(
        tensors, folder / "c.pth", _use_new_zipfile_serialization=False
    ),
    "wrapped": lambda tensors, folder: torch.save({"model": tensors}, folder / "c.pth"),
    "safetensors": lambda tensors, folder: save_file(tensors, folder / "c.safetensors"),
    "index": index,
}


@pytest.mark.parametrize("container", WRITERS)
@pytest.mark.parametrize(
    ("dtype", "scales"),
    [(torch.int8, True), (torch.int32, False), (torch.float8_e4m3fn, True), (torch.uint8, False)],
)
def test_quantised_weights_are_refused_in_every_container(
    container: str, dtype: torch.dtype, scales: bool, tmp_path: Path
) -> None:
    tensors = load_file(bundled_file("fmnist_deit"))
    scale = tensors[KEY].abs().max() / 100
    tensors[KEY] = (tensors[KEY] / scale).to(dtype)
    if scales:  # which would have to be multiplied with, by a rule that no file says
        tensors[f"{KEY}_scale"] = scale[None]
    WRITERS[container](tensors, tmp_path)
    name = str(dtype).removeprefix("torch.")
    words = rf"{KEY} holds {name}: quantised weights"
    if container == "legacy" and dtype.is_floating_point:  # torch does not load its own file
        words = "a format, as float8, that torch cannot read .*: quantised weights"
    with pytest.raises(UserError, match=words):
        load_model("fmnist_deit", tmp_path)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_tensors_that_torch_quantised_are_refused(tmp_path: Path) -> None:
    tensors = load_file(bundled_file("fmnist_deit"))
    tensors[KEY] = torch.quantize_per_tensor(tensors[KEY], 0.01, 0, torch.qint8)
    torch.save(tensors, tmp_path / "c.pth")
    with pytest.raises(UserError, match=r"needs torch\._utils\._rebuild_qtensor"):
        load_model("fmnist_deit", tmp_path)
