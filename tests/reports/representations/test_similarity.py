"""Tables of token similarity, from numbers of each image that are known."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from reports.plots.similarity_curves import paper_similarity, similarity_pictures
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

    def subject(self, label: str, *flags: str, under: str = "") -> Subject:
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
        return Subject(label, f"{label}_model", "hash", "photographs", flags, IMAGES, tables, under)


FIRST = Numbers(0.2).subject("first")
UNDER = "pgd@1/255"
ATTACKED = [
    FIRST,
    Numbers(0.5).subject("first", "steps=5", under=UNDER),
    Numbers(0.15).subject("second"),
    Numbers(0.35).subject("second", "steps=5", under=UNDER),
]
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


def test_differences_under_attack_name_both_sides() -> None:
    """To the first model under the same condition, and to the model's own clean images."""
    rows = difference_table(ATTACKED, seed=0)
    sides = ["label", "under", "baseline", "baseline_under"]
    assert {
        key: round(group["difference"].mean(), 6) for key, group in rows.groupby(sides, sort=False)
    } == {
        ("second", "", "first", ""): -0.05,
        ("second", UNDER, "first", UNDER): -0.15,
        ("first", UNDER, "first", ""): 0.3,
        ("second", UNDER, "second", ""): 0.2,
    }


def test_tables_say_under_which_condition_a_number_is() -> None:
    table = similarity_table(ATTACKED, seed=0)
    means = table[table["layer"] == "0"].drop_duplicates(["label", "under"])
    assert list(zip(means["label"], means["under"], strict=True)) == [
        ("first", ""),
        ("first", UNDER),
        ("second", ""),
        ("second", UNDER),
    ]
    assert list(means["similarity"]) == pytest.approx([0.2015, 0.5015, 0.1515, 0.3515])
    assert list(means["flags"]) == ["", "steps=5", "", "steps=5"]
    assert set(by_image_table(ATTACKED)["under"]) == {"", UNDER}


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


def test_one_colour_a_model_solid_and_filled_for_clean_images() -> None:
    table = similarity_table(ATTACKED, seed=0)
    (picture,) = similarity_pictures(table, tensors=["block"], tokens="all")
    lines = picture.figure.axes[0].lines
    assert [line.get_label() for line in lines] == [
        "first",
        f"first\nunder {UNDER}\n(steps=5)",
        "second",
        f"second\nunder {UNDER}\n(steps=5)",
    ]
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-", "--"]
    colours = [line.get_color() for line in lines]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert [line.get_markerfacecolor() for line in lines[:2]] == [colours[0], "white"]
    assert f"first under {UNDER} 0.50 to 0.53" in picture.alt


def test_the_axis_shows_similarities_below_zero() -> None:
    table = similarity_table([Numbers(-0.05).subject("orthogonal")], seed=0)
    (picture,) = similarity_pictures(table, tensors=["block"], tokens="all")
    assert picture.figure.axes[0].get_ylim() == (-0.1, 1)


def test_the_papers_figure_has_lines_alone_and_names_its_tensor() -> None:
    table = similarity_table([FIRST, SECOND], seed=0)
    (picture,) = paper_similarity(table, tensor="block", tokens="all")
    assert picture.name == "similarity"
    (ax,) = picture.figure.axes
    assert len(ax.lines) == 2
    assert not ax.collections, "no intervals"
    assert "tokens after the block" in ax.get_ylabel()
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_texts()[0].get_text() == "first"
