"""Making the zoo: every model and seed, continued, collected into the package."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

import robustbench_twicing.checkpoints.bundled as bundled
import robustbench_twicing.training.zoo as making
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.training.recipe import Recipe
from robustbench_twicing.training.recipes import choose_recipe


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Two models, one step each, and a package folder of one's own."""

    def recipe(name: str) -> Recipe:
        return replace(choose_recipe(name), epochs=1, batch_size=16)

    def data(spec: str) -> Dataset:
        assert spec in ("fashion-mnist-train:DIR", "fashion-mnist:test1000")
        return open_dataset("fashion-mnist:test1000", limit=20)

    zoo = ("fmnist_deit", "fmnist_twicing[3-4]")
    package = tmp_path / "package"
    package.mkdir()
    monkeypatch.setattr(making, "choose_recipe", recipe)
    monkeypatch.setattr(making, "open_dataset", data)
    monkeypatch.setattr(making, "TABLE", package / "seeds.csv")
    for module in (making, bundled):
        monkeypatch.setattr(module, "ZOO", zoo)
    monkeypatch.setattr(making, "bundled_file", lambda name: package / bundled.file_name(name))
    return tmp_path


@pytest.mark.slow
def test_seed_0_and_the_table_of_all_seeds_go_into_the_package(small: Path) -> None:
    out = ["--out", str(small / "runs")]
    assert making.main(["DIR", *out, "--seeds", "0,1", "--install"]) == 0
    with (small / "package" / "seeds.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["model"], row["seed"]) for row in rows] == [
        ("fmnist_deit", "0"),
        ("fmnist_deit", "1"),
        ("fmnist_twicing[3-4]", "0"),
        ("fmnist_twicing[3-4]", "1"),
    ]
    assert all(row["images"] == "20" and 0 <= int(row["right"]) <= 20 for row in rows)
    assert rows[0]["weights_sha256"] != rows[1]["weights_sha256"]
    installed = small / "package" / "fmnist_twicing_3-4.safetensors"
    made = small / "runs" / "fmnist_twicing[3-4]-seed0" / "model.safetensors"
    assert installed.read_bytes() == made.read_bytes()


@pytest.mark.slow
def test_nothing_is_installed_before_seed_0_is_finished(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(small / "runs"), "--models", "fmnist_deit"]
    assert making.main(["DIR", *out, "--install"]) == 1
    assert "train fmnist_twicing[3-4] with seed 0 first" in capsys.readouterr().err
    assert list((small / "package").iterdir()) == []


def test_bad_seeds_are_one_line(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert making.main(["DIR", "--out", str(small / "runs"), "--seeds", "0,x"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
