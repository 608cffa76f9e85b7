"""The errors of another network as the unit of CE and mCE, and where there is no unit."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from reports import corruption_scores, read_normaliser
from reports.imagenet_c.corruption_error import ReferenceErrors
from reports.imagenet_c.corruption_scores import kind_of
from robustbench_twicing.data.imagenet_c import MAIN
from robustbench_twicing.errors import UserError
from tests.cases import BuildCase
from tests.reports.imagenet_c.made import Errors, flat, numbers, read_errors, table


def write_csv(path: Path, errors: Errors, clean: float | None = None) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["corruption", "severity", "error"])
        writer.writerows([name, severity, error] for (name, severity), error in errors.items())
        if clean is not None:
            writer.writerow(["clean", 0, clean])
    return path


def test_another_image_size_has_no_mce() -> None:
    small = table(flat(0.5), flags="limit-5-of-9;not-imagenet-c-32px")
    scores = numbers(corruption_scores(small))
    assert scores["mCE"]["status"] == scores["CE fog"]["status"] == "not-comparable"
    assert pd.isna(scores["mCE"]["percent"])
    assert scores["mCE"]["missing"] == (
        "the normaliser's images are of ImageNet's classes at 224 pixels, these of ImageNet's "
        "classes at 32 pixels"
    )
    assert scores["mean corruption error"]["percent"] == pytest.approx(50)
    own = ReferenceErrors("own", flat(0.25), 0.1, kind="ImageNet's classes at 32 pixels")
    scores = numbers(corruption_scores(small, reference=own))
    assert scores["mCE"]["percent"] == pytest.approx(200)
    assert scores["mCE"]["normaliser"] == "own"


@pytest.mark.slow
def test_enlarged_images_have_no_mce_but_in_units_of_their_like() -> None:
    small = table(flat(0.5), flags="not-imagenet-c-enlarged-28px")
    scores = numbers(corruption_scores(small))
    assert scores["mCE"]["status"] == scores["CE fog"]["status"] == "not-comparable"
    kind = "ImageNet's classes at 224 pixels, enlarged from 28"
    assert scores["mCE"]["missing"].endswith(f", these of {kind}")
    like = ReferenceErrors("own", flat(0.25), None, kind=kind)
    assert numbers(corruption_scores(small, reference=like))["mCE"]["percent"] == pytest.approx(200)
    both = table(flat(0.5), flags="not-imagenet-c-32px;not-imagenet-c-enlarged-28px")
    assert kind_of(both) == "ImageNet's classes at 32 pixels, enlarged from 28"


@pytest.mark.slow
def test_images_of_other_classes_have_no_mce_but_in_a_unit_of_ones_own(tmp_path: Path) -> None:
    own = table(flat(0.5), flags="limit-5-of-9;not-imagenet-c-10-classes")
    assert kind_of(own) == "10 classes at 224 pixels"
    scores = numbers(corruption_scores(own))
    for name in ("mCE", "relative mCE", "CE fog", "mean CE of the 4 extra corruptions"):
        assert scores[name]["status"] == "not-comparable", name
        assert pd.isna(scores[name]["percent"]), name
        assert scores[name]["missing"].endswith(", these of 10 classes at 224 pixels"), name
    assert scores["mean corruption error"]["percent"] == pytest.approx(50)
    unit = read_normaliser(str(write_csv(tmp_path / "unit.csv", flat(0.25))))
    assert numbers(corruption_scores(own, reference=unit))["mCE"]["percent"] == pytest.approx(200)


def test_a_normaliser_that_lacks_cells_is_named() -> None:
    lacking = {cell: item for cell, item in flat(0.5, MAIN).items() if cell != ("snow", 2)}
    scores = numbers(
        corruption_scores(table(flat(0.5)), reference=ReferenceErrors("own", lacking, None))
    )
    assert scores["mCE"]["missing"] == "in the normaliser: snow/2"
    assert scores["CE snow"]["status"] == "incomplete"
    assert scores["CE fog"]["percent"] == pytest.approx(100)
    assert scores["relative mCE"]["missing"].startswith("clean of the normaliser")
    assert scores["mean CE of the 4 extra corruptions"]["missing"].startswith("in the normaliser: ")
    assert scores["mean corruption error"]["status"] == "ok"


def test_a_normaliser_without_errors_under_one_corruption_ends_nothing() -> None:
    errors = {**flat(0.4), **flat(0.0, ("fog",))}
    reference = ReferenceErrors("b", errors, 0.1, kind=None)
    scores = numbers(corruption_scores(table(flat(0.2)), reference=reference))
    assert scores["CE frost"]["percent"] == pytest.approx(50)
    for name in ("CE fog", "mCE", "relative mCE"):
        assert scores[name]["status"] == "not-comparable"
        assert "b under fog are not above its clean error" in scores[name]["missing"]
    assert scores["mean error fog"]["status"] == "ok"


@pytest.mark.slow
def test_case_h15_with_its_own_normaliser(build_case: BuildCase, tmp_path: Path) -> None:
    folder, meta = build_case("h15", tmp_path)
    clean = json.loads((folder / "clean_error.json").read_text())
    unit = write_csv(tmp_path / "unit.csv", read_errors(folder, "baseline"), clean["baseline"])
    results = table(read_errors(folder, "model"), clean=clean["model"])
    reference = read_normaliser(str(unit))
    scores = numbers(corruption_scores(results, reference=reference))
    for name, key in {
        "mCE": "mCE_percent",
        "relative mCE": "relative_mCE_percent",
        "mean corruption error": "mean_corruption_error_percent",
    }.items():
        assert scores[name]["percent"] == pytest.approx(meta["expect"][key], abs=1e-4), name
    assert scores["mCE"]["normaliser"] == scores["relative mCE"]["normaliser"] == "unit.csv"
    for wrong in meta["wrong"].values():
        assert scores["mCE"]["percent"] != pytest.approx(wrong, abs=0.01)
    without_clean = read_normaliser(str(folder / "baseline_error.csv"))
    scores = numbers(corruption_scores(results, reference=without_clean))
    assert scores["mCE"]["percent"] == pytest.approx(meta["expect"]["mCE_percent"], abs=1e-4)
    assert scores["relative mCE"]["missing"] == "clean of the normaliser"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corruption,severity\nfog,1\n", "is not a CSV file with the columns corruption, severity"),
        ("corruption,severity,error\nfog,1\n", "is not a CSV file with the columns"),
        ("corruption,severity,error\nfog,one,0.5\n", "ValueError: invalid literal"),
        ("corruption,severity,error\nfog,1,50\n", "errors are fractions from 0 to 1, not percent"),
        ("corruption,severity,error\nfog,1,nan\n", "errors are fractions from 0 to 1"),
        ("corruption,severity,error\nclean,0,0.5\n", "holds no error"),
        ("corruption,severity,error\n", "holds no error"),
    ],
)
def test_a_file_that_is_no_normaliser_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "unit.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_normaliser(str(path))
