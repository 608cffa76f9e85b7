"""Differences to a baseline: where they stand, how far their intervals reach, which are filled."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from reports.plots import forest_pictures
from reports.plots.forest import MOST_CONDITIONS, MOST_MODELS, difference_forest
from reports.plots.series import look


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


def differences(*rows: tuple[str, str, float, float, float, bool]) -> pd.DataFrame:
    bounds = ["difference_ci_low", "difference_ci_high"]
    names = ["label", "condition", "difference", *bounds, "significant"]
    return pd.DataFrame(rows, columns=names)


ROWS = differences(
    ("A", "clean", 2.0, -1.0, 5.0, False),
    ("A", "pgd@1/255", -4.0, -9.0, -0.5, True),
    ("B", "clean", 0.0, 0.0, 0.0, False),
    ("B", "pgd@1/255", float("nan"), float("nan"), float("nan"), False),
)


def draw(ax: Axes, rows: pd.DataFrame = ROWS) -> list[ErrorbarContainer]:
    difference_forest(ax, rows, baseline="base", place="photos, 9 images, protocol pixel")
    return [container for container in ax.containers if isinstance(container, ErrorbarContainer)]


def points(container: ErrorbarContainer) -> list[tuple[float, float]]:
    x, y = (np.asarray(each, dtype=float) for each in container.lines[0].get_data())
    return list(zip(x.tolist(), y.tolist(), strict=True))


def test_differences_stand_at_their_conditions_and_models_under_each_other(ax: Axes) -> None:
    first, second = draw(ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["clean", "pgd@1/255"]
    assert [x for x, _ in points(first)] == [2, -4]
    assert [round(y) for _, y in points(first)] == [0, 1]
    assert [x for x, _ in points(second)] == [0], "what was not compared is not drawn"
    assert points(first)[0][1] < points(second)[0][1] < 0.5
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first condition is on top"


def test_intervals_reach_from_low_to_high(ax: Axes) -> None:
    first, _ = draw(ax)
    bars: Any = first.lines[2][0]
    ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
    assert ends == [[-1, 5], [-9, -0.5]]


def test_significant_ones_are_filled_and_others_hollow(ax: Axes) -> None:
    first, second = draw(ax)
    for each in (first, second):
        assert each.lines[0].get_markerfacecolor() == "white"
    on_top = [line for line in ax.lines if line.get_zorder() == 4]
    filled = [np.asarray(line.get_xdata(), dtype=float).tolist() for line in on_top]
    assert filled == [[-4], []]
    assert on_top[0].get_markerfacecolor() == first.lines[0].get_color()


def test_names_are_in_legend_and_title(ax: Axes) -> None:
    draw(ax, ROWS.assign(label=ROWS["label"].replace("A", "$x$_")))
    assert ax.get_legend_handles_labels()[1] == [r"\$x\$_", "B"]
    assert "Differences to base" in ax.get_title()
    assert "photos, 9 images, protocol pixel" in ax.get_title()


def test_the_baseline_keeps_its_own_look(ax: Axes) -> None:
    first, second = draw(ax)
    assert [each.lines[0].get_color() for each in (first, second)] == [
        look(1).colour,
        look(2).colour,
    ]


def test_a_bootstrap_interval_beside_its_difference_does_not_stop_the_picture(ax: Axes) -> None:
    (only,) = draw(ax, differences(("A", "clean", 2.0, 2.5, 3.0, False)))
    assert [x for x, _ in points(only)] == [2]


def everywhere(labels: int, conditions: list[str], **place: str) -> pd.DataFrame:
    rows = differences(
        *((f"m{n}", name, 1.0, 0.0, 2.0, False) for n in range(labels) for name in conditions)
    )
    return rows.assign(n_images=9, **{"dataset": "photos", "protocol": "pixel", **place})


def shown(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Names of pictures, and the conditions in each."""
    return {
        picture.name: [tick.get_text() for tick in picture.figure.axes[0].get_yticklabels()]
        for picture in forest_pictures(rows, "base")
    }


@pytest.mark.slow
def test_each_place_and_every_few_models_have_a_picture() -> None:
    rows = [
        everywhere(MOST_MODELS + 1, ["clean", "pgd@1/255"]),
        everywhere(1, ["clean"], protocol="paper"),
    ]
    assert shown(pd.concat(rows, ignore_index=True)) == {
        "differences-pixel-1": ["clean", "pgd@1/255"],
        "differences-pixel-2": ["clean", "pgd@1/255"],
        "differences-paper": ["clean"],
    }


@pytest.mark.slow
def test_of_too_many_conditions_the_corruptions_are_left_to_the_tables() -> None:
    corrupted = [f"imagenet-c/fog{n}/1" for n in range(MOST_CONDITIONS)]
    assert shown(everywhere(1, ["clean", *corrupted])) == {"differences": ["clean"]}
    assert len(shown(everywhere(1, corrupted))["differences"]) == MOST_CONDITIONS
    assert shown(everywhere(1, [*corrupted, "imagenet-c/more/1"])) == {}
    assert shown(everywhere(1, [f"pgd@{n}/255" for n in range(MOST_CONDITIONS + 1)])) == {}
