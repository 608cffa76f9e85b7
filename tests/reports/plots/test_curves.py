"""Accuracy over the budget: what is drawn is what was counted."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reports.plots import attack_title, budget_curve, outside_legend
from reports.plots.curves import MOST_BANDS
from reports.statistics.intervals import wilson
from robustbench_twicing.errors import UserError
from tests.reports.plots.rows import IMAGES, attacks_of, joined, patches, row, sweep, table


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


def data(line: Line2D) -> dict[float, float]:
    x, y = line.get_data()
    return dict(zip(np.asarray(x).tolist(), np.asarray(y).tolist(), strict=True))


def ticks(ax: Axes) -> list[str]:
    return [tick.get_text() for tick in ax.get_xticklabels()]


RIGHT = {"0": 150, "4": 10, "1": 60, "0.5": 100}


@pytest.mark.slow
def test_points_are_percentages_in_order_of_budget_from_clean(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "fgsm", RIGHT), attack="fgsm")
    (line,) = ax.lines
    assert list(data(line).items()) == [(0, 75), (0.5, 50), (1, 30), (4, 5)]


@pytest.mark.slow
def test_top5_is_another_column(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "fgsm", RIGHT), attack="fgsm", accuracy="top5")
    assert data(ax.lines[0]) == {0: 80, 0.5: 55, 1: 35, 4: 10}
    assert "top-5" in ax.get_ylabel()


@pytest.mark.slow
def test_each_attack_has_its_own_points(ax: Axes) -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("A", "pgd", {"1": 20}))
    budget_curve(ax, rows, attack="pgd", title=attack_title(rows, "pgd", attacks_of(rows)))
    assert data(ax.lines[0]) == {0: 75, 1: 10}
    assert ax.get_title(loc="center").startswith("PGD-20, top-1\n")


@pytest.mark.slow
def test_the_band_is_wilson_s_interval_of_the_counts(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "fgsm", RIGHT), attack="fgsm", accuracy="top5")
    (band,) = ax.collections
    corners = np.asarray(band.get_paths()[0].vertices)
    for budget, count in RIGHT.items():
        low, high = wilson(count + 10, IMAGES)
        heights = corners[np.isclose(corners[:, 0], float(budget)), 1]
        assert heights.min() == pytest.approx(100 * low)
        assert heights.max() == pytest.approx(100 * high)
    assert "95 % interval" in ax.get_ylabel()


def legend(ax: Axes) -> list[str]:
    return [str(line.get_label()) for line in ax.lines]


@pytest.mark.slow
def test_the_legend_says_where_constants_differ(ax: Axes) -> None:
    five = sweep("B", "pgd", RIGHT, steps=5, flags="limit-8-of-1000;steps=5")
    budget_curve(ax, joined(sweep("A", "pgd", RIGHT), five), attack="pgd")
    assert legend(ax) == ["A\n(the protocol's constants)", "B\n(steps=5)"]


@pytest.mark.slow
def test_the_legend_says_so_within_a_curve_too(ax: Axes) -> None:
    other = sweep("A", "pgd", {"2": 50, "8": 5}, flags="rel_step=0.1;random_start=False")
    budget_curve(ax, joined(sweep("A", "pgd", {"0": 150, "1": 60}), other), attack="pgd")
    (name,) = legend(ax)
    said = "A (1/255: the protocol's constants) (2, 8/255: rel_step=0.1, random_start=False)"
    assert "".join(name.split()) == "".join(said.split())


@pytest.mark.slow
def test_constants_that_all_share_are_not_repeated(ax: Axes) -> None:
    both = [sweep(label, "pgd", RIGHT, steps=5, flags="steps=5") for label in "AB"]
    budget_curve(ax, joined(*both), attack="pgd")
    assert legend(ax) == ["A", "B"]


@pytest.mark.slow
@pytest.mark.parametrize("models", [MOST_BANDS, MOST_BANDS + 1])
def test_many_models_have_no_bands(ax: Axes, models: int) -> None:
    rows = [sweep(f"m{number}", "fgsm", RIGHT) for number in range(models)]
    budget_curve(ax, joined(*rows), attack="fgsm")
    assert len(ax.lines) == models
    assert len(ax.collections) == (models if models == MOST_BANDS else 0)
    assert ("interval" in ax.get_ylabel()) is (models == MOST_BANDS)


@pytest.mark.slow
def test_a_failed_condition_is_a_gap_and_named(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "fgsm", {"0": 150, "1": None, "4": 10}), attack="fgsm")
    assert np.isnan(data(ax.lines[0])[1])
    assert ax.lines[0].get_label() == "A\n(1 not scored)"


@pytest.mark.slow
def test_accuracies_of_failed_conditions_are_not_believed(ax: Axes) -> None:
    rows = sweep("A", "fgsm", {"0": 150, "1": 20})
    rows.loc[1, "status"] = "incomplete"
    budget_curve(ax, rows, attack="fgsm")
    assert np.isnan(data(ax.lines[0])[1])


@pytest.mark.slow
def test_all_failed_is_an_empty_picture_that_says_so(ax: Axes) -> None:
    rows = sweep("A", "fgsm", {"0": None, "1": None})
    budget_curve(ax, rows.assign(n_images=0), attack="fgsm")
    assert "no images scored" in ax.get_title()
    assert ax.lines[0].get_label() == "A\n(2 not scored)"


@pytest.mark.slow
def test_models_without_the_attack_are_left_out(ax: Axes) -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("B", "pgd", RIGHT))
    budget_curve(ax, rows, attack="fgsm")
    assert [line.get_label() for line in ax.lines] == ["A"]


@pytest.mark.slow
def test_without_a_clean_row_the_attack_s_own_budget_0_is_taken(ax: Axes) -> None:
    own = table([row("A", "fgsm@0/255", 120), row("A", "fgsm@1/255", 20)])
    budget_curve(ax, own, attack="fgsm")
    assert data(ax.lines[0]) == {0: 60, 1: 10}


@pytest.mark.slow
def test_budget_0_has_one_point(ax: Axes) -> None:
    rows = table([row("A", "clean", 120), row("A", "fgsm@0/255", 120), row("A", "fgsm@1/255", 20)])
    budget_curve(ax, rows, attack="fgsm")
    x, y = map(np.asarray, ax.lines[0].get_data())
    assert (x.tolist(), y.tolist()) == ([0, 1], [60, 10])


@pytest.mark.slow
def test_one_image_and_one_budget(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "fgsm", {"1": 1}, n_images=1), attack="fgsm")
    assert data(ax.lines[0]) == {1: 100}
    assert "photos, 1 image, protocol pixel" in ax.get_title()


@pytest.mark.slow
def test_the_title_says_what_on_how_many_and_under_which_protocol(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "mim", RIGHT, protocol="paper"), attack="mim")
    assert ax.get_title() == f"mim, top-1\nphotos, {IMAGES} images, protocol paper"
    assert "normalised units" in ax.get_xlabel()


@pytest.mark.slow
def test_budgets_of_the_pixel_protocol_are_in_pixels(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "fgsm", RIGHT), attack="fgsm")
    assert "pixels" in ax.get_xlabel()
    assert ax.get_xscale() == "linear"
    assert ticks(ax) == ["0", "0.5", "1", "4"]


def test_budgets_of_patches_are_their_sides(ax: Axes) -> None:
    budget_curve(ax, patches("A", "patch", {0: 150, 16: 60, 32: 10}), attack="patch")
    assert ax.get_xlabel() == "budget, patch side in pixels"
    assert data(ax.lines[0]) == {0: 75, 16: 30, 32: 5}
    assert ticks(ax) == ["0", "16", "32"]


@pytest.mark.slow
def test_wide_budgets_have_a_logarithmic_axis_that_says_so(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "fgsm", {"0": 9, "0.1": 8, "8": 0}), attack="fgsm")
    assert ax.get_xscale() == "symlog"
    assert "log scale" in ax.get_xlabel()
    assert ticks(ax) == ["0", "0.1", "8"]
    places = [ax.transData.transform((each, 0))[0] for each in (0, 0.1, 0.8, 8)]
    first, second, third = np.diff(places)
    assert second == pytest.approx(third, rel=0.15), "ten times more is one step"
    assert first < second


@pytest.mark.slow
def test_a_long_sweep_has_some_ticks_only(ax: Axes) -> None:
    budget_curve(ax, sweep("A", "fgsm", {str(each): 5 for each in range(33)}), attack="fgsm")
    assert ticks(ax) == [str(each) for each in range(0, 33, 4)]
    assert len(data(ax.lines[0])) == 33


@pytest.mark.parametrize("column", ["dataset", "protocol"])
def test_protocols_and_data_sets_never_share_axes(ax: Axes, column: str) -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("B", "fgsm", RIGHT, **{column: "paper"}))
    with pytest.raises(UserError, match="one data set and protocol"):
        budget_curve(ax, rows, attack="fgsm")
    assert not ax.lines


def test_one_condition_twice_is_refused(ax: Axes) -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("A", "fgsm", {"4": 11}))
    with pytest.raises(UserError, match="A has two results under fgsm@4/255"):
        budget_curve(ax, rows, attack="fgsm")


def test_nothing_is_refused(ax: Axes) -> None:
    with pytest.raises(UserError, match="not none"):
        budget_curve(ax, sweep("A", "fgsm", {}), attack="fgsm")


@pytest.mark.slow
def test_other_numbers_of_images_are_said(ax: Axes) -> None:
    rows = joined(sweep("A", "fgsm", RIGHT), sweep("B", "fgsm", {"0": 90, "1": None}, n_images=190))
    budget_curve(ax, rows, attack="fgsm")
    labels: list[Any] = [line.get_label() for line in ax.lines]
    assert labels == [f"A\n({IMAGES} images)", "B\n(190 images)\n(1 not scored)"]
    assert f"190-{IMAGES} images" in ax.get_title()


@pytest.mark.slow
def test_lines_differ_in_colour_marker_and_style(ax: Axes) -> None:
    rows = [sweep(label, "fgsm", RIGHT) for label in "ABC"]
    budget_curve(ax, joined(*rows), attack="fgsm")
    for look in (Line2D.get_color, Line2D.get_marker, Line2D.get_linestyle):
        assert len({look(line) for line in ax.lines}) == 3


@pytest.mark.slow
def test_the_legend_is_beside_the_axes_and_whole() -> None:
    names = [f"model_with_quite_a_long_name_number_{number:02d}_of_forty" for number in range(40)]
    figure = Figure(figsize=(4, 3))
    ax = figure.subplots()
    budget_curve(ax, joined(*(sweep(name, "fgsm", RIGHT) for name in names)), attack="fgsm")
    legend = outside_legend(ax)
    assert legend is not None
    shown = [text.get_text().replace("\n", "") for text in legend.get_texts()]
    assert shown == names
    figure.draw_without_rendering()
    assert legend.get_window_extent().x0 >= ax.get_window_extent().x1
    boxes = [text.get_window_extent() for text in legend.get_texts()]
    assert not any(one.overlaps(two) for one, two in pairwise(boxes))


def test_no_series_no_legend(ax: Axes) -> None:
    assert outside_legend(ax) is None
