"""Pictures for a column: their width is exact, no letter is small, and nothing leaves the page."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from reports.metrics.radii import RadiusCurve
from reports.plots import Picture, forest_pictures, in_column, pictures, save_pictures
from reports.plots.picture import LETTERS, MOST_ACROSS, WIDTH
from robustbench_twicing.data.imagenet_c import MAIN, SEVERITIES
from tests.reports.plots.rows import joined, row, sweep, table

pytestmark = pytest.mark.slow

LABELS = ("deit_tiny_patch16_224", "deit_tiny_twicing_patch16_224[10-12]", "fan")


def drawn() -> list[Picture]:
    """One of each kind that a run may have."""
    budgets = {"0": 150, "0.1": 140, "0.5": 120, "1": 60, "4": 10, "8": 0}
    rows = joined(
        *(sweep(label, "pgd", budgets) for label in LABELS),
        *(
            table(row(label, f"imagenet-c/{name}/{s}", 90) for name in MAIN for s in SEVERITIES)
            for label in LABELS
        ),
    )
    curves = [
        RadiusCurve(label, "photos", "pixel", "linf", "best", np.array([0, 0.2, 1, 3]), 4.0)
        for label in LABELS
    ]
    differences = pd.DataFrame(
        [
            ("photos", "pixel", 200, label, f"pgd@{budget}/255", 1.0, -2.0, 30.0, budget == "8")
            for label in LABELS[1:]
            for budget in budgets
        ],
        columns=[
            *("dataset", "protocol", "n_images", "label", "condition", "difference"),
            *("difference_ci_low", "difference_ci_high", "significant"),
        ],
    )
    shown = pictures(rows, radii=curves, accuracies=("top1",), transfers=transfers(3))
    return [*in_column([*shown, *forest_pictures(differences, LABELS[0])])]


def transfers(targets: int) -> pd.DataFrame:
    names = [f"network number {number}" for number in range(targets)]
    return pd.DataFrame(
        [
            ("photos", "pixel", "pgd", source, target, 100.0, 12.5, 90.0)
            for source in names
            for target in names
        ],
        columns=[
            "dataset",
            "protocol",
            "attack",
            "source",
            "target",
            "top1",
            "rate",
            "control_top1",
        ],
    )


@pytest.fixture(scope="module")
def column() -> dict[str, Picture]:
    return {picture.name: picture for picture in drawn()}


def test_every_kind_is_drawn(column: dict[str, Picture]) -> None:
    kinds = {name.split("-")[0] for name in column}
    assert kinds == {"accuracy", "corruption", "radius", "transfer", "differences"}
    assert len(column["accuracy-pgd"].figure.axes) == 1
    assert "top-1" in column["accuracy-pgd"].figure.axes[0].get_ylabel()


def test_letters_are_large_enough_and_inside(column: dict[str, Picture]) -> None:
    for name, picture in column.items():
        figure = picture.figure
        figure.draw_without_rendering()
        width, height = figure.get_size_inches()
        assert width == WIDTH
        for text in figure.findobj(Text):
            assert float(text.get_fontsize()) >= LETTERS, f"{name}: {text.get_text()}"
        box = figure.get_tightbbox()
        assert min(box.x0, box.y0) > -0.02, name
        assert max(box.x1 - width, box.y1 - height) < 0.02, name


def test_models_have_their_legend(column: dict[str, Picture]) -> None:
    for name in ("accuracy-pgd", "radius-linf", "corruption-errors"):
        (legend,) = column[name].figure.legends
        shown = "".join(text.get_text() for text in legend.get_texts()).replace("\n", "")
        assert all(label in shown for label in LABELS), name


def test_files_have_that_width(column: dict[str, Picture], tmp_path: Path) -> None:
    save_pictures([column["accuracy-pgd"]], tmp_path)
    pdf = (tmp_path / "accuracy-pgd.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[ ([\d. ]+) \]", pdf)
    assert box is not None
    assert float(box[1].split()[2]) == 72 * WIDTH
    svg = (tmp_path / "accuracy-pgd.svg").read_text()
    assert f'width="{72 * WIDTH:g}pt"' in svg
    assert "<title>Accuracy under" in svg, "what the picture itself no longer says"
    assert b"/Title (Accuracy under" in pdf


def test_maps_that_are_too_wide_stay_as_they_are() -> None:
    wide = pictures(sweep("A", "pgd", {"0": 9}), transfers=transfers(MOST_ACROSS + 1))
    (picture,) = in_column(wide)
    assert not picture.is_exact
    assert picture.figure.get_figwidth() > WIDTH
