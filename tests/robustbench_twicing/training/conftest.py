"""A tiny model, few images and few steps."""

from dataclasses import replace

import pytest

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.models.spec import ModelSpec
from robustbench_twicing.models.table import MODELS
from robustbench_twicing.training.recipe import Recipe
from robustbench_twicing.training.recipes import RECIPES

TINY_SIZES = {"embed_dim": 16, "depth": 2, "num_heads": 2}
NAMES = ("fmnist_twicing", "fmnist_deit", "fmnist_neutreno", "fmnist_fan")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models of the zoo, much smaller."""
    small: dict[str, ModelSpec] = {
        name: replace(MODELS[name], sizes={**MODELS[name].sizes, **TINY_SIZES}) for name in NAMES
    }
    for name, spec in small.items():
        monkeypatch.delitem(MODELS, name)
        monkeypatch.setitem(MODELS, name, spec)


@pytest.fixture(scope="session")
def images() -> Dataset:
    """40 images of the bundled cut."""
    return open_dataset("fashion-mnist:test1000", limit=40)


@pytest.fixture
def recipe() -> Recipe:
    """Two epochs of five steps, everything that draws switched on."""
    return replace(
        RECIPES["deit"],
        name="tiny",
        epochs=2,
        batch_size=8,
        warmup_epochs=1,
        lr=1e-3,
        ema_decay=0.9,
        repeats=2,
        threads=1,
    )
