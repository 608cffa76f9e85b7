"""The matrices of the page: every cell is the number of results.csv, or of `compare`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from reports import Runs, merge, results
from reports.imagenet_c.corruption_error import alexnet
from reports.page.drawing.curve import Models
from reports.page.drawing.forest import VALUES, WIDTH, Measured, forest
from reports.page.drawing.matrix import corruption_name, digits, heads, signed, tint
from reports.page.places import Place, places
from reports.page.sections import comparing
from reports.page.sections.comparing import Section, comparison_section
from reports.page.sections.corruptions import Matrix, corruption_matrices
from reports.page.sections.differences import NUMBERS, Compared, differences
from reports.page.sections.leaderboard import corruption_columns
from reports.statistics.comparison import compare
from robustbench_twicing.data.imagenet_c import SEVERITIES
from robustbench_twicing.records.run_folder import RunFolder
from tests.reports.made import Outcomes, write_run

pytestmark = pytest.mark.slow

IMAGES = 12
CONDITIONS = (
    "clean",
    "imagenet-c/fog/3",
    "pgd@4/255",
    "imagenet-c/jpeg_compression/1",
    "imagenet-c/fog/1",
    "pgd@1/255",
    "imagenet-c/spatter/2",
)


def right(share: int, images: int = IMAGES) -> list[int]:
    """Ranks of images of which so many twelfths are right."""
    return [0] * (share * images // 12) + [1] * (images - share * images // 12)


def outcomes(*shares: int, images: int = IMAGES) -> Outcomes:
    return {name: right(share, images) for name, share in zip(CONDITIONS, shares, strict=True)}


class Shown(NamedTuple):
    """What a page has of some runs."""

    runs: Runs
    table: pd.DataFrame
    places: Sequence[Place]
    section: Section
    models: Models

    @property
    def corruptions(self) -> list[Matrix]:
        return list(corruption_matrices(self.places, self.models, self.runs.attacks))

    @property
    def differences(self) -> list[Compared]:
        found = differences(self.section, self.places, self.models, self.runs.attacks)
        return list(found)


def shown(*folders: RunFolder, baseline: str | None = None) -> Shown:
    runs = merge(folders)
    table = results(runs)
    section = comparison_section(runs, table, baseline)
    models = Models.of(table, section.baseline)
    return Shown(runs, table, list(places(table)), section, models)


MODELS: Mapping[str, Outcomes] = {
    "net_a": outcomes(12, 6, 3, 8, 9, 5, 1, images=60),
    "net_b": outcomes(9, 0, 12, 8, 10, 5, 12, images=60),
    "net_c": outcomes(10, 7, 2, 1, 9, 12, 2, images=60),
}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Three models, whose second is the baseline."""
    folder = tmp_path_factory.mktemp("three") / "run"
    return shown(write_run(folder, MODELS, part_size=60), baseline="net_b")


def test_columns_stand_by_attack_and_corruption_mildest_first(three: Shown) -> None:
    (place,) = three.places
    columns = heads(place, three.runs.attacks)
    assert [(head.group, head.text) for head in columns] == [
        ("Clean", ""),
        ("Fog", "1"),
        ("Fog", "3"),
        ("PGD-20", "1"),
        ("PGD-20", "4"),
        ("JPEG compression", "1"),
        ("Spatter", "2"),
    ]
    assert [head.is_first for head in columns] == [True, True, False, True, False, True, True]
    assert [head.words for head in columns][:4] == ["Clean", "Fog 1", "Fog 3", "PGD-20 at 1/255"]


def test_corrupted_cells_are_the_results(three: Shown) -> None:
    (matrix,) = three.corruptions
    results = three.table.set_index(["label", "condition"])
    assert [head.condition for head in matrix.columns] == [
        "imagenet-c/fog/1",
        "imagenet-c/fog/3",
        "imagenet-c/jpeg_compression/1",
        "imagenet-c/spatter/2",
    ]
    assert [view.accuracy for view in matrix.views] == ["top1", "top5"]
    for view in matrix.views:
        for line in view.lines:
            label, numbers = line.row.label, results[view.accuracy]
            assert line.clean.value == numbers[label, "clean"]
            assert [cell.value for cell in line.cells] == [
                numbers[label, head.condition] for head in matrix.columns
            ]
            assert all("95 % interval" in cell.hint for cell in line.cells)
        assert [line.is_baseline for line in view.lines] == [False, True, False]
    first = matrix.views[0].lines[0].cells[0]
    low, high = results.loc[("net_a", "imagenet-c/fog/1"), ["top1_ci_low", "top1_ci_high"]]
    assert first.hint == f"75.00 %, 95 % interval {low:.1f} to {high:.1f} (60 images)"
    assert (first.text, first.level) == ("75.0", 75)


def test_without_top_five_there_is_nothing_to_switch(three: Shown) -> None:
    table = three.table.assign(top5=float("nan"))
    (matrix,) = corruption_matrices(list(places(table)), three.models, three.runs.attacks)
    assert [view.accuracy for view in matrix.views] == ["top1"]


def test_the_mean_is_that_of_the_leaderboard(three: Shown) -> None:
    """Over the main corruptions alone: spatter is one of the four extra ones."""
    (matrix,) = three.corruptions
    view, other = matrix.views
    ((column,), (note,)) = corruption_columns(three.places[0])
    for line in view.lines:
        assert line.mean.value == column.cells[line.row.label].value
    assert view.lines[0].mean.value == pytest.approx(100 * (9 + 6 + 8) / 36)
    assert (view.note, other.note) == (note, note.replace("top-1", "top-5"))


def test_differences_of_corrupted_images_are_those_of_compare(three: Shown) -> None:
    (matrix,) = three.corruptions
    rows = compare(three.runs, three.table, baseline="net_b").rows
    wanted = rows.set_index(["label", "condition"])["difference"]
    for line in matrix.views[0].lines:
        for cell, head in zip(line.cells, matrix.columns, strict=True):
            if not line.is_baseline:
                difference = float(wanted[line.row.label, head.condition])
                assert cell.difference == signed(difference, matrix.views[0].digits)
                assert cell.tint == tint(difference)


@pytest.mark.parametrize("baseline", ["net_b", "net_a", "net_c"])
def test_every_cell_of_every_baseline_is_the_row_of_compare(three: Shown, baseline: str) -> None:
    (place,) = three.differences
    wanted = compare(three.runs, three.table, baseline=baseline).rows
    rows: Any = wanted.set_index(["label", "condition"])
    (against,) = (against for against in place.against if against.label == baseline)
    assert against.tests == wanted["p_holm"].count()
    assert [line.row.label for line in against.lines] == [
        name for name in MODELS if name != baseline
    ]
    for line in against.lines:
        for head, cell in zip(place.columns, line.cells, strict=True):
            row = rows.loc[(line.row.label, head.condition)]
            assert cell is not None
            assert cell.value == row["difference"]
            numbers = [float(number) for number in cell.more.split()]
            exact = [row[name] for name in NUMBERS]
            assert numbers == pytest.approx(exact, rel=1e-5, nan_ok=True)
            assert cell.is_sure == row["significant"]
            assert cell.tint == tint(row["difference"])
        of_model = rows.loc[line.row.label]
        assert (line.sure, line.tests) == (
            of_model["significant"].sum(),
            of_model["p_holm"].count(),
        )
    assert len(against.sure) == wanted["significant"].sum() > 0


def test_the_page_s_baseline_comes_first_and_significant_differences_by_size(three: Shown) -> None:
    (place,) = three.differences
    first, *_ = place.against
    assert (first.label, first.number, first.images) == ("net_b", 1, "60")
    sizes = [abs(float(sure.text.replace("−", "-"))) for sure in first.sure]
    assert sizes == sorted(sizes, reverse=True)
    for sure in first.sure:
        (line,) = (line for line in first.lines if line.row.model == sure.row)
        cell = line.cells[sure.column]
        assert cell is not None
        assert (cell.text, cell.is_sure) == (sure.text, True)
        assert place.columns[sure.column].words == sure.words


def test_the_forest_is_of_the_first_line(three: Shown) -> None:
    (place,) = three.differences
    axis, line = place.forest.axes[0], place.against[0].lines[0]
    for mark, head, cell in zip(place.forest.marks, place.columns, line.cells, strict=True):
        assert cell is not None
        low, high, *_ = map(float, cell.more.split())
        assert mark.words == head.words
        assert mark.x == pytest.approx(axis.zero + axis.scale * cell.value)
        assert [mark.left, mark.right] == pytest.approx(
            [axis.zero + axis.scale * low, axis.zero + axis.scale * high]
        )
        assert place.forest.left <= mark.left <= mark.right <= 600
    assert len(place.forest.axes) == len(place.against)
    assert all("0" in [text for _, text in axis.ticks] for axis in place.forest.axes)


def test_the_axis_goes_from_zero_to_what_is_measured() -> None:
    drawing = forest(["Clean"], [Measured(5, 2, 8, is_sure=True)], [(2, 8), (-31, -4)], 0)
    first, other = drawing.axes
    assert first.zero == drawing.left
    assert [text for _, text in first.ticks] == ["0", *(f"+{n}" for n in range(1, 9))]
    assert [text for _, text in other.ticks] == ["−35", *(f"−{n}" for n in range(30, 0, -5)), "0"]
    for axis in drawing.axes:
        assert axis.ticks[0][0] == pytest.approx(drawing.left)
        assert axis.ticks[-1][0] == pytest.approx(WIDTH - VALUES)
    (mark,) = drawing.marks
    assert (mark.text, mark.is_sure) == ("+5", True)
    assert mark.left < mark.x < mark.right == pytest.approx(WIDTH - VALUES)


def test_places_stand_apart_and_columns_are_counted_through_them(tmp_path: Path) -> None:
    few = {name: {"clean": right(9), "pgd@1/255": right(n)} for name, n in (("A", 3), ("B", 9))}
    page = shown(
        write_run(tmp_path / "one", few, part_size=12),
        write_run(tmp_path / "two", few, part_size=12, protocol="paper"),
    )
    one, two = page.differences
    assert (one.place, two.place) == ("val, protocol pixel", "val, protocol paper")
    assert (one.first, two.first) == (0, 2)
    assert page.corruptions == []


def test_what_was_not_scored_has_no_number(tmp_path: Path) -> None:
    ranks: Outcomes = {"clean": [0, 1], "imagenet-c/fog/1": ["error", 0], "pgd@1/255": [0, 0]}
    page = shown(
        write_run(tmp_path / "run", {"A": ranks, "B": {**ranks, "imagenet-c/fog/1": [0, 1]}})
    )
    (matrix,) = page.corruptions
    failed, scored = (line.cells[0] for line in matrix.views[0].lines)
    assert (failed.text, failed.value, failed.difference) == ("–", None, "")
    assert failed.hint == "error"
    assert (scored.value, scored.difference) == (50.0, "")
    (place,) = page.differences
    assert [head.condition for head in place.columns] == ["clean", "pgd@1/255"]


def test_one_model_has_a_matrix_without_differences(tmp_path: Path) -> None:
    page = shown(write_run(tmp_path / "run", {"A": outcomes(12, 6, 3, 8, 9, 5, 1)}, part_size=12))
    (matrix,) = page.corruptions
    assert all(not cell.difference for line in matrix.views[0].lines for cell in line.cells)
    assert page.differences == []


def test_too_many_comparisons_are_with_the_page_s_baseline_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", MODELS, part_size=60)
    monkeypatch.setattr(comparing, "MOST_PAIRS", 3 * 2 * len(CONDITIONS) - 1)
    page = shown(run)
    (place,) = page.differences
    assert [against.label for against in place.against] == ["net_a"]
    (note,) = page.section.notes
    assert note.startswith("The comparison is with net_a alone")
    assert "42 differences; report --baseline LABEL" in note
    monkeypatch.setattr(comparing, "MOST_PAIRS", 3 * 2 * len(CONDITIONS))
    assert len(shown(run).differences[0].against) == 3


@pytest.mark.parametrize(
    ("difference", "kind"),
    [(0.4, ""), (-0.4, ""), (1, "p1"), (-1.2, "n1"), (19.6, "p20"), (20, "p20"), (-73, "n20")],
)
def test_colours_go_up_to_twenty_points(difference: float, kind: str) -> None:
    assert tint(difference) == kind


def test_numbers_have_a_sign_and_the_decimals_that_they_need() -> None:
    assert [signed(value, 0) for value in (4.0, -7.0, 0.0, -0.2)] == ["+4", "−7", "0", "0"]
    assert signed(-0.25, 1) == "−0.2"
    assert digits([82.0, float("nan"), 100 * 0.29]) == 0
    assert digits([82.0, 33.3]) == 1
    assert corruption_name("jpeg_compression") == "JPEG compression"


def test_corruption_errors_are_markers_at_their_ce(tmp_path: Path) -> None:
    """All wrong, half of them, and one that lacks a severity."""
    fog = [f"imagenet-c/fog/{severity}" for severity in SEVERITIES]
    ranks = {"A": [1, 1], "B": [0, 1], "C": [0, 0]}
    outcomes: dict[str, Outcomes] = {
        label: dict.fromkeys(["clean", *fog], right) for label, right in ranks.items()
    }
    lacking: Outcomes = {**outcomes["C"], fog[-1]: [None, 0]}
    made = shown(write_run(tmp_path, {**outcomes, "C": lacking}))
    (drawing,) = made.corruptions[0].errors
    whole = 100 * len(fog) / sum(alexnet().errors["fog", severity] for severity in SEVERITIES)
    assert [name for _, name in drawing.rows] == ["fog", "mCE"]
    assert drawing.unit == "AlexNet (torchvision)"
    first, second = drawing.models
    assert [point.text for point in first.points] == [f"A, fog: {whole:.1f} %"]
    assert [point.text for point in second.points] == [f"B, fog: {whole / 2:.1f} %"]
    (low, first_tick), *_, (high, last_tick) = drawing.ticks
    unit = (high - low) / (float(last_tick) - float(first_tick))
    for model, percent in ((first, whole), (second, whole / 2)):
        assert model.points[0].y == drawing.rows[0][0]
        assert model.points[0].x == pytest.approx(low + unit * (percent - float(first_tick)))
    assert drawing.whole == pytest.approx(low + unit * (100 - float(first_tick)))
    assert drawing.notes == ["Not complete, and not drawn: 4 numbers."]


def test_without_a_complete_corruption_no_errors_are_drawn(tmp_path: Path) -> None:
    made = shown(write_run(tmp_path, {"A": {"clean": [0], "imagenet-c/fog/1": [1]}}))
    assert made.corruptions[0].errors == []
