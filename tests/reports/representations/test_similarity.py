"""Tables of token similarity, from numbers of each image that are known."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from reports.plots.similarity_curves import similarity_pictures
from reports.representations.similarity import (
    BY_IMAGE,
    COLUMNS,
    DIFFERENCES,
    by_image_table,
    difference_table,
    similarity_table,
)
from reports.representations.subject import Subject

IMAGES = ("a", "b", "c", "d")
LAYERS = ("0", "1", "2", "10", "norm")


@dataclass
class Numbers:
    """Similarity of image i in layer l is ``base`` + l/100 + i/1000."""

    base: float
    layers: tuple[str, ...] = LAYERS
    missing: tuple[str, ...] = ()

    def subject(self, label: str, *flags: str) -> Subject:
        rows = [
            {
                "image": image,
                "tensor": "block",
                "tokens": tokens,
                "layer": layer,
                "similarity": math.nan
                if image in self.missing
                else self.base + place / 100 + number / 1000,
                "spread": 0.5,
                "zero_tokens": 1,
                "finite": image not in self.missing,
                "n_tokens": 17,
            }
            for place, layer in enumerate(self.layers)
            for tokens in ("all", "patches")
            for number, image in enumerate(IMAGES)
        ]
        tables = {"similarity": pd.DataFrame(rows)}
        return Subject(label, f"{label}_model", "hash", "photographs", flags, IMAGES, tables)


FIRST = Numbers(0.2).subject("first")
SECOND = Numbers(0.15).subject("second", "arch-override", "limit-4-of-9")


def test_means_over_images_layer_by_layer() -> None:
    table = similarity_table([FIRST, SECOND], seed=0)
    assert tuple(table) == COLUMNS
    rows = table[(table["label"] == "first") & (table["tokens"] == "all")]
    assert tuple(rows["layer"]) == LAYERS
    expected = [0.2 + place / 100 + 1.5 / 1000 for place in range(len(LAYERS))]
    assert list(rows["similarity"]) == pytest.approx(expected)
    assert (rows["similarity_ci_low"] < rows["similarity"]).all()
    assert (rows["similarity"] < rows["similarity_ci_high"]).all()
    assert set(rows["n_images"]) == {4}
    assert set(rows["n_zero_tokens"]) == {4}
    assert set(table.loc[table["label"] == "second", "flags"]) == {"arch-override;limit-4-of-9"}


def test_an_image_that_is_not_finite_is_left_out_and_flagged() -> None:
    table = similarity_table([Numbers(0.2, missing=("b",)).subject("broken")], seed=0)
    assert set(table["n_images"]) == {3}
    assert set(table["flags"]) == {"non-finite-tokens-1"}
    assert table["similarity"].iloc[0] == pytest.approx(0.2 + (0 + 2 + 3) / 3000)


def test_differences_are_taken_image_by_image() -> None:
    """The differences of all images are equal, so that their mean has no width."""
    rows = difference_table([FIRST, SECOND], seed=0)
    assert tuple(rows) == DIFFERENCES
    assert len(rows) == 2 * len(LAYERS)
    for column in ("difference", "difference_ci_low", "difference_ci_high"):
        assert list(rows[column]) == pytest.approx([-0.05] * len(rows))
    assert set(rows["n_images"]) == {4}
    assert set(rows["baseline"]) == {"first"}


def test_differences_are_of_images_and_layers_that_both_have() -> None:
    shallow = Numbers(0.1, layers=("0", "1"), missing=("d",)).subject("shallow")
    rows = difference_table([FIRST, shallow], seed=0)
    assert list(rows["layer"]) == ["0", "0", "1", "1"]
    assert set(rows["n_images"]) == {3}
    assert list(rows["difference"]) == pytest.approx([-0.1] * 4)


def test_one_model_has_no_differences() -> None:
    rows = difference_table([FIRST], seed=0)
    assert tuple(rows) == DIFFERENCES
    assert rows.empty


def test_every_image_has_its_row() -> None:
    rows = by_image_table([FIRST, SECOND])
    assert tuple(rows) == BY_IMAGE
    assert len(rows) == 2 * 2 * len(LAYERS) * len(IMAGES)


def test_the_picture_has_a_line_for_each_model() -> None:
    table = similarity_table([FIRST, SECOND], seed=0)
    (picture,) = similarity_pictures(table, tensors=["block"], tokens="patches")
    (ax,) = picture.figure.axes
    first, second = ax.lines
    assert np.ravel(first.get_xdata()).tolist() == [0, 1, 2, 10]
    assert np.ravel(second.get_ydata()).tolist() == pytest.approx([0.1515, 0.1615, 0.1715, 0.1815])
    assert second.get_label() == "second\n(arch-override)"
    assert ax.get_title(loc="left").splitlines() == [
        "tokens after the block",
        "patch tokens, 4 images",
    ]
    assert ax.get_ylim() == (0, 1)
    assert "first 0.20 to 0.23" in picture.alt


def test_the_axis_shows_similarities_below_zero() -> None:
    table = similarity_table([Numbers(-0.05).subject("orthogonal")], seed=0)
    (picture,) = similarity_pictures(table, tensors=["block"], tokens="all")
    assert picture.figure.axes[0].get_ylim() == (-0.1, 1)
