"""From a table of results to CE, mCE and their relatives, each named, none over a part."""

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from reports import corruption_scores, save_corruption_scores
from reports.console import print_corruptions
from reports.imagenet_c.corruption_error import ReferenceErrors, alexnet
from robustbench_twicing.data.imagenet_c import EXTRA, MAIN
from robustbench_twicing.errors import UserError
from tests.reports.imagenet_c.made import flat, numbers, table

ALEXNET = alexnet()
UNIT = "AlexNet (torchvision)"


def test_every_number_has_its_own_name_and_value() -> None:
    errors = {**flat(0.6), **flat(0.3, EXTRA)}
    scores = numbers(corruption_scores(table(errors)))
    assert len(scores) == 2 * 19 + 5
    assert {row["status"] for row in scores.values()} == {"ok"}
    fog = sum(ALEXNET.errors["fog", severity] for severity in range(1, 6))
    assert scores["CE fog"]["percent"] == pytest.approx(100 * 3.0 / fog)
    assert scores["mean error fog"]["percent"] == pytest.approx(60)
    assert scores["mean error saturate"]["percent"] == pytest.approx(30)
    assert scores["mean corruption error"]["percent"] == pytest.approx(60)
    assert scores["mean corruption accuracy"]["percent"] == pytest.approx(40)
    ces = [scores[f"CE {name}"]["percent"] for name in MAIN]
    assert scores["mCE"]["percent"] == pytest.approx(sum(ces) / 15)
    extra = [scores[f"CE {name}"]["percent"] for name in EXTRA]
    assert scores["mean CE of the 4 extra corruptions"]["percent"] == pytest.approx(sum(extra) / 4)
    assert ALEXNET.clean_error is not None
    lost = [
        5 * 0.4 / sum(ALEXNET.errors[name, s] - ALEXNET.clean_error for s in range(1, 6))
        for name in MAIN
    ]
    assert scores["relative mCE"]["percent"] == pytest.approx(100 * sum(lost) / 15)
    named = {name for name, row in scores.items() if row["normaliser"] == UNIT}
    assert named == {
        *(f"CE {name}" for name in (*MAIN, *EXTRA)),
        "mCE",
        "relative mCE",
        "mean CE of the 4 extra corruptions",
    }


@pytest.mark.parametrize(
    ("n_images", "flag"), [(20, "few-images-20"), (999, "few-images-999"), (1000, "")]
)
def test_numbers_of_few_images_are_flagged_and_say_so(n_images: int, flag: str) -> None:
    rows = table(flat(0.5), n_images=n_images)
    scores = corruption_scores(rows)
    assert set(scores["flags"]) == {flag}
    console = Console(file=io.StringIO(), width=200)
    print_corruptions(rows, scores, console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert printed.count(f"few-images-{n_images}: corruption errors, mCE and") == bool(flag)


def test_numbers_that_are_not_there_are_not_flagged() -> None:
    scores = numbers(corruption_scores(table(flat(0.5), status={("frost", 3): "error"})))
    assert scores["mCE"]["flags"] == ""
    assert scores["CE fog"]["flags"] == "few-images-50"


@pytest.mark.parametrize("status", ["error", "incomplete"])
def test_one_cell_that_is_not_scored_leaves_no_mean(status: str) -> None:
    scores = numbers(corruption_scores(table(flat(0.5), status={("frost", 3): status})))
    without = {
        *("mCE", "relative mCE", "mean corruption error", "mean corruption accuracy"),
        *("CE frost", "mean error frost"),
    }
    for name, row in scores.items():
        assert (row["status"] == "incomplete") == (name in without), name
        assert pd.isna(row["percent"]) == (name in without), name
        assert row["missing"] == ("frost/3" if name in without else "")


def test_what_was_never_asked_for_is_missing_too() -> None:
    scores = numbers(corruption_scores(table(flat(0.5, ("fog", "saturate")), clean=None)))
    assert list(scores) == [
        *("mean error fog", "CE fog", "mean error saturate", "CE saturate"),
        *("mCE", "relative mCE", "mean CE of the 4 extra corruptions"),
        *("mean corruption error", "mean corruption accuracy"),
    ]
    assert scores["CE fog"]["status"] == "ok"
    assert scores["mCE"]["status"] == "incomplete"
    assert scores["mCE"]["missing"].count("/1-5") == 14
    assert "fog" not in scores["mCE"]["missing"]
    assert scores["mean CE of the 4 extra corruptions"]["missing"] == (
        "speckle_noise/1-5; gaussian_blur/1-5; spatter/1-5"
    )
    only_extra = numbers(corruption_scores(table(flat(0.5, EXTRA))))
    assert "mCE" not in only_extra
    assert only_extra["mean CE of the 4 extra corruptions"]["status"] == "ok"


def test_relative_mce_needs_the_clean_images() -> None:
    scores = numbers(corruption_scores(table(flat(0.5, MAIN), clean=None)))
    assert scores["mCE"]["status"] == "ok"
    assert (scores["relative mCE"]["status"], scores["relative mCE"]["missing"]) == (
        "incomplete",
        "clean",
    )


def test_relative_mce_needs_all_of_the_clean_images() -> None:
    rows = table(flat(0.5, MAIN))
    of_clean = rows["condition"] == "clean"
    assert of_clean.sum() == 1
    rows.loc[of_clean, "status"] = "incomplete"
    rows.loc[of_clean, "top1"] = None
    score = numbers(corruption_scores(rows))["relative mCE"]
    assert (score["status"], score["missing"]) == ("incomplete", "clean")


def test_labels_and_sources_are_kept_apart() -> None:
    both = pd.concat(
        [
            table(flat(0.5, MAIN)),
            table(flat(0.25, MAIN), clean=None, source="generated-jpeg85"),
            table(flat(0.5, MAIN), clean=0.5, label="b"),
        ],
        ignore_index=True,
    )
    scores = corruption_scores(both)
    mce = scores[scores["number"] == "mCE"]
    assert mce[["label", "source"]].to_numpy().tolist() == [
        ["a", "official"],
        ["a", "generated-jpeg85"],
        ["b", "official"],
    ]
    one, half, other = mce["percent"]
    assert half == pytest.approx(one / 2)
    assert other == one
    relative = scores[scores["number"] == "relative mCE"]["percent"].tolist()
    assert relative[2] == 0


def test_a_cell_that_stands_twice_is_refused() -> None:
    twice = pd.concat([table({("fog", 3): 0.5}), table({("fog", 3): 0.4})], ignore_index=True)
    with pytest.raises(UserError, match="a: imagenet-c/fog/3 stands in two rows"):
        corruption_scores(twice)


def test_the_fewest_images_of_a_numbers_cells_are_named() -> None:
    results = table(flat(0.5, MAIN))
    results.loc[5, "n_images"] = 49
    scores = numbers(corruption_scores(results))
    assert scores["CE gaussian_noise"]["n_images"] == scores["mCE"]["n_images"] == 49
    assert scores["CE fog"]["n_images"] == 50


def test_without_corruptions_there_is_nothing() -> None:
    scores = corruption_scores(table({}))
    assert scores.empty
    assert scores.columns.tolist()[:5] == ["label", "dataset", "protocol", "source", "number"]


def test_the_file_holds_the_same_numbers(tmp_path: Path) -> None:
    scores = corruption_scores(table(flat(0.5), status={("frost", 3): "error"}))
    path = save_corruption_scores(scores, tmp_path)
    assert path.name == "corruption_scores.csv"
    read_back = pd.read_csv(path, keep_default_na=False, na_values={"percent": ""})
    pd.testing.assert_frame_equal(read_back, scores, check_exact=True, check_dtype=False)


def shown(results: pd.DataFrame, **options: Any) -> str:
    console = Console(width=200, file=io.StringIO(), record=True)
    print_corruptions(results, corruption_scores(results, **options), console)
    return console.export_text()


@pytest.mark.slow
def test_the_terminal_shows_each_corruption_and_each_number_by_name() -> None:
    errors = {**flat(0.6), ("fog", 4): 0.75}
    results = table(errors, status={("snow", 1): "error", ("saturate", 5): "incomplete"})
    text = shown(results, reference=ReferenceErrors("own", flat(0.5), 0.1))
    assert "a on val, 50 images, official, protocol pixel: top-1 error %" in text
    rows = {line.split()[1]: line.split() for line in text.splitlines() if line.startswith("│")}
    assert list(rows) == [*MAIN, *EXTRA]
    fog = [cell for cell in rows["fog"] if cell != "│"]
    assert fog == ["fog", "60.0", "60.0", "60.0", "75.0", "60.0", "63.0", "126.0"]
    assert [cell for cell in rows["snow"] if cell != "│"] == ["snow", "error", *["60.0"] * 4]
    assert "part" in rows["saturate"]
    assert (
        "mCE, relative mCE, mean corruption error, mean corruption accuracy: incomplete, no value "
        "(official); missing: snow/1" in text
    )
    assert (
        "mean CE of the 4 extra corruptions: incomplete, no value (official); missing: saturate/5"
        in text
    )
    text = shown(table(flat(0.6), source="generated-memory"))
    assert "mCE: " in text
    assert f"% (generated-memory, unit {UNIT} on the 50,000 official images)" in text
    assert "mean corruption accuracy: 40.00 % (generated-memory, a plain mean, not mCE)" in text


@pytest.mark.parametrize("status", ["error", "incomplete"])
def test_a_run_whose_every_corruption_failed_is_shown(status: str) -> None:
    errors = {("fog", 3): 0.5, ("snow", 3): 0.5}
    text = shown(table(errors, status=dict.fromkeys(errors, status)))
    assert "fog" in text
    assert "mCE" in text
    assert "50.0" not in text


def test_many_missing_corruptions_are_counted() -> None:
    text = shown(table(flat(0.6, ("fog",))))
    assert "missing: gaussian_noise/1-5; shot_noise/1-5; impulse_noise/1-5; " in text
    assert "defocus_blur/1-5 and 10 more" in text


def test_images_of_one_corruption_are_not_those_of_another() -> None:
    rows = table(flat(0.5, ("fog", "frost")), status={("frost", 3): "incomplete"})
    rows.loc[rows["condition"] == "imagenet-c/frost/3", "n_images"] = 0
    scores = numbers(corruption_scores(rows))
    assert (scores["CE fog"]["status"], scores["CE fog"]["n_images"]) == ("ok", 50)
    assert (scores["CE frost"]["status"], scores["CE frost"]["n_images"]) == ("incomplete", 0)
