"""images.csv agrees with results.csv, in any order of reading, and holds hostile names."""

from pathlib import Path

import pandas as pd
import pytest

from reports import merge, results, with_worst
from reports.exports import images
from reports.exports.images import IMAGE_COLUMNS, save_images
from reports.merging.runs import Runs
from tests.reports.made import Outcomes, write_run

NAMES = ["=SUM(A1)", 'say "no".png', "a,b.png", "line\nbreak.png", "模.png", *"fghij"]
BAD: list[int | str | None] = ["error", *[0] * 9]
OUTCOMES: Outcomes = {
    "clean": [0, 0, 0, 0, 1, 7, 0, 0, 0, "skipped"],
    "fgsm@1/255": [0, 2, 0, 8, 1, 7, 0, 0, 0, "skipped"],
    "pgd@1/255": [0, 2, 9, 0, 1, 7, 0, 0, 3, "skipped"],
    "pgd@4/255": BAD,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    path = tmp_path_factory.mktemp("runs") / "run"
    other = {**OUTCOMES, "pgd@1/255": [1] * 9 + ["skipped"]}
    return with_worst(merge([write_run(path, {"-a": OUTCOMES, "b": other}, images=NAMES)]))


@pytest.fixture(scope="module")
def written(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("csv") / "images.csv"
    assert save_images(runs, path) == sum(counts.rows for counts in runs.counts)
    return path


@pytest.fixture(scope="module")
def table(written: Path) -> pd.DataFrame:
    return pd.read_csv(written)


def test_counts_are_those_of_results(runs: Runs, table: pd.DataFrame) -> None:
    keys = ["label", "dataset", "protocol", "condition"]
    assert table.columns.tolist() == list(IMAGE_COLUMNS)
    of_images = table.groupby(keys, sort=False)
    wanted = results(runs).assign(
        label=["'-a" if row.label == "-a" else row.label for row in runs.entries]
    )
    assert list(of_images.groups) == list(map(tuple, wanted[keys].to_numpy()))
    for (_, rows), row in zip(of_images, wanted.to_dict("records"), strict=True):
        scored = rows[rows["status"] == "ok"]
        assert len(scored) == row["n_images"]
        assert (rows["status"] == "skipped").sum() == row["n_skipped"]
        if row["status"] == "ok":
            assert 100 * scored["right"].mean() == pytest.approx(row["top1"])
            assert 100 * scored["right_top5"].mean() == pytest.approx(row["top5"], nan_ok=True)
            both = scored["right"] * scored["clean_right"]
            assert 100 * both.mean() == pytest.approx(row["robust_top1"])
            assert scored["linf_255"].max() == pytest.approx(row["linf_255_max"])
        else:
            assert (rows["status"] == "error").any()


def test_the_worst_case_names_its_witness(table: pd.DataFrame) -> None:
    worst = table[(table["label"] == "b") & (table["condition"] == "worst@1/255")]
    assert worst["right"].sum() == 0
    assert set(worst["witness"].dropna()) <= {"clean", "fgsm@1/255", "pgd@1/255"}


def test_names_are_what_csv_text_writes(written: Path, table: pd.DataFrame) -> None:
    shown = table["image"].unique().tolist()
    assert shown == [f"'{NAMES[0]}", *NAMES[1:]]
    assert f'"{NAMES[3]}"' in written.read_text(), "quoted, since it has lines"
    failed = table[table["status"] == "error"]
    assert failed["right"].isna().all()
    assert failed["message"].str.contains("has error").all()


def test_the_size_of_batches_changes_nothing(
    runs: Runs, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "MOST_LINES", 7)
    save_images(runs, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == written.read_bytes()
