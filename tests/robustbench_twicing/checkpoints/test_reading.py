"""Good files: whatever holds the weights, the same weights come out."""

import argparse
import json
import pathlib
import types
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from robustbench_twicing.checkpoints.contents import find_weights
from robustbench_twicing.checkpoints.declared import training_facts
from robustbench_twicing.checkpoints.reading import expand_checkpoints, read_checkpoint
from robustbench_twicing.checkpoints.state_dict import file_sha256, weights_sha256
from robustbench_twicing.errors import UserError

WRITERS: dict[str, Any] = {
    "torch-zip": torch.save,
    "torch-legacy": lambda weights, path: torch.save(
        weights, path, _use_new_zipfile_serialization=False
    ),
    "safetensors": save_file,
}


@pytest.mark.parametrize("ending", [".pth", ".pt", ".pth.tar", ".bin", ".safetensors", ""])
@pytest.mark.parametrize("container", WRITERS)
def test_the_content_decides_and_not_the_ending(
    container: str, ending: str, tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    path = tmp_path / f"weights{ending}"
    WRITERS[container](weights, path)
    found = read_checkpoint(path)
    assert found.container == container
    assert found.sha256 == file_sha256(path)
    state_dict = find_weights(found.content).state_dict
    assert state_dict.keys() == weights.keys()
    assert all(torch.equal(state_dict[key], weights[key]) for key in weights)
    assert weights_sha256(state_dict) == weights_sha256(weights)


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
def test_what_training_scripts_leave_in_a_file_is_read_and_inert(
    options: dict[str, bool], tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    arguments = argparse.Namespace(
        model="deit_tiny_patch16_224",
        lr=5e-4,
        job_dir=pathlib.PosixPath("/ckpt/run"),
        windows=pathlib.PureWindowsPath("C:\\ckpt"),
        size=torch.Size([3, 224, 224]),
        device=torch.device("cpu"),
        dtype=torch.float16,
    )
    content = {
        "model": OrderedDict(weights),
        "optimizer": {"state": defaultdict(dict, {0: {"exp_avg": torch.ones(2)}})},
        "epoch": 299,
        "max_accuracy": np.float64(72.2),
        "best_epoch": np.int64(298),
        "name": np.str_("run"),
        "history": np.arange(6, dtype=np.float32).reshape(2, 3),
        "flag": np.bool_(True),
        "more": types.SimpleNamespace(steps={1, 2}, z=1j, raw=b"\xff"),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "args": arguments,
    }
    path = tmp_path / "checkpoint.pth"
    torch.save(content, path, **options)
    found = read_checkpoint(path).content
    facts = training_facts(found)
    assert facts["epoch"] == 299
    assert facts["max_accuracy"] == 72.2
    assert facts["best_epoch"] == 298
    assert facts["name"] == "run"
    assert facts["flag"] is True
    assert facts["args"]["model"] == "deit_tiny_patch16_224"
    assert facts["args"]["job_dir"] == "/ckpt/run"
    assert facts["args"]["windows"] == "C:\\ckpt"
    np.testing.assert_array_equal(found["history"].array, content["history"])
    assert found["more"].steps == {1, 2}
    assert found["optimizer"]["state"][0]["exp_avg"].tolist() == [1, 1]
    assert type(found["args"].job_dir) is pathlib.PurePosixPath
    json.dumps(facts)


@pytest.mark.parametrize("dtype", ["<f8", ">f4", ">i2", "?", "<U3", "S2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_arrays_keep_their_order(dtype: str, order: Any, tmp_path: Path) -> None:
    values = np.arange(6).reshape(2, 3)
    array = np.array(values, dtype=dtype, order=order)
    torch.save({"array": array, "scalar": array[1, 2], "w": torch.zeros(1)}, tmp_path / "a.pth")
    found = read_checkpoint(tmp_path / "a.pth").content
    np.testing.assert_array_equal(found["array"].array, array)
    assert found["scalar"] == array[1, 2]


@pytest.mark.parametrize("value", [np.array([{}], dtype=object), np.zeros(1, "i4,f4")])
def test_numpy_arrays_that_hold_more_than_numbers_are_refused(
    value: Any, tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    path = tmp_path / "checkpoint.pth"
    torch.save({"model": weights, "history": value}, path)
    with pytest.raises(UserError, match="is neither a number nor text"):
        read_checkpoint(path)


def test_a_checksum_that_torch_was_told_not_to_write_is_no_damage(
    tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    path = tmp_path / "checkpoint.pth"
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(weights, path)
    finally:
        torch.serialization.set_crc32_options(True)
    assert weights_sha256(read_checkpoint(path).content) == weights_sha256(weights)


def test_reading_leaves_torch_allow_list_as_it_was(
    tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    torch.save(weights, tmp_path / "a.pth")
    before = set(torch.serialization.get_safe_globals())
    read_checkpoint(tmp_path / "a.pth")
    assert set(torch.serialization.get_safe_globals()) == before


def write_shards(
    folder: Path, weights: dict[str, Tensor], name: str = "model.safetensors.index.json"
) -> Path:
    """Two shards and their index."""
    keys = list(weights)
    files = {"model-1-of-2.safetensors": keys[:7], "model-2-of-2.safetensors": keys[7:]}
    for file, part in files.items():
        save = save_file if "safetensors" in name else torch.save
        save({key: weights[key] for key in part}, folder / file)
    index = folder / name
    weight_map = {key: file for file, part in files.items() for key in part}
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map}))
    return index


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "pytorch_model.bin.index.json"])
def test_shards_are_joined(name: str, tmp_path: Path, weights: dict[str, Tensor]) -> None:
    index = write_shards(tmp_path, weights, name)
    (tmp_path / "training_args.bin").write_bytes(b"anything")
    whole, folder = read_checkpoint(index), read_checkpoint(tmp_path)
    assert weights_sha256(whole.content) == weights_sha256(weights)
    assert whole.container == "index"
    assert whole.sha256 == folder.sha256
    shard = tmp_path / "model-2-of-2.safetensors"
    shard.write_bytes(shard.read_bytes() + b"")
    assert read_checkpoint(index).sha256 == whole.sha256
    weights = {**weights, "head.bias": weights["head.bias"] + 1}
    write_shards(tmp_path, weights, name)
    assert read_checkpoint(index).sha256 != whole.sha256


@pytest.mark.parametrize(
    "shard", ["../other.safetensors", "/etc/passwd", "a/../../b", "..", "", "..\\b"]
)
def test_a_shard_outside_the_folder_is_refused(
    shard: str, tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    index = write_shards(tmp_path, weights)
    content = json.loads(index.read_text())
    content["weight_map"]["norm.bias"] = shard
    index.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"sends norm\.bias to .* outside its own folder"):
        read_checkpoint(index)


def test_shards_that_do_not_fit_their_index_are_refused(
    tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    index = write_shards(tmp_path, weights)
    first = tmp_path / "model-1-of-2.safetensors"
    save_file({"cls_token": weights["cls_token"]}, first)
    with pytest.raises(UserError, match=r"model-1-of-2\.safetensors lacks blocks\.0\.\S+, unlike"):
        read_checkpoint(index)
    first.unlink()
    with pytest.raises(UserError, match=r"model-1-of-2\.safetensors: there is no such file"):
        read_checkpoint(index)
    write_shards(tmp_path, weights)
    content = json.loads(index.read_text())
    del content["weight_map"]["head.bias"]
    index.write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"also holds head\.bias"):
        read_checkpoint(index)


def test_an_index_of_indexes_is_refused(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": index.name}}))
    with pytest.raises(UserError, match="shards hold tensors"):
        read_checkpoint(index)


def test_a_folder_stands_for_its_one_checkpoint_or_for_all(
    tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    (tmp_path / "log.txt").write_text("epoch 1")
    torch.save(weights, tmp_path / "b.pth")
    assert read_checkpoint(tmp_path).path == tmp_path / "b.pth"
    torch.save(weights, tmp_path / "a.pth.tar")
    (tmp_path / ".hidden.pth").write_bytes(b"")
    assert expand_checkpoints(tmp_path) == [tmp_path / "a.pth.tar", tmp_path / "b.pth"]
    assert expand_checkpoints(tmp_path / "b.pth") == [tmp_path / "b.pth"]
    with pytest.raises(UserError, match=r"2 checkpoints \(a\.pth\.tar, b\.pth\); name one"):
        read_checkpoint(tmp_path)
    with pytest.raises(UserError, match="no such file"):
        expand_checkpoints(tmp_path / "c.pth")


def test_the_hash_of_weights_ignores_packing_and_nothing_else(weights: dict[str, Tensor]) -> None:
    ours = weights_sha256(weights)
    assert weights_sha256(dict(reversed(weights.items()))) == ours
    assert weights_sha256({key: tensor.double() for key, tensor in weights.items()}) == ours
    turned = {**weights, "head.weight": weights["head.weight"].T.contiguous().T}
    assert weights_sha256(turned) == ours
    assert weights_sha256({**weights, "head.weight": weights["head.weight"].T}) != ours
    assert weights_sha256({**weights, "head.bias": weights["head.bias"] + 1e-6}) != ours
    reshaped = {**weights, "head.bias": weights["head.bias"][None]}
    assert weights_sha256(reshaped) != ours
    renamed = {key.replace("head", "heads"): tensor for key, tensor in weights.items()}
    assert weights_sha256(renamed) != ours


def test_metadata_of_safetensors_is_read_beside_the_tensors(
    tmp_path: Path, weights: dict[str, Tensor]
) -> None:
    told = {"format": "pt", "architecture": "fmnist_deit", "seed": "3", "state_dict": "not this"}
    save_file(weights, tmp_path / "told.safetensors", metadata=told)
    content = read_checkpoint(tmp_path / "told.safetensors").content
    assert training_facts(content) == {"architecture": "fmnist_deit", "seed": "3"}
    assert find_weights(content).state_dict.keys() == weights.keys()
    save_file(weights, tmp_path / "bare.safetensors", metadata={"format": "pt"})
    assert read_checkpoint(tmp_path / "bare.safetensors").content.keys() == weights.keys()


def test_attributes_of_a_dict_do_not_stand_before_its_methods(tmp_path: Path) -> None:
    shard: Any = OrderedDict(a=torch.ones(2))
    shard.keys = shard.get = 3
    torch.save(shard, tmp_path / "one.bin")
    content = read_checkpoint(tmp_path / "one.bin").content
    assert content.keys == 3, "torch keeps them"
    assert list(find_weights(content).state_dict) == ["a"]
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text('{"weight_map": {"a": "one.bin"}}')
    assert torch.equal(read_checkpoint(index).content["a"], torch.ones(2))
