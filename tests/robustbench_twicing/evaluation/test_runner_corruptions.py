"""Corruptions in an evaluation: the same rows whatever the batch, the workers or the way."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attacks import ATTACKS, corruption_condition
from attacks.corruptions import GeneratedImages
from attacks.corruptions.folder import Recipe, write_folder
from reports import results
from robustbench_twicing import evaluate
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.loader import pixels_hash
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.records.run_folder import RunFolder
from tests.attacks.corruptions.clean_photos import photographs, stripes
from tests.tiny import text

pytestmark = pytest.mark.slow

CELLS = (("fog", 3), ("gaussian_noise", 1), ("contrast", 5))
CONDITIONS = [
    clean(),
    *(corruption_condition(*cell) for cell in CELLS[:2]),
    ATTACKS["fgsm"].condition(Fraction(1, 255)),
    corruption_condition(*CELLS[2]),
]
COMPARED = ["condition", "image", "pixels_sha256", "status", "prediction", "clean_rank", "rank"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return open_dataset(photographs(tmp_path_factory.mktemp("photos") / "clean"))


def run(data: Dataset, out: Path, conditions: Sequence[Condition] = CONDITIONS, **how: Any) -> Run:
    options = Options(**{"batch_size": 3, **how})
    tasks = [make_task(data, conditions)]
    return evaluate_models({"stripes": stripes()}, tasks, out=out, options=options)


@pytest.fixture(scope="module")
def whole(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(data, tmp_path_factory.mktemp("whole") / "run")


def rows(done: Run) -> dict[str, dict[str, Any]]:
    found: Any = results(done.folder).to_dict("records")
    return {row["condition"]: row for row in found}


def test_a_corrupted_row_is_scored_and_has_no_budget(whole: Run, data: Dataset) -> None:
    assert list(rows(whole)) == [condition.id for condition in CONDITIONS]
    for cell in CELLS:
        row = rows(whole)[f"imagenet-c/{cell[0]}/{cell[1]}"]
        assert (row["source"], row["attack"], row["status"]) == (
            "generated-jpeg85",
            "imagenet-c",
            "ok",
        )
        assert (row["n_images"], row["n_forward"], row["n_backward"]) == (5, 5, 0)
        for name in ("eps_255", "eps_pixel_255_max", "linf_255_max", "step_size_255"):
            assert pd.isna(row[name]), name
        assert row["seconds"] > 0
    assert rows(whole)["clean"]["source"] == rows(whole)["fgsm@1/255"]["source"] == "files"


def test_the_records_are_of_the_corrupted_pixels_with_the_clean_facts(
    whole: Run, data: Dataset
) -> None:
    facts: Any = whole.records().to_dict("records")
    records = {(row["condition"], row["image"]): row for row in facts}
    for name, severity in CELLS:
        source = GeneratedImages(name, severity)
        for index, image in enumerate(data.ids):
            row = records[f"imagenet-c/{name}/{severity}", image]
            before = records["clean", image]
            pixels = source.pixels(data, index, stripes().preprocessing, seed=0)
            assert row["pixels_sha256"] == pixels_hash(pixels)
            assert row["pixels_sha256"] != before["pixels_sha256"]
            for fact in ("clean_prediction", "clean_rank", "clean_loss", "target"):
                assert row[fact] == before[fact]
            assert row["loss"] != before["loss"]
            assert row["rank_8bit"] == row["rank"]


@pytest.mark.parametrize("how", [{"batch_size": 1}, {"batch_size": 5}, {"workers": 2}])
def test_batches_and_workers_change_nothing(
    how: dict[str, Any], whole: Run, data: Dataset, tmp_path: Path
) -> None:
    found = run(data, tmp_path / "run", **how).records()[COMPARED]
    order = ["condition", "image"]
    pd.testing.assert_frame_equal(
        found.sort_values(order, ignore_index=True),
        whole.records()[COMPARED].sort_values(order, ignore_index=True),
    )


def test_the_order_of_conditions_and_what_else_is_asked_for_change_nothing(
    whole: Run, data: Dataset, tmp_path: Path
) -> None:
    some = [CONDITIONS[4], CONDITIONS[1]]
    found = run(data, tmp_path / "run", some).records()
    assert found["condition"].tolist() == [each.id for _ in range(5) for each in some]
    wanted = whole.records()
    for condition in some:
        pd.testing.assert_frame_equal(
            found[found["condition"] == condition.id][COMPARED].reset_index(drop=True),
            wanted[wanted["condition"] == condition.id][COMPARED].reset_index(drop=True),
            check_categorical=False,
        )


def test_another_seed_is_another_corruption(whole: Run, data: Dataset, tmp_path: Path) -> None:
    other = run(data, tmp_path / "run", seed=1).records()
    same = other["pixels_sha256"] == whole.records()["pixels_sha256"]
    names = whole.records()["condition"]
    assert same[names.isin(["clean", "fgsm@1/255", "imagenet-c/contrast/5"])].all()
    assert not same[names.isin(["imagenet-c/fog/3", "imagenet-c/gaussian_noise/1"])].any()


def test_parts_that_are_gone_are_made_again(whole: Run, data: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole.folder.path, out)
    next(out.rglob("part-000001.parquet")).unlink()
    assert set(results(RunFolder.open(out))["status"]) == {"incomplete"}
    assert text(run(data, out).records()) == text(whole.records())


def test_a_run_that_shows_no_clean_images_is_continued(data: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "run"
    whole = text(run(data, out, CONDITIONS[1:3]).records())
    next(out.rglob("part-000001.parquet")).unlink()
    assert text(run(data, out, CONDITIONS[1:3]).records()) == whole


@pytest.mark.parametrize("jpeg", [True, False])
def test_a_written_folder_gives_the_numbers_of_the_fly(
    jpeg: bool, data: Dataset, tmp_path: Path
) -> None:
    list(write_folder(data, tmp_path / "c", Recipe(("fog", "gaussian_noise"), (3,), jpeg=jpeg)))
    names = ("fog", "gaussian_noise")
    made = [corruption_condition(name, 3, jpeg=jpeg) for name in names]
    read = [corruption_condition(name, 3, folder=tmp_path / "c") for name in names]
    on_the_fly = run(data, tmp_path / "made", made)
    from_files = run(data, tmp_path / "read", read)
    assert text(from_files.records()) == text(on_the_fly.records())
    assert (
        results(from_files.folder)["source"].tolist()
        == results(on_the_fly.folder)["source"].tolist()
    )


def test_corrupted_files_that_were_replaced_are_noticed(data: Dataset, tmp_path: Path) -> None:
    list(write_folder(data, tmp_path / "c", Recipe(("fog",), (3,))))
    conditions = [clean(), corruption_condition("fog", 3, folder=tmp_path / "c")]
    done = run(data, tmp_path / "run", conditions)
    run(data, tmp_path / "run", conditions)
    first, *_, last = sorted((tmp_path / "c").rglob("*.JPEG"))
    assert first.stem in data.ids[0]
    shutil.copy(last, first)
    with pytest.raises(
        UserError, match=r"made with other images: .* under imagenet-c/fog/3 is not"
    ):
        run(data, done.folder.path, conditions)


def test_a_larger_model_scores_the_same_images_resized(data: Dataset, tmp_path: Path) -> None:
    list(write_folder(data, tmp_path / "c", Recipe(("fog",), (3,))))
    found = []
    for folder in (None, tmp_path / "c"):
        condition = corruption_condition("fog", 3, folder=folder)
        done = evaluate(stripes(256), data, {condition.id: condition}, batch_size=3)
        found.append(text(done.records()))
    assert found[0] == found[1]


def test_the_python_interface_takes_corruptions_by_their_id(data: Dataset) -> None:
    done = evaluate(
        stripes(), data, {"clean": None, "imagenet-c/fog/3": corruption_condition("fog", 3)}
    )
    assert results(done.folder)["status"].tolist() == ["ok", "ok"]
    with pytest.raises(UserError, match="'imagenet-c/fog/2' is given the condition 'imagenet-c/fo"):
        evaluate(stripes(), data, {"imagenet-c/fog/2": corruption_condition("fog", 3)})
    named = evaluate(stripes(), data, {"clean": None, "imagenet-c/fog/3": None})
    assert named.results()["top1"].tolist() == results(done.folder)["top1"].tolist()


SCRIPT = """
if __name__ == "__main__":  # the workers import this file, too, and need nothing of it
    import sys
    from pathlib import Path
    from robustbench_twicing.data.opening import open_dataset
    from tests.robustbench_twicing.evaluation.test_runner_corruptions import run

    run(open_dataset(sys.argv[1]), Path(sys.argv[2]), batch_size=1, workers=2)
"""


def test_a_killed_run_is_continued_bit_for_bit_and_leaves_no_process(tmp_path: Path) -> None:
    folder, out = photographs(tmp_path / "clean", 12), tmp_path / "run"
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(folder), str(out)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[3])
    deadline = time.monotonic() + 300
    while len(list(out.rglob("part-*.parquet"))) < 2 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 2 <= len(list(out.rglob("part-*.parquet"))) < 12
    data = open_dataset(folder)
    done = run(data, out, batch_size=1)
    wanted = run(data, tmp_path / "other", batch_size=1)
    assert text(done.records()) == text(wanted.records())
    while (left := processes(str(tmp_path))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def processes(mark: str) -> list[str]:
    """Process ids of those whose command line has a mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in path.read_text():
                found.append(path.parent.name)
        except OSError:
            continue
    return found
