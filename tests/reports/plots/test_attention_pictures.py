"""Maps of attention: one scale for all, a row for each model, patches where they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reports.plots.attention_map import Scale, attention_map, attention_overlay
from reports.plots.attention_pictures import attention_pictures, paper_layers
from reports.representations.subject import Subject

Maps = dict[str, NDArray[np.float32]]
GRID, CROP = (2, 3), (20, 30)
FLAT = np.ones(GRID, np.float32)
PEAK = np.array([[0.1, 0.2, 0.3], [4, 0.5, 0.6]], np.float32)
SIGNED = np.array([[-3, 0.2, 0], [2, 0.5, -0.01]], np.float32)


def table(maps: Maps, *, row: str = "class", head: str = "mean", matrix: str = "A") -> pd.DataFrame:
    columns = ["image", "layer", "row", "head", "matrix", "map"]
    rows = [("one.png", layer, row, head, matrix, values) for layer, values in maps.items()]
    return pd.DataFrame(rows, columns=columns)


def subject(label: str, *tables: pd.DataFrame, flags: Sequence[str] = ()) -> Subject:
    crop = np.arange(CROP[0] * CROP[1] * 3, dtype=np.uint8).reshape(*CROP, 3)
    maps = pd.concat(tables, ignore_index=True)
    of_images = {"maps": maps}
    crops = {"one.png": crop}
    return Subject(label, label, "", "set", flags, ["one.png"], of_images, crops=crops)


def drawn(figure: Figure) -> list[list[Any]]:
    """Axes in a frame that show images, row by row."""
    columns: dict[float, list[Any]] = {}
    figure.draw_without_rendering()
    for ax in figure.axes:
        if ax.images:
            columns.setdefault(round(ax.get_position().y0, 2), []).append(ax)
    return list(columns.values())


def test_a_row_has_the_crop_the_map_and_the_overlay() -> None:
    subjects = [
        subject("plain", table({"12": PEAK}), flags=["limit-8", "arch-override"]),
        subject("twicing", table({"12": FLAT})),
    ]
    (picture,) = attention_pictures(subjects, scale="shared")
    assert picture.name == "attention-one"
    rows = drawn(picture.figure)
    assert [len(row) for row in rows] == [3, 3]
    for (crop, weights, overlay), of_subject, values in zip(
        rows, subjects, (PEAK, FLAT), strict=True
    ):
        np.testing.assert_array_equal(crop.images[0].get_array(), of_subject.crops["one.png"])
        np.testing.assert_array_equal(weights.images[0].get_array(), values)
        assert weights.images[0].get_extent() == [0, CROP[1], CROP[0], 0]
        assert len(overlay.images) == 2
        assert overlay.images[1].get_array().shape == CROP
        assert overlay.images[1].get_alpha() == 0.6
        assert weights.get_title(loc="left") == "layer 12"
    assert rows[0][0].get_ylabel() == "plain\n(arch-override)"
    assert rows[1][0].get_ylabel() == "twicing"
    assert "plain (arch-override) 4.0 times the uniform one, in row 2 of 2, column 1 of 3" in (
        picture.alt
    )
    assert picture.title == "Attention, matrix A, mean over heads: class token; one.png"


def limits(picture: Any) -> list[tuple[float, float]]:
    return [row[1].images[0].get_clim() for row in drawn(picture.figure)]


def test_one_scale_for_all_models_or_each_map_its_own() -> None:
    subjects = [subject("a", table({"12": PEAK})), subject("b", table({"12": 2 * FLAT}))]
    (shared,) = attention_pictures(subjects, scale="shared")
    high = np.percentile(np.concatenate([PEAK.ravel(), 2 * FLAT.ravel()]), 99.5)
    assert limits(shared) == [pytest.approx((0, high))] * 2
    (each,) = attention_pictures(subjects, scale="each")
    assert limits(each)[0] == pytest.approx((0.1, 4))
    assert drawn(each.figure)[0][1].get_title(loc="left") == "layer 12\n0.1 to 4"
    assert len(each.figure.axes) == len(shared.figure.axes) - 1, "no bar of colours"


def test_weights_with_a_sign_are_centred_at_0_and_negative_ones_marked() -> None:
    subjects = [
        subject("a", table({"12": PEAK})),
        subject("b", table({"12": SIGNED}, matrix="2A - A²")),
    ]
    (picture,) = attention_pictures(subjects, scale="shared")
    (low, high), other = limits(picture)
    assert -low == high == pytest.approx(np.percentile(abs(np.stack([PEAK, SIGNED])), 99.5))
    assert other == (low, high)
    rows = drawn(picture.figure)
    assert [row[1].get_title(loc="left") for row in rows] == ["layer 12\nA", "layer 12\n2A - A²"]
    marks = [row[1].collections[0].get_offsets().tolist() for row in rows]
    assert marks == [[], [[5, 5]]]


def test_several_layers_have_a_picture_of_columns() -> None:
    layers = {str(layer): layer * FLAT for layer in (1, 6, 11, 12)}
    subjects = [subject("a", table(layers)), subject("b", table(layers))]
    attention, columns = attention_pictures(subjects, scale="shared")
    assert columns.name == "layers-one"
    titles = [[ax.get_title(loc="left") for ax in row] for row in drawn(columns.figure)]
    assert titles == [["", "layer 1", "layer 6", "layer 11", "layer 12"]] * 2
    assert [ax.get_title(loc="left") for ax in drawn(attention.figure)[0]] == ["", "layer 12", ""]
    few = {name: layers[name] for name in ("1", "12")}
    attention, columns = attention_pictures([subject("a", table(few))], scale="shared")
    assert [len(drawn(of.figure)[0]) for of in (attention, columns)] == [5, 3]


def test_models_need_not_have_the_same_layers_nor_the_same_rows() -> None:
    blocks = table({"class-1": FLAT, "class-2": PEAK})
    distilled = pd.concat([table({"12": FLAT}), table({"12": FLAT}, row="dist")])
    received = table({"3": FLAT}, row="received")
    heads = [table({"12": FLAT}, head=head) for head in ("1", "2")]
    (picture,) = attention_pictures(
        [subject(*pair) for pair in (("f", blocks), ("d", distilled), ("r", received))]
        + [subject("h", *heads)],
        scale="shared",
    )
    rows = drawn(picture.figure)
    assert [len(row) for row in rows] == [5, 3, 3, 3, 3, 3]
    assert [row[0].get_ylabel() for row in rows] == [
        *("f", "d\nclass token", "d\ndistillation token"),
        *("r\nreceived, mean over queries", "h\nhead 1", "h\nhead 2"),
    ]


@pytest.mark.parametrize("scale", ["shared", "each"])
def test_weights_that_are_no_numbers_are_left_white(scale: str) -> None:
    nothing = np.full(GRID, np.nan, np.float32)
    (picture,) = attention_pictures([subject("a", table({"12": nothing}))], scale=scale)
    assert limits(picture) == [(0, 1)]


def test_on_axes_of_ones_own() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    scale = Scale.of([PEAK], signed=False, whole=True)
    attention_map(left, PEAK, scale, size=CROP)
    attention_overlay(right, FLAT, scale, crop=np.zeros((*CROP, 3), np.uint8))
    assert left.images[0].get_clim() == pytest.approx((0.1, 4))
    np.testing.assert_allclose(right.images[1].get_array(), 1, rtol=1e-6)


def test_in_the_papers_form_twicing_is_above_its_baseline_image_by_image() -> None:
    layers = table({"1": FLAT, "2": PEAK})
    both = pd.concat([layers, layers.assign(image="two.png")])
    plain = subject("plain", both)
    plain = plain._replace(crops=dict.fromkeys(("one.png", "two.png"), plain.crops["one.png"]))
    twicing = plain._replace(label="twicing", averages_twice=True)
    (picture,) = paper_layers([plain, twicing])
    assert picture.name == "layers"
    rows = drawn(picture.figure)
    assert [row[0].get_ylabel() for row in rows] == ["twicing", "plain"] * 2
    assert [ax.get_title(loc="left") for ax in rows[0]] == ["", "layer 1", "layer 2"]
    assert [row[2].images[0].get_clim() for row in rows] == [pytest.approx((0.1, 4))] * 4
    assert len(picture.figure.axes) == 12, "no bar of colours"
    assert not list(paper_layers([]))
