"""Shifted test sets on a network whose answers are known: which number is which."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attacks import pgd
from reports import results
from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.cli.api_conditions import read_conditions
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.imagenet import subset_indices
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task
from tests.palette import (
    OBJECTNET,
    PREPROCESSING,
    Palette,
    nearest,
    palette,
    run_all,
    subset_folders,
    wnid_folders,
    write,
    write_mappings,
)
from tests.tiny import text

A, R = subset_indices("imagenet-a"), subset_indices("imagenet-r")
SHIFTED = ("imagenet-a", "imagenet-r")
OUTSIDE = {index: index + 1 for index in A if index + 1 not in A}
"""Classes of ImageNet-A to one beside them that is not."""
SWAPPED = dict(list(OUTSIDE.items())[::3])
RIGHT_OF_200 = sum(nearest(SWAPPED.get(index, index), A) == index for index in A)


def rows(run: Run, dataset: str) -> dict[str, dict[str, Any]]:
    """The rows of results.csv on one data set by condition."""
    table = results(run.folder)
    chosen: Any = table[table["dataset"] == dataset].to_dict("records")
    return {row["condition"]: row for row in chosen}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ImageNet-A with some pictures beside other classes, -R, and clean pictures."""
    root = tmp_path_factory.mktemp("sets")
    write(root / "imagenet-a", subset_folders("imagenet-a", swapped=SWAPPED))
    write(root / "imagenet-r", subset_folders("imagenet-r"))
    write(root / "clean", wnid_folders(range(0, 1000, 2), swapped={A[0]: A[0] + 1, 998: 997}))
    return root


@pytest.mark.slow
def test_both_numbers_of_imagenet_a_are_of_all_draws(folders: Path, tmp_path: Path) -> None:
    """The palette does not draw: every draw is the number itself."""
    data = open_dataset(f"imagenet-a={folders}/imagenet-a")
    both = rows(run_all([data], tmp_path / "run", draws=2), "imagenet-a")
    for row in both.values():
        assert (row["draws"], row["top1_mean"], row["top1_sd"]) == (2, row["top1"], 0)
    assert [row["n_forward"] for row in both.values()] == [400, 0]


@pytest.mark.slow
def test_the_two_numbers_of_imagenet_a(folders: Path, tmp_path: Path) -> None:
    found = rows(
        run_all([open_dataset(f"imagenet-a={folders}/imagenet-a")], tmp_path / "run"), "imagenet-a"
    )
    assert list(found) == ["imagenet-a", "imagenet-a/1000-way"]
    own, whole = found.values()
    assert 100 < RIGHT_OF_200 < 200
    assert own["top1"] == RIGHT_OF_200 / 2
    assert whole["top1"] == (200 - len(SWAPPED)) / 2
    assert (own["flags"], whole["flags"]) == ("200-way", "1000-way")
    assert (own["n_images"], own["n_forward"]) == (200, 200)
    assert (whole["n_images"], whole["n_forward"], whole["n_backward"]) == (200, 0, 0)
    assert (own["attack"], own["status"], own["robust_top1"]) == ("clean", "ok", own["top1"])
    assert (whole["attack"], whole["robust_top1"]) == ("readout", whole["top1"])


@pytest.mark.slow
def test_records_say_which_class_is_meant(folders: Path, tmp_path: Path) -> None:
    done = run_all([open_dataset(f"imagenet-a={folders}/imagenet-a")], tmp_path / "run")
    records = done.records().set_index("condition")
    own, whole = records.loc["imagenet-a"], records.loc["imagenet-a/1000-way"]
    shown = [SWAPPED.get(index, index) for index in A]
    assert own["target"].tolist() == list(range(200))
    assert whole["target"].tolist() == list(A)
    assert own["prediction"].tolist() == [A.index(nearest(each, A)) for each in shown]
    assert whole["prediction"].tolist() == shown
    assert whole["clean_prediction"].tolist() == shown
    assert (whole["clean_rank"] == whole["rank"]).all()
    assert (whole["loss"].to_numpy() >= own["loss"].to_numpy()).all(), (
        "more rivals cannot make a class likelier"
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [7, 200])
def test_batches_change_no_number(size: int, folders: Path, tmp_path: Path) -> None:
    data = open_dataset(f"imagenet-a={folders}/imagenet-a", limit=30)
    tasks = [make_task(data, [clean()])]

    def of(batch_size: int) -> pd.DataFrame:
        out, options = tmp_path / str(batch_size), Options(batch_size=batch_size)
        done = evaluate_models({"p": palette()}, tasks, out=out, options=options)
        return results(done.folder).drop(columns="seconds")

    pd.testing.assert_frame_equal(of(size), of(1))


@pytest.mark.slow
def test_clean_images_of_the_same_classes_stand_beside(folders: Path, tmp_path: Path) -> None:
    names = [str(folders / "clean"), *(f"{name}={folders}/{name}" for name in SHIFTED)]
    done = run_all([open_dataset(name) for name in names], tmp_path / "run")
    found = rows(done, "clean")
    assert list(found) == ["clean", "clean/imagenet-a-classes", "clean/imagenet-r-classes"]
    assert (found["clean"]["n_images"], found["clean"]["n_forward"]) == (500, 500)
    shown = {index: index for index in range(0, 1000, 2)} | {A[0]: A[0] + 1, 998: 997}
    assert found["clean"]["top1"] == 100 * (1 - 2 / 500)
    for name, classes in (("imagenet-a", A), ("imagenet-r", R)):
        own = [index for index in shown if index in classes]
        right = sum(nearest(shown[index], classes) == index for index in own)
        row = found[f"clean/{name}-classes"]
        assert row["n_images"] == len(own)
        assert row["top1"] == pytest.approx(100 * right / len(own))
        assert (row["flags"], row["n_forward"], row["status"]) == ("200-way", 0, "ok")
    assert list(rows(done, "imagenet-r")) == ["imagenet-r", "imagenet-r/1000-way"]
    assert not notes(done, "clean accuracy on the same 200 classes")


def notes(done: Run, words: str) -> list[str]:
    evaluations = done.folder.manifest.evaluations
    return [each.dataset.name for each in evaluations if words in str(each.dataset.notes)]


@pytest.mark.slow
def test_one_attack_on_two_sets_says_of_each_over_which_classes(
    folders: Path, tmp_path: Path
) -> None:
    conditions = read_conditions({"clean": None, "pgd@16/255": partial(pgd, eps=16 / 255)})
    names = [f"imagenet-a={folders}/imagenet-a", str(folders / "clean")]
    for order in (names, names[::-1]):
        tasks = [make_task(open_dataset(name, limit=10), conditions) for name in order]
        out = tmp_path / str(order is names)
        done = evaluate_models({"p": palette()}, tasks, out=out, options=Options(batch_size=64))
        assert rows(done, "imagenet-a")["pgd@16/255"]["flags"] == "limit-10-of-200;200-way"
        assert rows(done, "clean")["pgd@16/255"]["flags"] == "limit-10-of-500"


@pytest.mark.slow
def test_missing_clean_images_are_said(folders: Path, tmp_path: Path) -> None:
    names = [f"{name}={folders}/{name}" for name in SHIFTED]
    done = run_all([open_dataset(name) for name in names], tmp_path / "run")
    assert notes(done, "clean accuracy on the same 200 classes is not in this run") == [*SHIFTED]


@pytest.mark.slow
def test_no_second_look_without_an_image_for_it(folders: Path, tmp_path: Path) -> None:
    lonely = write(tmp_path / "lonely", wnid_folders([0, 999]))
    data = [open_dataset(lonely), open_dataset(f"imagenet-a={folders}/imagenet-a")]
    done = run_all(data, tmp_path / "run")
    assert list(rows(done, "lonely")) == ["clean"]
    assert notes(done, "clean accuracy on the same 200 classes is not") == ["imagenet-a"]


@pytest.mark.slow
@pytest.mark.parametrize("which", SHIFTED)
def test_an_attack_goes_for_the_200_classes(which: str, folders: Path, tmp_path: Path) -> None:
    """It gives bit for bit what it gives on a model that has no other classes."""
    attack = partial(pgd, eps=16 / 255)
    data = open_dataset(f"{which}={folders}/{which}", limit=40)
    done = evaluate(palette(), data, {"clean": None, "pgd@16/255": attack}, out=tmp_path / "run")
    found = rows(done, which)
    assert list(found) == [which, f"{which}/1000-way", "pgd@16/255"]
    assert found["pgd@16/255"]["flags"] == "limit-40-of-200;200-way"
    assert found["pgd@16/255"]["top1"] < found[which]["top1"]
    own = Classifier(
        Palette(),
        PREPROCESSING,
        palette().record,
        classes=subset_indices(which),
        normalize=False,
    )
    plain = replace(data, space=None, clean_id="clean")
    alone = evaluate(own, plain, {"clean": None, "pgd@16/255": attack}, out=tmp_path / "alone")
    one, other = (run.records().set_index("condition").loc["pgd@16/255"] for run in (done, alone))
    assert text(one.reset_index(drop=True).assign(condition="")) == text(
        other.reset_index(drop=True).assign(condition="")
    )


@pytest.mark.slow
def test_objectnet_counts_mapped_answers(tmp_path: Path) -> None:
    shown = {"chair/a.png": 559, "chair/b.png": 1, "helmet/a.png": 518, "helmet/b.png": 409}
    write(tmp_path / "images", {**shown, "alarm_clock/a.png": 409, "zoo_thing/a.png": 3}, border=2)
    write_mappings(tmp_path / "mappings", OBJECTNET)
    done = run_all([open_dataset(f"objectnet={tmp_path}")], tmp_path / "run")
    (row,) = rows(done, "objectnet").values()
    assert (row["condition"], row["n_images"], row["flags"]) == (
        "objectnet",
        5,
        "copies-1;mapped-3",
    )
    assert row["top1"] == 60
    records = done.records().set_index("image")["rank"]
    assert records[["alarm_clock/a.png", "chair/a.png", "helmet/a.png"]].tolist() == [0, 0, 0]
    assert (records[["chair/b.png", "helmet/b.png"]] > 0).all()
    best = min(distance(1, own) for own in (423, 559, 765))
    nearer = sum(distance(1, rival) < best for rival in range(1000))
    assert nearer <= records["chair/b.png"] < nearer + 50, "ranks are over all 1000 logits"


def distance(one: int, other: int) -> int:
    digits = [(index // 100, index // 10 % 10, index % 10) for index in (one, other)]
    return sum((a - b) ** 2 for a, b in zip(*digits, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["imagenetv2", "sketch", "imagenet"])
def test_sets_of_all_classes_are_scored_over_all(name: str, tmp_path: Path) -> None:
    root = write(tmp_path / "x", wnid_folders([5, 700, 701], swapped={701: 3}))
    done = run_all([open_dataset(f"{name}={root}")], tmp_path / "run")
    (row,) = results(done.folder).to_dict("records")
    wanted = {"sketch": ("imagenet-sketch",) * 2, "imagenet": ("imagenet", "clean")}
    assert (row["dataset"], row["condition"]) == wanted.get(name, (name, name))
    assert row["top1"] == pytest.approx(200 / 3)
    assert row["flags"] == ""
