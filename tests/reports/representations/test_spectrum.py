"""Tables and the picture of eigenvalues, from numbers of each head that are known."""

import math

import numpy as np
import pandas as pd
import pytest

from reports.plots.kernel_curves import spectrum_pictures
from reports.representations.spectrum import COLUMNS, CURVES, spectrum_curves, spectrum_table
from reports.representations.subject import Subject

IMAGES, HEADS, LAYERS, POINTS = ("a", "b"), ("1", "2"), ("1", "2", "3", "4", "5"), 4
KERNELS = pd.DataFrame({"n": [1, 2, 6, 12], "kappa_p": 0.1, "kappa_p_hat": 0.2})


def subject(label: str, *, effective: float = 0.0, missing: str = "") -> Subject:
    """Head h of image i: magnitudes h + i, beside others larger by ``effective``."""
    rows = []
    for layer in LAYERS:
        for head, number in zip(HEADS, (0.1, 0.3), strict=True):
            for image, more in zip(IMAGES, (0.0, 0.4), strict=True):
                size = math.nan if image == missing else number + more
                counts = {"large": 10 if head == "1" else 30, "complex": 10, "negative": 4}
                numbers = {"mean_abs": size, "second_abs": size, "share_above_1": size}
                numbers |= dict.fromkeys(EFFECTIVE, size + effective)
                numbers |= counts if image != missing else dict.fromkeys(counts, math.nan)
                numbers |= {f"abs_{point}": size / (1 + point) for point in range(POINTS)}
                numbers |= {
                    f"abs_effective_{point}": (size + effective) / (1 + point)
                    for point in range(POINTS)
                }
                rows.append({"image": image, "layer": layer, "head": head, **numbers})
    tables = {"spectrum": pd.DataFrame(rows)}
    return Subject(label, label, "hash", "photographs", ("arch-override",), IMAGES, tables)


EFFECTIVE = (
    *("mean_abs_effective", "second_abs_effective", "max_abs_effective"),
    *("capacity_1", "capacity_2", "capacity_6", "capacity_12"),
)


def test_means_over_heads_and_images() -> None:
    table = spectrum_table([subject("plain"), subject("twicing", effective=0.2)])
    assert tuple(table) == COLUMNS
    assert list(table["layer"]) == [*LAYERS, *LAYERS]
    row = table[table["label"] == "twicing"].iloc[0]
    assert row["n_images"] == 2
    assert row["mean_abs"] == pytest.approx(0.4)
    assert row["mean_abs_effective"] == row["capacity_6"] == pytest.approx(0.6)
    assert row["max_abs_effective"] == pytest.approx((0.5 + 0.9) / 2)
    # Of all eigenvalues of an image, not the mean of the shares of its heads.
    assert row["share_complex"] == pytest.approx(20 / 40)
    assert row["share_negative"] == pytest.approx(8 / 40)
    assert row["flags"] == "arch-override"


def test_an_image_without_eigenvalues_is_left_out_and_flagged() -> None:
    row = spectrum_table([subject("broken", missing="b")]).iloc[0]
    assert row["n_images"] == 1
    assert row["mean_abs"] == pytest.approx(0.2)
    assert row["share_complex"] == pytest.approx(0.5)
    assert row["flags"] == "arch-override;non-finite-tokens-1"


def test_medians_by_rank() -> None:
    curves = spectrum_curves([subject("twicing", effective=0.2)])
    assert tuple(curves) == CURVES
    assert len(curves) == len(LAYERS) * POINTS
    first = curves[curves["layer"] == "2"]
    assert list(first["rank"]) == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert list(first["abs"]) == pytest.approx([0.4 / (1 + point) for point in range(POINTS)])
    assert list(first["abs_effective"]) == pytest.approx([0.6, 0.3, 0.2, 0.15])


def test_the_picture_shows_some_layers_of_every_label() -> None:
    subjects = [subject("plain"), subject("twicing", effective=0.2)]
    (picture,) = spectrum_pictures(
        spectrum_table(subjects), spectrum_curves(subjects), kernels=KERNELS
    )
    top, bottom = picture.figure.axes[:4], picture.figure.axes[4:]
    assert [ax.get_title(loc="left") for ax in top] == [f"layer {n}" for n in (1, 2, 4, 5)]
    solid, of_twicing, effective = top[0].lines
    assert [line.get_linestyle() for line in (solid, of_twicing, effective)] == ["-", "-", "--"]
    assert effective.get_color() == of_twicing.get_color() != solid.get_color()
    *paper, plain, twicing = bottom[0].lines
    assert [np.ravel(line.get_ydata()).tolist() for line in paper] == [[0.1] * 4, [0.2] * 4]
    assert (plain.get_linestyle(), twicing.get_linestyle()) == ("-", "--")
    assert np.ravel(twicing.get_ydata()).tolist() == pytest.approx([0.6] * 4)
    assert bottom[0].get_yscale() == "log"
    assert picture.figure.get_suptitle() == picture.title
    assert picture.title == "Eigenvalues of attention matrices: 2 images"
    assert "twicing second largest 0.40, 0.60 on the values" in picture.alt
