"""The same model under other files, kernels and paths; what a message blames."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.identity import model_identity, run_difference, run_identity
from robustbench_twicing.records.manifest import Manifest
from tests.plain_manifest import plain_condition, plain_evaluation

NAME = "timm:test_vit"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints of the same tensors, and ``twin.pth``, whose EMA weights are others."""
    folder = tmp_path_factory.mktemp("files")
    state = load_model(NAME, "random:0").network.state_dict()
    other = {key: tensor + 1 for key, tensor in state.items()}
    save_file(state, folder / "a.safetensors")
    torch.save(state, folder / "a.pth")
    torch.save({"model": state, "epoch": 3}, folder / "saved-again.pth")
    torch.save({"model": state, "model_ema": state}, folder / "same-ema.pth")
    torch.save({"model": state, "model_ema": other}, folder / "twin.pth")
    (folder / "link.pth").symlink_to("a.pth")
    return folder


def record(file: Path, **options: str) -> ModelRecord:
    return load_model(NAME, file, **options).record  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("link.pth", {}),
        ("saved-again.pth", {}),
        ("a.safetensors", {}),
        ("twin.pth", {}),
        ("same-ema.pth", {"weights": "ema"}),
        ("a.pth", {"attention": "explicit"}),
        ("a.pth", {"kernels": "onednn"}),
        ("a.pth", {"num_classes": 1000}),
    ],
)
def test_the_same_tensors_are_the_same_model(
    file: str, options: dict[str, str], files: Path
) -> None:
    same = record(files / file, **options)
    assert model_identity(same) == model_identity(record(files / "a.pth"))


def test_other_weights_of_one_file_are_another_model(files: Path) -> None:
    plain, ema = (record(files / "twin.pth", weights=name) for name in ("plain", "ema"))
    assert plain.checkpoint_sha256 == ema.checkpoint_sha256
    assert model_identity(plain) != model_identity(ema)


def test_own_code_is_known_by_its_text_and_function_wherever_the_file_is(tmp_path: Path) -> None:
    code = "from torch import nn\n\n\ndef one():\n    return nn.Flatten()\n\n\nother = one\n"
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(code)
    (tmp_path / "c.py").write_text(f"{code}\nONE = 1\n")
    names = ("a.py:one", "b.py:one", "a.py:other", "c.py:one")
    here, moved, other, changed = (
        model_identity(load_model(f"{tmp_path}/{name}").record) for name in names
    )
    assert here == moved
    assert here not in (other, changed)


def manifest(*labels: str, conditions: tuple[str, ...] = ("clean", "fgsm@1/255")) -> Manifest:
    keys = {f"pixel:{name}": 4 for name in conditions}
    return Manifest(
        tuple(plain_evaluation(label, 4, keys) for label in labels),
        tuple(plain_condition(name) for name in conditions),
        seed=0,
        part_size=2,
    )


def test_models_and_conditions_come_in_any_order() -> None:
    other = manifest("b", "a", conditions=("fgsm@1/255", "clean"))
    assert run_identity(manifest("a", "b")) == run_identity(other)


def test_a_crop_is_blamed_before_the_weights_that_it_resamples() -> None:
    old = manifest("a")
    (evaluation,) = old.evaluations
    other = replace(
        evaluation,
        record=replace(evaluation.record, weights_sha256="resampled"),
        preprocessing=replace(evaluation.preprocessing, crop=4),
    )
    difference = run_difference(old, replace(old, evaluations=(other,)))
    assert difference is not None
    assert difference.path == "preprocessing of a.crop"
