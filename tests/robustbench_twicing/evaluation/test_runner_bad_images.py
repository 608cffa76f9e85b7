"""Images that cannot be read: stop with the path, or skip, list and count."""

from pathlib import Path
from typing import Any

import pytest

from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.evaluation.runner import Run
from tests.tiny import column, convnet, noise, quick_conditions, run, table, text

CONDITIONS = quick_conditions("clean", "fgsm", "pgd")


def evaluate(bad: list[int], out: Path, **options: Any) -> Run:
    return run(convnet(), noise(7, bad=bad), CONDITIONS, out, **{"batch_size": 3, **options})


@pytest.mark.slow
def test_the_run_stops_with_the_path_and_keeps_what_was_done(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(BadImageError, match=r"^/photos/4\.png it is damaged"):
        evaluate([4], out)
    assert [path.name for path in out.rglob("*.parquet")] == ["part-000000.parquet"]
    done = run(convnet(), noise(7), CONDITIONS, out, batch_size=3)  # the image was put right
    assert text(done.records()) == text(evaluate([], tmp_path / "other").records())


@pytest.mark.slow
def test_skipped_images_are_listed_counted_and_left_out_of_the_accuracy(tmp_path: Path) -> None:
    done = evaluate([0, 4], tmp_path / "run", on_bad_image="skip")
    whole = evaluate([], tmp_path / "whole")
    assert column(done, "n_skipped") == [2] * 3
    assert column(done, "n_images") == [5] * 3
    assert column(done, "status") == ["ok"] * 3
    records, wanted = done.records(), whole.records()
    skipped = records[records["status"] == "skipped"]
    assert skipped["image"].tolist() == ["image0.png"] * 3 + ["image4.png"] * 3
    assert skipped["message"].str.startswith("/photos/").all()
    assert skipped["rank"].isna().all()
    assert skipped["pixels_sha256"].isna().all()
    assert skipped["target"].tolist() == wanted[wanted["index"].isin([0, 4])]["target"].tolist()
    scored, same = records[records["status"] == "ok"], wanted[~wanted["index"].isin([0, 4])]
    assert scored["prediction"].tolist() == same["prediction"].tolist()
    assert scored["loss"].tolist() == pytest.approx(same["loss"].tolist(), rel=1e-4)
    right = same[same["condition"] == "clean"]["rank"] == 0
    assert table(done)["clean"]["top1"] == 100 * right.sum() / 5


@pytest.mark.slow
def test_a_part_without_any_readable_image_is_done(tmp_path: Path) -> None:
    done = evaluate([3, 4, 5], tmp_path / "run", on_bad_image="skip")
    assert done.complete
    assert column(done, "n_images") == [4] * 3
    assert column(done, "n_skipped") == [3] * 3


@pytest.mark.slow
def test_nothing_readable_is_no_result(tmp_path: Path) -> None:
    done = evaluate(list(range(7)), tmp_path / "run", on_bad_image="skip")
    assert column(done, "status") == ["incomplete"] * 3
    assert column(done, "n_images") == [0] * 3
    assert column(done, "n_skipped") == [7] * 3
    row = table(done)["clean"]
    assert row["top1"] != row["top1"]
