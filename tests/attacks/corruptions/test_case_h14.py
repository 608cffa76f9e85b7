"""The corruptions run on today's libraries, or one line names what is missing."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from attacks.corruptions import corrupt, image_rng
from tests.cases import BuildCase


@pytest.fixture(scope="module")
def case(build_case: BuildCase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_case("h14", tmp_path_factory.mktemp("cases"))[0]


@pytest.mark.slow
@pytest.mark.usefixtures("frost")
def test_all_fifteen_at_all_severities(case: Path) -> None:
    scene = np.asarray(Image.open(case / "scene.png"))
    with (case / "wanted.csv").open() as file:
        wanted = [(row["corruption"], int(row["severity"])) for row in csv.DictReader(file)]
    assert len(wanted) == 75
    change: dict[str, list[float]] = {}
    for name, severity in wanted:
        rng = image_rng(0, name, severity, "scene.png")
        out = corrupt(scene, name, severity, rng, jpeg_quality=None)
        assert out.dtype == np.uint8
        assert out.shape == scene.shape
        change.setdefault(name, []).append(float(np.abs(out.astype(int) - scene).mean()))
    assert min(min(values) for values in change.values()) > 0
    # Before the JPEG round trip, which changes a slightly pixelated image more than a coarse one.
    for name in ("gaussian_noise", "defocus_blur", "contrast", "pixelate"):
        assert change[name] == sorted(change[name]), name
