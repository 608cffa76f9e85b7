"""A thousand damaged checkpoints: none runs anything, hangs or ends in a traceback."""

import io
import json
from pathlib import Path
from random import Random

import pytest
import torch
from safetensors.torch import save

from robustbench_twicing.checkpoints.contents import find_weights
from robustbench_twicing.checkpoints.inspection import inspect_checkpoint
from robustbench_twicing.checkpoints.weights import give_weights
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.resolve import resolve_model

from .archives import CHECKPOINTS
from .bytewise import BYTEWISE, NUMBERS
from .contents import SIZES, strange_file, weights
from .rounds import Kind, fuzz
from .textwise import JSONWISE, change_value


def _saved(*, archive: bool) -> bytes:
    file = io.BytesIO()
    content = {"model": weights(), "epoch": 3, "args": {"model": "deit_tiny_patch16_224"}}
    torch.save(content, file, _use_new_zipfile_serialization=archive)
    return file.getvalue()


def change_header(random: Random, content: bytes) -> bytes:
    """A safetensors header that says something else, in JSON that is sound."""
    size = int.from_bytes(content[:8], "little")
    header = change_value(random, content[8 : 8 + size])
    length = random.choice((len(header), len(header), len(header), random.choice(NUMBERS)))
    return length.to_bytes(8, "little") + header + content[8 + size :]


def read(folder: Path, damaged: Path) -> None:
    """Everything that happens to a checkpoint before a model runs."""
    given = folder if (folder / "model.safetensors.index.json").exists() else damaged
    inspect_checkpoint(given)
    give_weights(
        lambda: build_model("deit", **SIZES),
        str(given),
        "deit_tiny_patch16_224",
        spec=resolve_model("deit_tiny_patch16_224"),
    )


_INDEX = {"metadata": {}, "weight_map": dict.fromkeys(weights(), "one.safetensors")}
KINDS = {
    "torch": Kind(
        {
            "zip": {"checkpoint.pth": _saved(archive=True)},
            "legacy": {"checkpoint.pth": _saved(archive=False)},
        },
        {"": (*CHECKPOINTS, *(strange_file,) * 8)},
        read,
    ),
    "safetensors": Kind(
        {"plain": {"checkpoint.safetensors": save(weights(), {"arch": "deit_tiny_patch16_224"})}},
        {"": (*(change_header,) * 12, *BYTEWISE)},
        read,
    ),
    "index": Kind(
        {
            "shards": {
                "one.safetensors": save(weights()),
                "model.safetensors.index.json": json.dumps(_INDEX).encode(),
            }
        },
        {"": BYTEWISE, ".json": JSONWISE},
        read,
        names_folder=True,
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_damaged_checkpoints_are_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    counts = fuzz(name, KINDS[name], tmp_path)
    assert counts["refused"] > counts["accepted"]


def test_the_undamaged_are_read(tmp_path: Path) -> None:
    for kind in KINDS.values():
        for files in kind.good.values():
            for name, content in files.items():
                (tmp_path / name).write_bytes(content)
            read(tmp_path, tmp_path / next(iter(files)))
            for name in files:
                (tmp_path / name).unlink()
    assert find_weights(weights()).state_dict
