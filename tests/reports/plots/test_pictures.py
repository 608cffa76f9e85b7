"""Which pictures a table gives, and their files."""

from pathlib import Path

import matplotlib
import pandas as pd
import pytest

from reports.plots import pictures, save_pictures
from reports.plots.corruption_bars import MOST_BARS
from robustbench_twicing.data.imagenet_c import MAIN, SEVERITIES
from tests.reports.plots.rows import attacks_of, joined, row, sweep, table

pytestmark = pytest.mark.slow

RIGHT = {"0": 150, "1": 60, "4": 10}


def corrupted(label: str, **values: object) -> pd.DataFrame:
    names = [(name, severity) for name in MAIN[:2] for severity in SEVERITIES]
    return table(row(label, f"imagenet-c/{name}/{s}", 100, **values) for name, s in names)


def test_each_attack_of_each_place_has_one_picture() -> None:
    rows = joined(
        sweep("A", "fgsm", RIGHT),
        sweep("A", "pgd", {"1": 5}),
        sweep("A", "fgsm", RIGHT, protocol="paper"),
        sweep("A", "fgsm", RIGHT, dataset="others"),
        sweep("B", "fgsm", RIGHT),
    )
    drawn = list(pictures(rows))
    assert [picture.name for picture in drawn] == [
        "accuracy-fgsm-photos-pixel",
        "accuracy-pgd-photos-pixel",
        "accuracy-fgsm-photos-paper",
        "accuracy-fgsm-others-pixel",
    ]
    assert [len(picture.figure.axes[0].lines) for picture in drawn] == [2, 1, 1, 1]
    for picture in drawn:
        top1, top5 = picture.figure.axes
        assert "top-1" in top1.get_ylabel()
        assert "top-5" in top5.get_ylabel()


def test_a_model_looks_the_same_in_all_pictures() -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("B", "fgsm", RIGHT), sweep("B", "pgd", RIGHT))
    rows = rows.drop_duplicates(["label", "condition"])
    both, one = (picture.figure.axes[0].lines for picture in pictures(rows))
    assert both[1].get_color() == one[0].get_color() != both[0].get_color()
    assert both[1].get_marker() == one[0].get_marker() != both[0].get_marker()


def test_the_description_gives_the_numbers_of_a_few_models() -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("B", "fgsm", {"1": None}))
    (drawn,) = pictures(rows, attacks=attacks_of(rows))
    assert "A: top-1 75.0 at 0/255, 30.0 at 1/255, 5.0 at 4/255." in drawn.alt
    assert "B: top-1 not scored." in drawn.alt
    assert drawn.title == "Accuracy under FGSM: photos, 200 images, protocol pixel"


def test_corruptions_have_bars_and_a_map_for_each_model() -> None:
    labels = [f"m{number}" for number in range(MOST_BARS + 1)]
    drawn = list(pictures(joined(*(corrupted(label) for label in labels))))
    names = [picture.name for picture in drawn]
    assert names == [
        "corruption-errors-1",
        "corruption-errors-2",
        *(f"corruption-map-{label}" for label in labels),
    ]
    assert [len(picture.figure.axes[0].containers) for picture in drawn[:2]] == [MOST_BARS, 1]


def test_sources_of_corrupted_images_are_never_mixed() -> None:
    rows = joined(corrupted("A", source="official"), corrupted("B", source="generated-memory"))
    names = [picture.name for picture in pictures(rows)]
    assert names == [
        "corruption-errors-official",
        "corruption-map-A-official",
        "corruption-errors-generated-memory",
        "corruption-map-B-generated-memory",
    ]


@pytest.mark.parametrize("right", [{}, {"0": 5}])
def test_nothing_attacked_no_pictures(right: dict[str, int | None]) -> None:
    assert list(pictures(sweep("A", "fgsm", right))) == []


def test_odd_names_have_files_of_their_own(tmp_path: Path) -> None:
    rows = joined(
        *(sweep("A", "fgsm", RIGHT, dataset=name) for name in ("a/b", "a b", "../up", "x" * 300))
    )
    paths = save_pictures(pictures(rows), tmp_path / "new")
    assert len(set(paths)) == 4 * 3
    assert {path.parent for path in paths} == {tmp_path / "new"}
    assert {path.suffix for path in paths} == {".png", ".pdf", ".svg"}
    assert all(path.stat().st_size > 1000 for path in paths)


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    rows = sweep("<script>--></script>", "fgsm", RIGHT)
    one, two = (save_pictures(pictures(rows), tmp_path / name) for name in ("one", "two"))
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes(), first
    assert "<script>" not in one[2].read_text()


def test_drawing_changes_no_setting() -> None:
    before = dict(matplotlib.rcParams)
    next(pictures(sweep("A", "fgsm", RIGHT)))
    assert dict(matplotlib.rcParams) == before


def test_there_are_no_bars_without_any_complete_corruption_error() -> None:
    rows = corrupted("A")
    part = rows[~rows["condition"].str.endswith("/2")]
    small = rows.assign(flags="not-imagenet-c-enlarged-28px")
    assert any("errors" in picture.name for picture in pictures(rows))
    for each in (part, small):
        assert [picture.name for picture in pictures(each)] == ["corruption-map-A"]
