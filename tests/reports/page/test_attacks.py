"""The section of attacks: what its drawings show is what the results say."""

import re
from itertools import combinations
from math import inf, nan

import numpy as np
import pandas as pd
import pytest

from reports.metrics.radii import RadiusCurve
from reports.metrics.transfer import TRANSFERS
from reports.page.drawing.curve import Models
from reports.page.drawing.dots import Measured, dots
from reports.page.drawing.geometry import ticks_around
from reports.page.drawing.panels import Panel, attack_panels, distance_panels
from reports.page.drawing.staircase import staircase
from reports.page.drawing.sweeps import LEFT, MARGIN, MOST_SERIES, SMALL, TOP, UNDER
from reports.page.places import places
from reports.page.sections.attacks import Attacked, attacked_places
from reports.statistics.intervals import wilson
from tests.reports.plots.rows import attacks_of, joined, row, sweep, table

RIGHT, BOTTOM = SMALL.width - MARGIN, SMALL.height - UNDER
SWEEP = {"0": 180, "2": 100, "8": 20}
NO_TRANSFER = pd.DataFrame(columns=list(TRANSFERS))


def panels(rows: pd.DataFrame) -> list[Panel]:
    (place,) = places(rows)
    return list(attack_panels(place, Models.of(rows, ""), attacks_of(rows)))


def section(rows: pd.DataFrame, transfers: pd.DataFrame = NO_TRANSFER) -> list[Attacked]:
    models = Models.of(rows, "")
    return attacked_places(list(places(rows)), models, attacks_of(rows), [], transfers)


def radius_curve(label: str, radii: list[float], reach: float = 8.0) -> RadiusCurve:
    return RadiusCurve(label, "photos", "pixel", "linf", "fmn", np.sort(radii), reach)


def test_points_lie_where_budget_and_accuracy_are() -> None:
    (panel,) = panels(sweep("a", "pgd", SWEEP))
    drawn = panel.views[0].curve
    assert drawn is not None
    (series,) = drawn.series
    across = [LEFT + (RIGHT - LEFT) * budget / 8 for budget in (0, 2, 8)]
    down = [BOTTOM - (BOTTOM - TOP) * share for share in (0.9, 0.5, 0.1)]
    assert [point.x for point in series.points] == pytest.approx(across)
    assert [point.y for point in series.points] == pytest.approx(down)
    ends = [float(number) for number in re.findall(r"[MV ]([\d.]+)(?=[VM]|$)", series.ranges)]
    wanted = [end for right in SWEEP.values() for end in wilson(right, 200)]
    assert ends == pytest.approx([BOTTOM - (BOTTOM - TOP) * end for end in wanted], abs=0.06)
    assert series.points[1].text == "a pgd@2/255: 50.00 %, 95 % interval 43.1 to 56.9 (200 images)"


def test_all_attacks_share_an_axis_and_the_worst_case_is_elsewhere() -> None:
    attacks = [sweep("a", name, SWEEP) for name in ("pgd", "worst")]
    first, second = panels(joined(*attacks, sweep("a", "fgsm", {"2": 120, "4": 90})))
    assert [first.title, second.title] == ["PGD-20", "FGSM"]
    for panel in (first, second):
        assert [view.accuracy for view in panel.views] == ["top1", "top5"]
        for view in panel.views:
            assert view.curve is not None
            assert [text for _, text in view.curve.ticks] == ["clean", "2", "4", "8"]


def test_an_attack_with_one_budget_comes_last_as_dots_with_intervals() -> None:
    attacks = [sweep("a", "spsa", {"0": 180, "1": 150}), sweep("a", "pgd", {"2": 100, "8": 20})]
    _, panel = panels(joined(*attacks))
    assert panel.title == "SPSA at 1/255"
    drawn = panel.views[0].dots
    assert drawn is not None
    (dot,) = drawn.rows
    (low, first), *_, (high, last) = drawn.ticks
    assert dot.ring is not None
    numbers = [
        float(first) + (x - low) / (high - low) * (float(last) - float(first))
        for x in (dot.left, dot.x, dot.right, dot.ring)
    ]
    interval = wilson(150, 200)
    assert numbers == pytest.approx([100 * interval.low, 75, 100 * interval.high, 90])


def test_constants_and_what_was_not_scored_are_said() -> None:
    same = sweep("a", "pgd", SWEEP, flags="steps=5")
    (panel,) = panels(joined(same, sweep("b", "pgd", {**SWEEP, "8": None}, flags="steps=5")))
    assert panel.about == "steps=5"
    assert panel.notes == ["Not scored: 1 result."]
    (panel,) = panels(joined(same, sweep("b", "pgd", SWEEP, flags="steps=7")))
    assert panel.about == ""
    assert panel.notes == ["Constants are not the same everywhere: steps=5; steps=7."]


def test_no_two_series_of_one_drawing_look_alike() -> None:
    rows = joined(*(sweep(f"m{number}", "pgd", SWEEP) for number in range(MOST_SERIES + 3)))
    (panel,) = panels(rows)
    drawn = panel.views[0].curve
    assert drawn is not None
    looks = [(series.kind, series.marker) for series in drawn.series]
    assert len(set(looks)) == len(looks) == MOST_SERIES
    assert panel.notes == [f"Of {MOST_SERIES + 3} models {MOST_SERIES} are drawn."]
    colours, dashes = zip(*((kind.split()[0], kind.split()[1]) for kind, _ in looks), strict=True)
    first = list(zip(colours, dashes, looks, strict=True))[:8]
    assert all(one[0] != other[0] for one, other in combinations(first, 2))


def test_the_sentence_gives_the_range_at_the_largest_budget_of_each_attack() -> None:
    weak, strong = sweep("a", "pgd", SWEEP), sweep("b", "pgd", {**SWEEP, "8": 40})
    fgsm = joined(*(sweep(label, "fgsm", {"2": 150, "8": 60}) for label in "ab"))
    spsa = joined(*(sweep(label, "spsa", {"1": 150}) for label in "ab"))
    (place,) = section(joined(weak, strong, fgsm, spsa))
    assert place.sentence.replace("\u00a0", " ") == (
        "At 8/255, PGD-20 leaves 10.00 to 20.00 % of the images right, FGSM 30.00 %; "
        "at 1/255, SPSA leaves 75.00 %."
    )


def test_places_are_named_where_there_are_several_and_left_out_where_nothing_was_attacked() -> None:
    (place,) = section(sweep("a", "pgd", SWEEP))
    assert place.place == ""
    other = sweep("a", "pgd", SWEEP, dataset="drawings")
    clean = table([row("a", "clean", 100, dataset="third")])
    names = [place.place for place in section(joined(sweep("a", "pgd", SWEEP), other, clean))]
    assert names == ["photos, protocol pixel", "drawings, protocol pixel"]
    assert section(clean) == []


def test_a_staircase_falls_at_each_distance_and_marks_the_median() -> None:
    rows = sweep("a", "pgd", SWEEP)
    drawn = staircase([radius_curve("a", [0.0, 2.0, 2.0, inf])], Models.of(rows, ""))
    (series,) = drawn.series
    width, full = RIGHT - LEFT, BOTTOM - TOP
    quarter = [f"{BOTTOM - full * share:.1f}" for share in (0.75, 0.25)]
    at = f"{LEFT + width / 4:.1f}"
    assert series.path == f"M{LEFT} {quarter[0]}H{at}V{quarter[1]}H{RIGHT:.1f}"
    (median,) = series.points
    assert (median.x, median.y) == pytest.approx((LEFT + width / 4, BOTTOM - full / 2))
    unknown = staircase([radius_curve("a", [0.0, inf, inf])], Models.of(rows, ""))
    assert unknown.series[0].points == []


def test_steps_that_are_one_in_the_drawing_are_one_step() -> None:
    rows = sweep("a", "pgd", SWEEP)
    radii = np.linspace(0, 8, 100_001).tolist()
    (series,) = staircase([radius_curve("a", radii)], Models.of(rows, "")).series
    assert len(series.path) < 60_000
    assert series.path.endswith(f"V{BOTTOM:.1f}H{RIGHT:.1f}")


def test_distances_have_curves_and_medians_and_unknown_medians_are_counted() -> None:
    models = Models.of(joined(sweep("a", "pgd", SWEEP), sweep("b", "pgd", SWEEP)), "")
    known, unknown = radius_curve("a", [1.0, 2.0, 3.0]), radius_curve("b", [inf, inf, 1.0])
    curve, median = distance_panels([known, unknown], models)
    assert curve.views[0].curve is not None
    drawn = median.views[0].dots
    assert drawn is not None
    assert [dot.model for dot in drawn.rows] == [0]
    assert median.notes == [
        "The median of 1 model is not known: half the images have no known example."
    ]
    assert len(list(distance_panels([unknown], models))) == 1


def test_intervals_without_an_end_stop_with_the_axis() -> None:
    models = Models.of(sweep("a", "pgd", SWEEP), "")
    (dot,) = dots([Measured("a", 2.0, 0.0, inf, "")], models, "distance", (0, inf)).rows
    assert dot.right == dot.x
    assert dot.ring is None


@pytest.mark.parametrize(
    ("low", "high", "ends"),
    [(0, 8, (0, 8)), (71, 96, (70, 100)), (20, 20, (19, 20)), (0, 0, (0, 1)), (0, 0.37, (0, 0.4))],
)
def test_axes_end_with_round_numbers(low: float, high: float, ends: tuple[float, float]) -> None:
    ticks = ticks_around(low, high)
    assert (ticks[0], ticks[-1]) == ends
    assert ticks == sorted(ticks)
    assert len(ticks) <= 7


def test_transfer_has_a_map_of_accuracies_with_noise_and_one_of_rates() -> None:
    pairs = [("a", "a", 10.0, nan), ("a", "b", 60.0, 25.0), ("b", "a", 70.0, 12.5)]
    rates = pd.DataFrame(
        [
            dict.fromkeys(TRANSFERS)
            | {"dataset": "photos", "protocol": "pixel", "attack": "pgd@2/255"}
            | {"source": source, "target": target, "top1": top1, "rate": rate}
            | {"control_top1": 90.0}
            for source, target, top1, rate in pairs
        ]
    )
    (place,) = section(joined(sweep("a", "pgd", SWEEP), sweep("b", "pgd", SWEEP)), rates)
    (transfer,) = place.transfers
    accuracy, rate = transfer.maps
    assert accuracy.across == rate.across == ["a", "b"]
    assert accuracy.rows == [("a", [10, 60]), ("b", [70, None]), ("random noise", [90, 90])]
    assert rate.rows == [("a", [None, 25]), ("b", [12.5, None])]
