"""The bundled zoo: complete, loadable by name, and as accurate as it says."""

import csv
from pathlib import Path
from typing import Any

import pytest
import torch

import robustbench_twicing.checkpoints.bundled as package
from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.bundled import ZOO, bundled_file
from robustbench_twicing.checkpoints.safetensors_files import read_metadata
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.resolve import resolve_model
from robustbench_twicing.models.table import MODELS
from robustbench_twicing.training.recipes import RECIPES
from robustbench_twicing.training.scoring import count_right

pytestmark = pytest.mark.slow

FOLDER = Path(package.__file__).parent
LARGEST = 12 * 2**20


def table() -> list[dict[str, str]]:
    with (FOLDER / "seeds.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_small_model_has_weights_and_no_file_is_left_over() -> None:
    assert {name.split("[")[0] for name in ZOO} == {name for name in MODELS if "fmnist" in name}
    assert {bundled_file(name) for name in ZOO} == set(FOLDER.glob("*.safetensors"))
    assert sum(bundled_file(name).stat().st_size for name in ZOO) < LARGEST


@pytest.mark.parametrize("name", ZOO)
def test_a_bundled_model_gets_as_many_images_right_as_it_says(name: str) -> None:
    data = open_dataset("fashion-mnist:test1000")
    model = load_model(name, checkpoint="bundled")
    right = count_right(model.network, data, model.preprocessing, torch.device("cpu"))
    facts = model.record.details
    assert facts["accuracy"] == f"{right} of 1000"
    assert facts["accuracy_data"] == data.name
    assert right >= 850
    seed_0 = next(row for row in table() if (row["model"], row["seed"]) == (name, "0"))
    assert seed_0["right"] == str(right)
    assert seed_0["weights_sha256"] == model.record.weights_sha256


@pytest.mark.parametrize("name", ZOO)
def test_a_bundled_file_says_how_it_was_made(name: str) -> None:
    facts = read_metadata(bundled_file(name))
    spec, recipe = resolve_model(name), RECIPES["fmnist"]
    assert facts["architecture"] == spec.placed_name
    assert facts["family"] == spec.family
    assert facts["embed_dim"] == str(spec.sizes["embed_dim"])
    assert (facts["recipe"], facts["recipe_sha256"]) == (recipe.name, recipe.sha256())
    assert (facts["seed"], facts["training_data"]) == ("0", "fashion-mnist:train")


def test_the_table_has_one_line_a_model_and_seed_of_one_recipe() -> None:
    rows = table()
    runs = [(row["model"], row["seed"]) for row in rows]
    assert len(set(runs)) == len(runs)
    assert {model for model, seed in runs if seed == "0"} == set(ZOO)
    assert {row["recipe_sha256"] for row in rows} == {RECIPES["fmnist"].sha256()}
    assert {(row["images"], row["data"]) for row in rows} == {("1000", "fashion-mnist:test1000")}


def test_the_documentation_has_the_table_s_numbers() -> None:
    text = (FOLDER.parents[2] / "docs" / "zoo.md").read_text(encoding="utf-8")
    for name in ZOO:
        rights = {row["seed"]: row["right"] for row in table() if row["model"] == name}
        cells = [rights.get(seed, "") for seed in ("0", "1", "2")]
        assert f"| `{name}` | {' | '.join(cells)} |".replace("  ", " ") in text, name


def test_bundled_weights_are_recorded_as_such() -> None:
    record = load_model("fmnist_twicing[3-4]", checkpoint="bundled").record
    assert (record.model, record.checkpoint, record.weights) == (
        "fmnist_twicing[3-4]",
        "bundled",
        "plain",
    )
    assert len(record.checkpoint_sha256) == 64
    assert record.flags == ()
    assert record.notes[0].startswith("The weights come with the package: recipe fmnist, seed 0, ")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("deit_tiny_patch16_224", {}, "no weights are bundled for deit_tiny_patch16_224; they are"),
        ("fmnist_twicing[4]", {}, r"no weights are bundled for fmnist_twicing\[4\]"),
        ("timm:test_vit", {}, "no weights are bundled for timm:test_vit"),
        ("fmnist_deit", {"weights": "ema"}, "bundled weights of fmnist_deit have no EMA"),
    ],
)
def test_what_is_not_bundled_is_refused(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        load_model(name, checkpoint="bundled", **options)


def test_one_s_own_code_has_no_bundled_weights(tmp_path: Path) -> None:
    code = tmp_path / "net.py"
    code.write_text("import torch\ndef make(): return torch.nn.Flatten()\n", encoding="utf-8")
    with pytest.raises(UserError, match="bundled weights are for the zoo"):
        load_model(f"{code}:make", checkpoint="bundled")


def test_no_checkpoint_is_implied_for_a_model_of_the_zoo() -> None:
    with pytest.raises(UserError, match=r"none is implied; write .*=bundled .* or .*random:SEED"):
        load_model("fmnist_deit")
