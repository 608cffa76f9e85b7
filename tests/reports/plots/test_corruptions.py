"""Bars of corruption errors and maps of accuracies."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports import corruption_scores
from reports.imagenet_c.corruption_error import ReferenceErrors, alexnet
from reports.plots import corruption_bars, corruption_map
from robustbench_twicing.data.imagenet_c import EXTRA, MAIN, SEVERITIES
from robustbench_twicing.errors import UserError
from tests.reports.plots.rows import joined, row, table

Cells = Mapping[tuple[str, int], int | None]


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


def corrupted(label: str, cells: Cells, **values: object) -> pd.DataFrame:
    """Rows of ImageNet-C, with right images of 10**6 in each cell."""
    return table(
        row(label, f"imagenet-c/{name}/{severity}", right, n_images=10**6, **values)
        for (name, severity), right in cells.items()
    )


def share_of_alexnet(share: Fraction, names: Iterable[str] = MAIN) -> dict[tuple[str, int], int]:
    """Right images of a model whose errors are this share of AlexNet's."""
    return {
        (name, severity): round(10**6 * (1 - float(share) * alexnet().errors[name, severity]))
        for name in names
        for severity in SEVERITIES
    }


def ticks(ax: Axes) -> list[str]:
    return [tick.get_text() for tick in ax.get_xticklabels()]


def heights(ax: Axes, number: int = 0) -> list[float]:
    return [bar.get_height() for bar in ax.containers[number]]


@pytest.mark.slow
def test_bars_are_ce_in_percent_of_alexnet_and_their_mean(ax: Axes) -> None:
    cells = share_of_alexnet(Fraction(1, 2)) | {("fog", s): 10**6 for s in SEVERITIES}
    corruption_bars(ax, corrupted("A", cells))
    names = [name.replace("_", " ") for name in MAIN]
    assert ticks(ax) == [*names, "mCE"]
    expected = [0 if name == "fog" else 50 for name in names] + [50 * 14 / 15]
    assert heights(ax) == pytest.approx(expected, abs=1e-3)


@pytest.mark.slow
def test_models_stand_beside_each_other(ax: Axes) -> None:
    shares = {"A": Fraction(1, 2), "B": Fraction(3, 4)}
    rows = [corrupted(label, share_of_alexnet(share)) for label, share in shares.items()]
    corruption_bars(ax, joined(*rows))
    assert heights(ax, 0) == pytest.approx([50] * 16, abs=1e-3)
    assert heights(ax, 1) == pytest.approx([75] * 16, abs=1e-3)
    first, second = (bars[0] for bars in ax.containers)
    assert first.get_x() + first.get_width() == pytest.approx(second.get_x())
    assert first.get_x() == pytest.approx(-(second.get_x() + second.get_width()))
    assert first.get_hatch() != second.get_hatch()
    assert first.get_facecolor() != second.get_facecolor()


@pytest.mark.slow
def test_the_extra_corruptions_are_bars_of_their_own(ax: Axes) -> None:
    cells = share_of_alexnet(Fraction(1, 2)) | share_of_alexnet(Fraction(1, 4), EXTRA)
    corruption_bars(ax, corrupted("A", cells), extra=True)
    assert ticks(ax) == [*(name.replace("_", " ") for name in EXTRA), "mean CE"]
    assert heights(ax) == pytest.approx([25] * 5, abs=1e-3)


@pytest.mark.slow
def test_what_lacks_a_severity_is_not_drawn_and_named(ax: Axes) -> None:
    cells: Cells = {**share_of_alexnet(Fraction(1, 2)), ("fog", 3): None}
    corruption_bars(ax, corrupted("A", cells))
    places = [bar.get_x() + bar.get_width() / 2 for bar in ax.containers[0]]
    fog = MAIN.index("fog")
    assert places == pytest.approx([place for place in range(15) if place != fog])
    assert ax.get_legend_handles_labels()[1] == ["A\n(2 not complete)"]


@pytest.mark.slow
def test_corruptions_nobody_measured_are_not_shown(ax: Axes) -> None:
    corruption_bars(ax, corrupted("A", share_of_alexnet(Fraction(1), ["fog", "snow"])))
    assert ticks(ax) == ["snow", "fog", "mCE"]
    assert heights(ax) == pytest.approx([100, 100], abs=1e-3)
    assert ax.get_legend_handles_labels()[1] == ["A\n(1 not complete)"]


@pytest.mark.slow
def test_the_title_says_where_the_images_come_from(ax: Axes) -> None:
    rows = corrupted("A", share_of_alexnet(Fraction(1)), source="generated-jpeg85")
    corruption_bars(ax, rows)
    assert "generated-jpeg85" in ax.get_title()
    assert "photos, 1000000 images, protocol pixel" in ax.get_title()


@pytest.mark.slow
def test_a_normaliser_of_ones_own_is_the_unit_and_named(ax: Axes) -> None:
    own = ReferenceErrors("my $net$", dict.fromkeys(alexnet().errors, 0.5), None)
    cells = {(name, severity): 750_000 for name in MAIN for severity in SEVERITIES}
    rows = corrupted("A", cells)
    corruption_bars(ax, rows, scores=corruption_scores(rows, reference=own))
    assert heights(ax) == pytest.approx([50] * 16)
    assert "error of\nmy \\$net\\$" in ax.get_ylabel()


def test_sources_never_share_axes(ax: Axes) -> None:
    cells = share_of_alexnet(Fraction(1), ["fog"])
    rows = joined(corrupted("A", cells), corrupted("B", cells, source="official"))
    with pytest.raises(UserError, match="not files, official"):
        corruption_bars(ax, rows)


def test_nothing_without_corruptions(ax: Axes) -> None:
    with pytest.raises(UserError, match="not none"):
        corruption_bars(ax, table([row("A", "clean", 5)]))


def cells(ax: Axes) -> dict[tuple[int, int], str]:
    collected = {}
    for text in ax.texts:
        column, line = text.get_position()
        collected[int(line), int(column)] = text.get_text()
    return collected


@pytest.mark.slow
def test_the_map_has_corruptions_down_and_severities_across(ax: Axes) -> None:
    right = {("snow", 2): 500_000, ("saturate", 1): 250_000, ("fog", 5): 123_456, ("fog", 1): None}
    rows = joined(corrupted("A", right), corrupted("B", {("fog", 3): 9}))
    corruption_map(ax, rows, label="A")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["snow", "fog", "saturate"]
    assert ticks(ax) == ["1", "2", "3", "4", "5"]
    assert cells(ax) == {(0, 1): "50.0", (1, 4): "12.3", (2, 0): "25.0"}
    image: Any = np.ma.asarray(ax.images[0].get_array()).filled(np.nan)
    assert image[0, 1] == 50
    assert np.isnan(image[1, 0])
    assert len(ax.patches) == 3 * 5 - 3
    assert all(patch.get_hatch() for patch in ax.patches)
    assert ax.get_title().startswith("A\n")


def test_numbers_of_conditions_that_failed_are_not_believed(ax: Axes) -> None:
    rows = corrupted("A", {("fog", 1): 500_000, ("fog", 2): 400_000})
    rows.loc[0, "status"] = "incomplete"
    corruption_map(ax, rows, label="A")
    assert cells(ax) == {(0, 1): "40.0"}


def test_numbers_stand_out_from_their_cell(ax: Axes) -> None:
    corruption_map(ax, corrupted("A", {("fog", 1): 0, ("fog", 5): 10**6}), label="A")
    assert [text.get_color() for text in ax.texts] == ["black", "white"]


def test_a_corruption_of_ones_own_comes_last(ax: Axes) -> None:
    corruption_map(ax, corrupted("A", {("rain", 1): 9, ("fog", 1): 9}), label="A")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["fog", "rain"]


@pytest.mark.parametrize(
    ("names", "heading"),
    [
        (["imagenet-c/fog/1"], "% under ImageNet-C (files)"),
        (["corruption/rain/1"], "under corruptions of ImageNet's classes at 224 pixels, which are"),
        (["imagenet-c/fog/1", "corruption/rain/1"], "some of which are not ImageNet-C's"),
    ],
)
def test_the_map_calls_nothing_else_imagenet_c(ax: Axes, names: list[str], heading: str) -> None:
    corruption_map(ax, table(row("A", name, 9) for name in names), label="A")
    assert heading in " ".join(ax.get_title().split())
