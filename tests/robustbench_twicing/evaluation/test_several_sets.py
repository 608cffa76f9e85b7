"""Several data sets in one run: what is refused, what is skipped, and how a run goes on."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from reports import results
from robustbench_twicing import evaluate
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet import subset_indices
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.options import Shard
from robustbench_twicing.evaluation.progress import Step
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task, with_clean_subsets
from tests.palette import palette, run_all, subset_folders, wnid_folders, write
from tests.tiny import convnet, noise, quick_conditions, text

A = subset_indices("imagenet-a")
SHIFTED = ("imagenet-a", "imagenet-r")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ImageNet-A, -R, and clean pictures."""
    root = tmp_path_factory.mktemp("sets")
    for name in SHIFTED:
        write(root / name, subset_folders(name))
    return write(root / "clean", wnid_folders(range(0, 1000, 2))).parent


@pytest.mark.slow
def test_models_of_other_classes_are_refused_before_any_work(folders: Path, tmp_path: Path) -> None:
    data = open_dataset(f"imagenet-a={folders}/imagenet-a")
    with pytest.raises(UserError, match=r"palette has 10 classes; imagenet-a .* ImageNet-1k"):
        evaluate(palette(10).answering_in(data.space), data, {"clean": None})  # type: ignore[arg-type]
    models = {"good": palette(), "bad": palette(10)}
    sketch = open_dataset(f"sketch={folders}/clean")
    for each, needed in ((data, "ImageNet-1k's 1000"), (sketch, "1000")):
        tasks = [make_task(each, [clean()])]
        with pytest.raises(UserError, match=rf"^bad has 10 classes, {each.name} needs {needed};"):
            evaluate_models(models, tasks, out=tmp_path / "run", options=Options())
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_two_data_sets_of_one_name_are_refused(folders: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "clean", wnid_folders([1]))
    data = [open_dataset(folders / "clean"), open_dataset(other)]
    with pytest.raises(UserError, match="2 data sets are called clean"):
        run_all(data, tmp_path / "run")


def test_a_condition_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    tasks = [make_task(noise(2), [clean(), clean()])]
    with pytest.raises(UserError, match="condition pixel:clean is given 2 times for tiny"):
        evaluate_models({"m": convnet()}, tasks, out=tmp_path / "run", options=Options())
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_unreadable_images_count_where_they_belong(tmp_path: Path) -> None:
    clean_root = write(tmp_path / "val", wnid_folders([A[0], A[1], 0, 1]))
    for index in (A[0], 0):
        (clean_root / next(iter(wnid_folders([index])))).write_bytes(b"")
    a_root = write(tmp_path / "imagenet-a", wnid_folders([A[0], A[5]]))
    (a_root / next(iter(wnid_folders([A[5]])))).write_text("<html>")
    data = [open_dataset(clean_root), open_dataset(f"imagenet-a={a_root}")]
    done = run_all(data, tmp_path / "run", on_bad_image="skip")
    counts = {
        (row["dataset"], row["condition"]): (row["n_images"], row["n_skipped"], row["status"])
        for row in results(done.folder).to_dict("records")
    }
    assert counts == {
        ("val", "clean"): (2, 2, "ok"),
        ("val", "clean/imagenet-a-classes"): (1, 1, "ok"),
        ("imagenet-a", "imagenet-a"): (1, 1, "ok"),
        ("imagenet-a", "imagenet-a/1000-way"): (1, 1, "ok"),
    }


@pytest.fixture
def three(folders: Path) -> list[Dataset]:
    names = [
        str(folders / "clean"),
        *(f"{name}={folders}/{name}" for name in SHIFTED),
    ]
    return [open_dataset(name, limit=30) for name in names]


@pytest.mark.slow
def test_a_run_goes_on_wherever_it_stopped(three: list[Dataset], tmp_path: Path) -> None:
    kinds = (("clean", "pgd"), ("clean", "pgd"), ("clean",))
    pairs = zip(three, kinds, strict=True)
    tasks = with_clean_subsets([make_task(data, quick_conditions(*each)) for data, each in pairs])
    models = {"one": palette(), "two": palette()}

    def go(out: str, stop_after: int = -1, **options: Any) -> Run:
        count = 0

        def report(step: Step) -> None:
            nonlocal count
            count += bool(step.images and not step.resumed)
            if count == stop_after:
                raise KeyboardInterrupt

        return evaluate_models(
            models,
            tasks,
            out=tmp_path / out,
            options=Options(batch_size=8, **options),
            report=report,
        )

    whole = go("whole")
    for stop_after in (1, 3, 5, 7):
        with pytest.raises(KeyboardInterrupt):
            go("stopped", stop_after)
    again = go("stopped")
    assert text(again.records()) == text(whole.records())
    assert again.complete
    for number in (2, 1):
        go("shares", shard=Shard(number, 3))
    shared = go("shares", shard=Shard(3, 3))
    assert text(shared.records()) == text(whole.records())
    left, right = (results(run.folder).drop(columns="seconds") for run in (whole, shared))
    pd.testing.assert_frame_equal(left, right)
    assert set(left["dataset"]) == {"clean", "imagenet-a", "imagenet-r"}
    fingerprints = {
        each.dataset.name: each.dataset.fingerprint for each in whole.folder.manifest.evaluations
    }
    assert fingerprints == {data.name: data.fingerprint for data in three}


@pytest.mark.slow
def test_other_data_is_refused_by_name(three: list[Dataset], tmp_path: Path) -> None:
    run_all(three, tmp_path / "run")
    other = three[1].select(range(1, 30))
    with pytest.raises(UserError, match="other settings: images of imagenet-a"):
        run_all([three[0], other, three[2]], tmp_path / "run")
    with pytest.raises(UserError, match="of data sets, imagenet-r is there and not here"):
        run_all(three[:2], tmp_path / "run")
