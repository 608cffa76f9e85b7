"""MCE and its relatives: published values, a made-up case, and incomplete sets."""

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from reports.imagenet_c.corruption_error import (
    EXTRA,
    MAIN,
    SEVERITIES,
    CorruptionScore,
    ReferenceErrors,
    alexnet,
    corruption_error,
    extra_mean_ce,
    mean_ce,
    mean_error,
    relative_mce,
)
from robustbench_twicing.data.imagenet_c import cells
from robustbench_twicing.errors import UserError
from tests.cases import BuildCase
from tests.reports.imagenet_c.made import read_errors

Errors = dict[tuple[str, int], float]


@pytest.fixture(scope="module")
def accuracies(shared: Path) -> dict[str, Errors]:
    """Errors by model, of 12 published models on 5,000 images."""
    models: dict[str, Errors] = defaultdict(dict)
    with (shared / "data" / "published_imagenet_c_accuracy.csv").open() as file:
        for row in csv.DictReader(file):
            cell = row["corruption"], int(row["severity"])
            models[row["model"]][cell] = 1 - float(row["accuracy_fraction"])
    return models


def test_every_published_mce(shared: Path, accuracies: dict[str, Errors]) -> None:
    reference = ReferenceErrors("AlexNet, 5,000 images", accuracies["AlexNet"], 0.4376)
    with (shared / "data" / "published_imagenet_c_mce.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    for row in rows:
        errors = accuracies[row["model"]]
        score = mean_ce(errors, reference=reference)
        assert score.percent == pytest.approx(float(row["mce"]), abs=0.0051), row["model"]
        plain = mean_error(errors).percent
        assert plain is not None
        assert 100 - plain == pytest.approx(float(row["mean_corruption_accuracy"]), abs=0.0051)


def test_alexnets_averages_are_the_published_ones(shared: Path) -> None:
    golden = shared / "golden" / "corruptions" / "alexnet_errors.json"
    published: dict[str, Any] = json.loads(golden.read_text())
    reference = alexnet()
    assert reference.clean_error == published["clean_error"] == 0.43478
    assert len(reference.errors) == 95
    for corruption, numbers in published["errors"].items():
        cells = [reference.errors[corruption, severity] for severity in SEVERITIES]
        assert cells == numbers["per_severity"]
        assert sum(cells) / 5 == pytest.approx(numbers["average"], abs=5e-7)


def test_alexnet_is_its_own_unit() -> None:
    own, clean = dict(alexnet().errors), alexnet().clean_error
    assert clean is not None
    for score in (
        mean_ce(own),
        relative_mce(own, clean),
        extra_mean_ce(own),
        corruption_error(own, "snow"),
    ):
        assert score.percent == pytest.approx(100)
        assert score.reference == "AlexNet (torchvision)"
        assert not score.missing


def test_case_h15(build_case: BuildCase, tmp_path: Path) -> None:
    folder, meta = build_case("h15", tmp_path)
    clean = json.loads((folder / "clean_error.json").read_text())
    reference = ReferenceErrors("made up", read_errors(folder, "baseline"), clean["baseline"])
    model, expect = read_errors(folder, "model"), meta["expect"]
    score = mean_ce(model, reference=reference)
    assert score.percent == pytest.approx(expect["mCE_percent"], abs=1e-4)
    assert score.name == "mCE"
    assert score.reference == "made up"
    relative = relative_mce(model, clean["model"], reference=reference)
    assert relative.percent == pytest.approx(expect["relative_mCE_percent"], abs=1e-4)
    assert relative.name == "relative mCE"
    plain = mean_error(model)
    assert plain.percent == pytest.approx(expect["mean_corruption_error_percent"], abs=1e-4)
    assert plain.name == "mean corruption error"
    assert plain.reference is None
    for wrong in meta["wrong"].values():
        assert score.percent != pytest.approx(wrong, abs=0.01)


def flat(value: float) -> Errors:
    return {(c, s): value for c in (*MAIN, *EXTRA) for s in SEVERITIES}


def test_sums_are_taken_before_the_ratio() -> None:
    """One corruption whose severities differ: (1 + 4 x 0.2) / (5 x 0.5), not a mean of ratios."""
    model, base = flat(0.1), flat(0.5)
    model["fog", 1], base["fog", 1] = 1.0, 0.1
    reference = ReferenceErrors("b", base, 0.05)
    fog = (1.0 + 4 * 0.1) / (0.1 + 4 * 0.5)
    assert corruption_error(model, "fog", reference=reference).percent == pytest.approx(100 * fog)
    wanted = 100 * (14 * 0.2 + fog) / 15
    assert mean_ce(model, reference=reference).percent == pytest.approx(wanted)
    loss = (1.4 - 5 * 0.02) / (2.1 - 5 * 0.05)
    wanted = 100 * (14 * (0.08 / 0.45) + loss) / 15
    assert relative_mce(model, 0.02, reference=reference).percent == pytest.approx(wanted)


def test_the_extra_four_are_never_mixed_in() -> None:
    model = flat(0.5)
    for severity in SEVERITIES:
        for corruption in EXTRA:
            model[corruption, severity] = 1.0
    reference = ReferenceErrors("b", flat(0.5), 0.1)
    assert mean_ce(model, reference=reference).percent == pytest.approx(100)
    assert mean_error(model).percent == pytest.approx(50)
    extra = extra_mean_ce(model, reference=reference)
    assert extra.percent == pytest.approx(200)
    assert extra.name == "mean CE of the 4 extra corruptions"


@pytest.mark.parametrize("gone", [[("frost", 3)], [("frost", s) for s in SEVERITIES]])
def test_an_incomplete_set_has_no_mean(gone: list[tuple[str, int]]) -> None:
    model = flat(0.4)
    for cell in gone:
        del model[cell]
    for score in (mean_ce(model), relative_mce(model, 0.2), mean_error(model)):
        assert score.percent is None
        assert list(score.missing) == gone
    assert not extra_mean_ce(model).missing
    assert corruption_error(model, "frost").missing
    assert not corruption_error(model, "fog").missing


def test_nothing_at_all_is_incomplete_too() -> None:
    assert mean_ce({}) == CorruptionScore("mCE", None, tuple(cells(MAIN)), "AlexNet (torchvision)")


def test_mistakes_are_explained() -> None:
    with pytest.raises(UserError, match=r"40\.0 is not an error: give fractions"):
        mean_ce(flat(40.0))
    with pytest.raises(UserError, match="is not an error"):
        mean_error(flat(-0.1))
    with pytest.raises(UserError, match="is not an error"):
        mean_error(flat(float("nan")))
    with pytest.raises(UserError, match=r"20\.0 is not an error"):
        relative_mce(flat(0.5), 20.0)
    partial = flat(0.5)
    del partial["snow", 2]
    with pytest.raises(UserError, match="the reference errors of b lack snow/2"):
        mean_ce(flat(0.5), reference=ReferenceErrors("b", partial, 0.1))
    with pytest.raises(UserError, match="errors of b under gaussian_noise are not above"):
        relative_mce(flat(0.5), 0.1, reference=ReferenceErrors("b", flat(0.5), 0.5))
    with pytest.raises(UserError, match=r"the reference errors of AlexNet .* lack mist/1"):
        corruption_error(flat(0.5), "mist")
