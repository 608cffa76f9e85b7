"""Training from given weights: which they are is checked, recorded, and decides the result."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.state_dict import file_sha256, weights_sha256
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.table import MODELS
from robustbench_twicing.training.recipe import Recipe
from robustbench_twicing.training.session import train

pytestmark = [pytest.mark.usefixtures("tiny")]
DEIT, TWICING, NEUTRENO = "fmnist_deit", "fmnist_twicing", "fmnist_neutreno"


@pytest.fixture
def still(recipe: Recipe) -> Recipe:
    """One epoch whose steps are far too short to be seen."""
    return replace(recipe, epochs=1, lr=1e-30, warmup_epochs=0, min_lr=0.0, ema_decay=0.0)


@pytest.fixture
def start(tiny: None, tmp_path: Path) -> Path:
    """Weights of the small DeiT, in a file that says what it is."""
    return checkpoint(tmp_path / "start" / "deit.safetensors", DEIT)


def checkpoint(path: Path, name: str, **sizes: Any) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        network = build_model(MODELS[name].family, **{**MODELS[name].sizes, **sizes})
    path.parent.mkdir(exist_ok=True)
    save_file(network.state_dict(), path, metadata={"architecture": name})
    return path


@pytest.mark.parametrize("name", [DEIT, TWICING, NEUTRENO])
def test_it_starts_from_these_weights(
    name: str, start: Path, images: Dataset, still: Recipe, tmp_path: Path
) -> None:
    done = train(
        name, images, tmp_path / "run", recipe=still, start=start, arch_override=name != DEIT
    )
    before, after = load_file(start), load_file(done.weights)
    assert before.keys() == after.keys()
    for key, tensor in before.items():
        torch.testing.assert_close(after[key], tensor, rtol=0, atol=1e-20)


def test_what_it_started_from_stays_with_what_it_makes(
    start: Path, images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    done = train(TWICING, images, tmp_path / "run", recipe=recipe, start=start, arch_override=True)
    wanted = {
        "from": str(start),
        "from_architecture": DEIT,
        "from_weights": "plain",
        "from_sha256": file_sha256(start),
        "from_weights_sha256": weights_sha256(load_file(start)),
    }
    for made in (done.weights, tmp_path / "run" / "last.pth"):
        record = load_model(TWICING, made).record
        assert record.flags == ()
        assert wanted.items() <= record.details.items()
        note = record.notes[-1]
        digest = wanted["from_weights_sha256"][:8]
        assert note == f"Its training started from weights of {DEIT!r} (SHA-256 {digest}...)."
    settings = json.loads((tmp_path / "run" / "train.json").read_text())["settings"]
    assert settings["from"] == {"weights_sha256": wanted["from_weights_sha256"]}


@pytest.mark.slow
def test_the_seed_decides_the_rest_and_a_stopped_training_ends_the_same(
    start: Path, images: Dataset, recipe: Recipe, tmp_path: Path
) -> None:
    class Killed(Exception):
        pass

    def kill(now: Any) -> None:
        if now.step == 10:
            raise Killed

    for run, seed in (("one", 0), ("two", 0), ("other", 1)):
        train(DEIT, images, tmp_path / run, recipe=recipe, start=start, seed=seed)
    with pytest.raises(Killed):
        train(DEIT, images, tmp_path / "cut", recipe=recipe, start=start, report=kill)
    moved = start.rename(start.with_name("moved.safetensors"))
    train(DEIT, images, tmp_path / "cut", recipe=recipe, start=moved)
    train(DEIT, images, tmp_path / "scratch", recipe=recipe)
    digests = [
        weights_sha256(load_file(tmp_path / run / "model.safetensors"))
        for run in ("one", "two", "cut", "other", "scratch")
    ]
    assert digests[0] == digests[1] == digests[2]
    assert len(set(digests)) == 3


def test_averaged_weights_are_taken_where_they_are_asked_for(
    images: Dataset, recipe: Recipe, still: Recipe, tmp_path: Path
) -> None:
    train(DEIT, images, tmp_path / "first", recipe=recipe)
    state = tmp_path / "first" / "last.pth"
    done = train(DEIT, images, tmp_path / "run", recipe=still, start=state, weights="ema")
    averaged = load_model(DEIT, state, weights="ema").record
    assert averaged.weights_sha256 == weights_sha256(load_file(done.weights))
    assert load_model(DEIT, done.weights).record.details["from_weights"] == "ema"


def test_images_are_those_that_the_weights_expect(
    start: Path, images: Dataset, still: Recipe, tmp_path: Path
) -> None:
    start.with_name("config.json").write_text('{"mean": [0.1, 0.2, 0.3]}')
    train(DEIT, images, tmp_path / "run", recipe=still, start=start)
    settings = json.loads((tmp_path / "run" / "train.json").read_text())["settings"]
    assert settings["preprocessing"]["mean"] == [0.1, 0.2, 0.3]


def test_weights_that_do_not_fit_are_refused_before_work(
    start: Path, images: Dataset, still: Recipe, tmp_path: Path
) -> None:
    five = checkpoint(tmp_path / "five" / "deit.safetensors", DEIT, num_classes=5)
    wide = checkpoint(tmp_path / "wide" / "deit.safetensors", DEIT, embed_dim=32)
    out = tmp_path / "run"
    for name, path, message in (
        (TWICING, start, f"says it is {DEIT} .*, but {TWICING} was asked for.*--arch-override"),
        (DEIT, five, "has 5 classes and fashion-mnist:test1000 10; train it on"),
        (DEIT, wide, f"does not fit {DEIT}"),
        (DEIT, tmp_path / "nowhere.pth", "nowhere.pth: there is no such file; give the path"),
        (DEIT, TWICING, rf"--from {TWICING}: there is no such .* or bundled \(those of {DEIT} "),
        (DEIT, "random:0", "weights are random where --from is left out"),
        (DEIT, "", "''|no checkpoint|is a folder"),
    ):
        with pytest.raises(UserError, match=message):
            train(name, images, out, recipe=still, start=path)
    assert not out.exists()


def test_a_training_from_other_weights_is_another(
    start: Path, images: Dataset, still: Recipe, tmp_path: Path
) -> None:
    train(DEIT, images, tmp_path / "run", recipe=still, start=start)
    other = checkpoint(tmp_path / "other" / "deit.safetensors", DEIT)
    tensors = load_file(other)
    save_file({**tensors, "head.bias": tensors["head.bias"] + 1}, other)
    for begin in (None, other):
        with pytest.raises(UserError, match=r"with other settings \(from"):
            train(DEIT, images, tmp_path / "run", recipe=still, start=begin)
