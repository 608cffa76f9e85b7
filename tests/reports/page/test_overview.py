"""The first screen: a sentence by a fixed rule, a curve and a leaderboard of the results."""

import re
from collections.abc import Mapping
from itertools import pairwise

import pandas as pd
import pytest

from reports.merging.sessions import Session
from reports.page.drawing.curve import Models
from reports.page.drawing.sweeps import LABEL_GAP, MOST_NAMED, TOP
from reports.page.places import places
from reports.page.sections.comparing import Section
from reports.page.sections.overview import Hero, Overview, facts_of, overview
from tests.reports.plots.rows import (
    attacks_of,
    joined,
    patches,
    row,
    sweep,
    table,
    with_intervals,
)

BUDGETS = {"0": 180, "0.5": 140, "1": 120, "2": 60, "8": 10}
STRONG = {"0": 190, "0.5": 150, "1": 130, "2": 70, "8": 20}


def screen(rows: pd.DataFrame, compared: Section | None = None, **session: str) -> Overview:
    rows = with_intervals(rows)
    sessions = [Session.model_validate({"started": "", **session})]
    compared = compared or Section()
    models, facts = Models.of(rows, compared.baseline), list(facts_of(rows, sessions))
    return overview(list(places(rows)), models, facts, attacks_of(rows), compared)


def sentence(rows: pd.DataFrame, compared: Section | None = None) -> str:
    return re.sub("</?b>", "", screen(rows, compared).headline).replace("\u00a0", " ")


def hero(rows: pd.DataFrame, compared: Section | None = None) -> Hero:
    (only,) = screen(rows, compared).heroes
    return only


def worst(label: str, right: Mapping[str, int | None]) -> pd.DataFrame:
    """An attack, and the same numbers as the worst case."""
    attacked = sweep(label, "pgd", right)
    return joined(attacked, sweep(label, "worst", {k: n for k, n in right.items() if k != "0"}))


TWO = joined(worst("net_a", BUDGETS), worst("net_b", STRONG))


def test_of_several_models_the_first_and_the_range_are_said() -> None:
    assert sentence(TWO) == (
        "At 1/255, b has the highest worst-case accuracy (65.00 %); "
        "at 8/255 both models are between 5.00 and 10.00 %."
    )


def test_differences_to_the_baseline_are_counted() -> None:
    ends = {
        (0, 0): "None of 10 differences to the baseline a is significant.",
        (1, 0): "Of 10 differences to the baseline a, 1 is significant: better.",
        (0, 3): "Of 10 differences to the baseline a, 3 are significant: all worse.",
        (2, 1): "Of 10 differences to the baseline a, 3 are significant: 2 better, 1 worse.",
    }
    for (better, worse), end in ends.items():
        compared = Section("net_a", tests=10, better=better, worse=worse)
        assert sentence(TWO, compared).endswith(f" %. {end}")


def test_models_that_are_alike_share_the_first_place() -> None:
    alike = [worst(label, BUDGETS) for label in "abcd"]
    weak = worst("z", {"0": 90, "1": 50, "8": 4})
    assert sentence(joined(*alike[:3], weak)).startswith("At 1/255, a, b and c have the highest")
    assert sentence(joined(*alike, weak)).startswith("At 1/255, 4 of 5 models have the highest")
    assert sentence(joined(*alike)) == (
        "At 1/255, all 4 models have the same worst-case accuracy (60.00 %); "
        "at 8/255 all 4 models are at 5.00 %."
    )


def test_without_a_worst_case_the_strongest_attack_is_named() -> None:
    weak = {"0": 180, "1": 170}
    rows = joined(sweep("a", "fgsm", weak), sweep("a", "pgd", BUDGETS), sweep("b", "pgd", STRONG))
    assert sentence(rows).startswith("At 1/255, b has the highest accuracy under PGD-20 (65.00 %)")
    assert hero(rows).title == "PGD-20"


def test_one_model_is_said_on_clean_images_and_at_two_budgets() -> None:
    assert sentence(worst("a", BUDGETS)) == (
        "a is right on 90.00 % of the clean images, 60.00 % in the worst case at 1/255 and "
        "5.00 % in the worst case at 8/255."
    )


def test_without_an_attack_clean_images_are_said_and_without_these_corrupted_ones() -> None:
    clean = table([row("a", "clean", 100), row("b", "clean", 150)])
    assert sentence(clean) == (
        "b has the highest accuracy on clean images (75.00 %); "
        "both models are between 50.00 and 75.00 %."
    )
    assert sentence(clean[:1]) == "a has an accuracy on clean images of 50.00 %."
    fog = [row("a", f"imagenet-c/fog/{severity}", 100 - severity) for severity in (1, 3)]
    assert sentence(table(fog)) == "a has an accuracy on corrupted images of 49.00 %."


def test_of_several_places_the_first_that_was_attacked_is_said() -> None:
    other = table([row("net_a", "clean", 20, dataset="sketches")])
    rows = joined(other, TWO)
    assert sentence(rows).startswith("On photos, protocol pixel: at 1/255, b has")
    assert [place.place for place in screen(rows).heroes] == [
        "sketches, protocol pixel",
        "photos, protocol pixel",
    ]
    assert [len(place.drawings) for place in screen(rows).heroes] == [0, 2]


def test_nothing_scored_is_said() -> None:
    assert sentence(table([])) == "Nothing was scored."
    assert not screen(table([])).heroes
    assert sentence(table([row("a", "clean", None)])) == "Nothing was scored."


def test_the_header_counts_and_dates() -> None:
    started = "2026-11-28T10:00:00+00:00"
    facts = screen(TWO.assign(seed=3), started=started).facts
    assert facts == [
        "2 models",
        "200 images",
        "9 conditions",
        "protocol pixel",
        "seed 3",
        "28 November 2026",
    ]
    assert screen(TWO.assign(seed=3), started="long ago").facts == facts[:-1]


def test_the_leaderboard_has_the_numbers_of_the_results() -> None:
    board = hero(TWO, Section("net_a")).board
    assert [(column.head, column.group) for column in board.columns] == [
        ("clean", ""),
        *((budget, "worst case, x/255 in pixels") for budget in ("0.5", "1", "8")),
    ]
    assert board.groups == [("", 1), ("worst case, x/255 in pixels", 3)]
    assert [(line.name, line.is_baseline) for line in board.rows] == [("b", False), ("a", True)]
    assert [cell.text for cell in board.rows[0].cells] == ["95.00", "75.00", "65.00", "10.00"]
    assert [cell.level for cell in board.rows[1].cells] == [90, 70, 60, 5]
    assert board.rows[1].cells[0].hint == "90.00 %, 95 % interval 85.1 to 93.4 (200 images)"
    assert board.columns[board.order].head == "1"
    assert "Ordered by worst case at 1/255." in board.notes


def test_what_failed_or_was_not_run_has_no_number_and_comes_last() -> None:
    failed = sweep("b", "pgd", {"0": 190, "1": None, "8": 3})
    rows = joined(sweep("c", "fgsm", {"0": 10}), failed, sweep("a", "pgd", BUDGETS))
    board = hero(rows).board
    assert [line.label for line in board.rows] == ["a", "c", "b"]
    assert [cell.text for cell in board.rows[2].cells] == ["95.00", "", "error", "1.50"]
    assert [cell.text for cell in board.rows[1].cells] == ["5.00", "", "", ""]
    assert "An empty cell was not run." in board.notes


def corrupted(label: str, right: Mapping[str, int | None], source: str = "made") -> pd.DataFrame:
    return table(row(label, condition, count, source=source) for condition, count in right.items())


def test_corruptions_are_a_mean_of_what_all_were_scored_under() -> None:
    fog = {"imagenet-c/fog/1": 100, "imagenet-c/fog/3": 60}
    other = {"imagenet-c/spatter/1": 0}  # none of the 15
    rows = joined(
        corrupted("a", fog | other),
        corrupted("b", fog | {"imagenet-c/fog/3": None}),
        corrupted("c", {"imagenet-c/fog/1": 100}),
    )
    board = hero(rows).board
    assert {line.label: line.cells[0].text for line in board.rows} == {
        "a": "40.00",
        "b": "incomplete",
        "c": "incomplete",
    }
    assert "2 conditions that were run (1 corruption, severity 1, 3)" in " ".join(board.notes)
    both = joined(corrupted("a", fog), corrupted("a", fog, "official"))
    assert [column.head for column in hero(both).board.columns] == [
        "corruptions (made)",
        "corruptions (official)",
    ]


def test_lines_end_at_their_labels_in_order_of_value() -> None:
    rows = joined(*(worst(f"m{n}", {"0": 190, "1": 100 + n, "4": 20 + n}) for n in range(9)))
    for drawing in hero(rows, Section("m4")).drawings:
        assert drawing.series[0].name == "m4"
        assert "base" in drawing.series[0].kind
        ordered = sorted(drawing.series, key=lambda series: series.y)
        assert [series.value for series in ordered] == [
            f"{(20 + n) / 2:.2f}" for n in range(8, -1, -1)
        ]
        heights = [series.y for series in ordered]
        assert min(after - before for before, after in pairwise(heights)) >= (LABEL_GAP - 1e-9)
        assert heights[-1] <= drawing.bottom + 1e-9
        assert all(TOP <= point.y <= drawing.bottom for one in ordered for point in one.points)


def test_series_that_are_drawn_differ_and_others_are_counted() -> None:
    rows = joined(*(worst(f"m{n}", BUDGETS) for n in range(MOST_NAMED + 4)))
    shown = hero(rows, Section(f"m{MOST_NAMED + 1}"))
    assert len(shown.board.rows) == MOST_NAMED + 4
    for drawing in shown.drawings:
        assert len(drawing.series) == MOST_NAMED
        assert drawing.series[0].name == f"m{MOST_NAMED + 1}"
        assert len({(series.kind[:2], series.marker) for series in drawing.series}) == MOST_NAMED
        assert len({(series.kind[3:5], series.marker) for series in drawing.series}) == MOST_NAMED
    assert "The curve shows 16 of 20 models: those named first and the baseline." in shown.notes


def test_a_gap_is_no_point_and_no_line() -> None:
    (wide, _) = hero(sweep("a", "pgd", {"0": 180, "1": None, "2": 20})).drawings
    assert wide.series[0].path.count("M") == 2
    assert len(wide.series[0].points) == 2


@pytest.mark.parametrize(("protocol", "unit"), [("pixel", "x/255 in pixels"), ("paper", "norm")])
def test_the_axis_says_what_budgets_are(protocol: str, unit: str) -> None:
    rows = sweep("a", "pgd", {"0": 150, "1": 100, "16": 4}, protocol=protocol)
    axis = hero(rows).drawings[0].axis
    assert unit in axis
    assert axis.endswith(", log scale")


def test_sides_of_patches_are_pixels() -> None:
    shown = hero(patches("a", "patch", {0: 150, 16: 60, 32: 10}))
    assert shown.drawings[0].axis == "budget, patch side in pixels"
    assert sentence(patches("a", "patch", {0: 150, 16: 60, 32: 10})).endswith("at 32 px.")


def test_names_are_text() -> None:
    rows = joined(worst("<i>a</i>", BUDGETS), worst("\u202eb", STRONG))
    head = screen(rows, Section("<i>a</i>", tests=1)).headline
    assert "<i>" not in head
    assert "&lt;i&gt;a&lt;/i&gt;" in head
    assert r"\u202eb" in head
