"""Labels beside lines never overlap and stay inside; axes are what closed forms say."""

import random
from itertools import pairwise
from math import log, nan

import pytest

from reports.page.drawing.geometry import FIRST_PART, MARKERS, apart, budget_place, line, thinned
from reports.plots.series import MARKERS as CODES


def test_labels_that_are_far_apart_stay_where_they_are() -> None:
    assert apart([10, 90, 50], 20, 0, 100) == [10, 90, 50]


def test_two_labels_at_one_height_are_moved_up_and_down_alike() -> None:
    assert apart([50, 50], 20, 0, 100) == [40, 60]


def test_a_block_is_centred_on_the_mean_of_what_its_labels_want() -> None:
    moved = apart([50, 53, 56], 20, 0, 100)
    assert moved == [33, 53, 73]
    assert sum(moved) == 50 + 53 + 56


def test_a_block_that_grows_takes_its_neighbour_along() -> None:
    assert apart([50, 50, 65], 20, 0, 100) == pytest.approx([35, 55, 75])


def test_blocks_stay_inside() -> None:
    assert apart([0, 0, 0], 20, 0, 100) == [0, 20, 40]
    assert apart([100, 99, 98], 20, 0, 100) == [100, 80, 60]


def test_where_there_is_no_room_gaps_are_equally_smaller() -> None:
    assert apart([50] * 5, 100, 0, 100) == [0, 25, 50, 75, 100]
    assert apart([], 20, 0, 100) == []


@pytest.mark.parametrize("seed", range(30))
def test_labels_never_overlap_leave_or_change_their_order(seed: int) -> None:
    rng = random.Random(seed)
    wanted = [rng.choice((rng.uniform(14, 390), 300)) for _ in range(rng.randint(1, 16))]
    moved = apart(wanted, 17, 14, 390)
    ordered = [
        moved[place] for place in sorted(range(len(wanted)), key=lambda place: wanted[place])
    ]
    assert all(after - before >= 17 - 1e-9 for before, after in pairwise(ordered))
    assert min(moved) >= 14
    assert max(moved) <= 390 + 1e-9


def test_a_linear_axis_shares_the_range_by_budget() -> None:
    places = [budget_place(budget, [1, 2, 4], wide=False) for budget in (0, 1, 2, 4)]
    assert places == [0, 0.25, 0.5, 1]


def test_a_logarithmic_axis_begins_with_a_linear_part() -> None:
    places = [budget_place(budget, [1, 4, 16], wide=True) for budget in (0, 0.5, 1, 4, 16)]
    assert places[:3] == [0, FIRST_PART / 2, FIRST_PART]
    assert places[3] == pytest.approx(FIRST_PART + (1 - FIRST_PART) * log(4) / log(16))
    assert places[4] == 1


def test_what_was_not_scored_is_a_gap() -> None:
    points = [(0.0, 1.0), (1.0, 2.0), (2.0, nan), (3.0, 4.0)]
    assert line(points) == "M0.0 1.0L1.0 2.0M3.0 4.0"
    assert line([(0.0, nan)]) == ""


def test_ticks_have_room_and_the_ends_are_kept() -> None:
    assert thinned([0, 10, 20, 30], 10) == [0, 1, 2, 3]
    assert thinned([0, 5, 10, 15, 17], 10) == [0, 4]
    assert thinned([0, 12, 24, 30], 10) == [0, 1, 3]
    assert thinned([0, 3], 10) == [0, 1]


def test_every_marker_has_an_outline() -> None:
    assert set(MARKERS) == set(CODES)
    assert all(outline[0] == "m" and outline[-1] == "Z" for outline in MARKERS.values())
