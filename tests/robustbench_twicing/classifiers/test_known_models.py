"""What is known of a model without loading it: what loading finds, until anything changes."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from safetensors.torch import load_file, save_file

from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.classifiers import known_models
from robustbench_twicing.classifiers.known_models import load_and_keep, recall_model
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.files import stamp
from robustbench_twicing.models.family import FAMILIES, ModelRecord
from robustbench_twicing.records.identity import model_identity

NAME = "fmnist_deit"
WISHES: dict[str, Any] = {"kernels": "plain", "adapter": None, "weights": "auto"}


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files count as old at once; nothing is known yet."""
    monkeypatch.setattr(stamp, "SETTLED", -1.0)
    monkeypatch.setenv("ROBUSTBENCH_TWICING_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    file = tmp_path / "weights" / "model.safetensors"
    file.parent.mkdir()
    save_file(load_file(bundled_file(NAME)), file)
    return file


def plain(record: ModelRecord) -> Any:
    return json.loads(TypeAdapter(ModelRecord).dump_json(record))


@pytest.mark.parametrize("given", ["bundled", "random:3", "FILE", "FOLDER"])
def test_what_is_known_is_what_loading_finds(given: str, checkpoint: Path) -> None:
    given = {"FILE": str(checkpoint), "FOLDER": str(checkpoint.parent)}.get(given, given)
    assert recall_model(NAME, given, **WISHES) is None
    load_and_keep(NAME, given, **WISHES)
    known, loaded = recall_model(NAME, given, **WISHES), load_model(NAME, given, **WISHES)
    assert known is not None
    assert plain(known.record) == plain(loaded.record)
    assert model_identity(known.record) == model_identity(loaded.record)
    assert known.preprocessing == loaded.preprocessing
    assert (known.takes_pixels, known.classes) == (False, 10)


def write_other_weights(file: Path) -> None:
    """As many bytes, under the old time."""
    times = file.stat()
    weights = load_file(file)
    weights["head.bias"] = weights["head.bias"] + 1
    save_file(weights, file)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert file.stat().st_size == times.st_size


CHANGES: dict[str, Callable[[Path], object]] = {
    "weights": write_other_weights,
    "replaced": lambda file: (
        file.with_suffix(".new").write_bytes(file.read_bytes()),
        file.with_suffix(".new").replace(file),
    ),
    "config.json": lambda file: (file.parent / "config.json").write_text("{}"),
    "preprocessor_config.json": lambda file: (file.parent / "preprocessor_config.json").write_text(
        "{}"
    ),
    "gone": lambda file: file.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_known_once_a_file_has_changed(checkpoint: Path, change: str) -> None:
    load_and_keep(NAME, str(checkpoint), **WISHES)
    assert recall_model(NAME, str(checkpoint), **WISHES) is not None
    CHANGES[change](checkpoint)
    assert recall_model(NAME, str(checkpoint), **WISHES) is None


def test_a_second_checkpoint_in_the_folder_changes_what_the_folder_stands_for(
    checkpoint: Path,
) -> None:
    folder = str(checkpoint.parent)
    load_and_keep(NAME, folder, **WISHES)
    (checkpoint.parent / "second.safetensors").write_bytes(checkpoint.read_bytes())
    assert recall_model(NAME, folder, **WISHES) is None


def test_nothing_is_known_with_other_arguments_code_versions_or_machines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    load_and_keep(NAME, "bundled", **WISHES)
    for other in ({"weights": "plain"}, {"mean": (0.5, 0.5, 0.5)}, {"crop": 32}):
        assert recall_model(NAME, "bundled", **{**WISHES, **other}) is None
    assert recall_model("fmnist_fan", "bundled", **WISHES) is None
    for name in ("suite_sha256", "_cpu"):
        with monkeypatch.context() as patch:
            patch.setattr(known_models, name, lambda: "other")
            assert recall_model(NAME, "bundled", **WISHES) is None
    with monkeypatch.context() as patch:
        patch.setattr(known_models, "version", lambda package: "other")
        assert recall_model(NAME, "bundled", **WISHES) is None
    assert recall_model(NAME, "bundled", **WISHES) is not None
    monkeypatch.chdir(tmp_path)
    assert recall_model(NAME, "bundled", **WISHES) is None, "relative paths mean something else"


def test_own_code_is_never_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import torch\n\n\nclass Net(torch.nn.Flatten):\n    num_classes = 3\n\n\nbuild = Net\n"
    code = code.replace("build = Net", "def build():\n    return Net()")
    (tmp_path / "own.py").write_text(code)
    load_and_keep(f"{tmp_path}/own.py:build", None, **WISHES)
    assert recall_model(f"{tmp_path}/own.py:build", None, **WISHES) is None
    load_and_keep(NAME, "bundled", **WISHES)
    family = FAMILIES["deit"]
    monkeypatch.setitem(vars(family), "build", lambda sizes: torch.nn.Flatten())
    assert recall_model(NAME, "bundled", **WISHES) is None, "a family that a script declared"


def test_what_changed_while_it_was_loaded_or_just_before_is_not_kept(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load_and_change(*arguments: Any, **wishes: Any) -> Any:
        loaded = load_model(*arguments, **wishes)
        write_other_weights(checkpoint)
        return loaded

    with monkeypatch.context() as patch:
        patch.setattr(known_models, "load_model", load_and_change)
        load_and_keep(NAME, str(checkpoint), **WISHES)
    assert recall_model(NAME, str(checkpoint), **WISHES) is None
    with monkeypatch.context() as patch:
        patch.setattr(stamp, "SETTLED", 1000.0)
        load_and_keep(NAME, str(checkpoint), **WISHES)
    assert recall_model(NAME, str(checkpoint), **WISHES) is None
    load_and_keep(NAME, str(checkpoint), **WISHES)
    assert recall_model(NAME, str(checkpoint), **WISHES) is not None


def test_every_file_that_loading_opens_is_one_whose_change_shows(checkpoint: Path) -> None:
    opened, listening = set[str](), True

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "open" and isinstance(arguments[0], str):
            opened.add(arguments[0])

    sys.addaudithook(hear)  # for good, which is why it has to be told to stop
    (checkpoint.parent / "config.json").write_text('{"architecture": "fmnist_deit"}')
    try:
        load_model(NAME, str(checkpoint), **WISHES, arch_override=True)
    finally:
        listening = False
    beside = {file for file in opened if Path(file).is_relative_to(checkpoint.parent)}
    read = {str(file) for file in known_models._files_read(NAME, str(checkpoint), None)}
    assert {str(checkpoint), str(checkpoint.parent / "config.json")} <= beside <= read
