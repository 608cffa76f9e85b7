"""A thousand damaged trainings, each of which is asked to go on."""

import io
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.models.table import MODELS
from robustbench_twicing.training.recipe import Recipe
from robustbench_twicing.training.recipes import RECIPES
from robustbench_twicing.training.session import train

from .archives import CHECKPOINTS
from .rounds import Kind, fuzz
from .textwise import JSONWISE, VALUES, places_of

NAME = "fmnist_deit"
STATE = "last.pth"
SIZES = {"embed_dim": 16, "depth": 1, "num_heads": 2}


@pytest.fixture(scope="module")
def images() -> Dataset:
    """Sixteen images of the bundled cut."""
    return open_dataset("fashion-mnist:test1000", limit=16)


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """One epoch of two steps of a network that is much smaller than the zoo's."""
    small = replace(MODELS[NAME], sizes={**MODELS[NAME].sizes, **SIZES})
    monkeypatch.delitem(MODELS, NAME)
    monkeypatch.setitem(MODELS, NAME, small)
    short: dict[str, Any] = {"epochs": 1, "batch_size": 8, "warmup_epochs": 0, "ema_decay": 0.9}
    return replace(RECIPES["deit"], name="tiny", threads=1, **short)


def strange_state(random: Random, content: bytes) -> bytes:
    """A sound checkpoint in which something has another form."""
    try:
        state = torch.load(io.BytesIO(content), weights_only=True)
        holder, key = random.choice(list(places_of(state)))
    except Exception:  # damaged before, or a list that contains itself
        return content
    change = random.choice(("drop", "value", "value", "tensor"))
    if change == "drop":
        del holder[key]
    else:
        holder[key] = random.choice(VALUES) if change == "value" else torch.zeros(3, 2)
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


def test_damaged_trainings_go_on_or_are_refused_in_one_line(
    images: Dataset, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    train(NAME, images, tmp_path / "good", recipe=recipe)
    good = {name: (tmp_path / "good" / name).read_bytes() for name in ("train.json", STATE)}
    mutations = {".json": JSONWISE, ".pth": (*CHECKPOINTS, *(strange_state,) * 30)}

    def go_on(folder: Path, _: Path) -> None:
        train(NAME, images, folder, recipe=recipe)

    kind = Kind({"training": good}, mutations, go_on, names_folder=True)
    assert fuzz("training", kind, tmp_path)["refused"]
