"""Streams other than the stored one: as strong, as biased and as similar as the 2018 outputs.

The rule and its constants are those of the golden folder's README: mean over five seeds against
mean and standard deviation over twenty.
"""

import json
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import RandomState
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import uniform_filter

from attacks.corruptions import CORRUPTIONS, SEVERITIES
from attacks.corruptions.imaging.jpeg import store_as_jpeg

pytestmark = pytest.mark.slow

RANDOM = (
    *("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "glass_blur"),
    *("motion_blur", "snow", "frost", "fog", "elastic_transform", "spatter"),
)
SEEDS = range(100, 105)
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def stats(shared: Path) -> Any:
    return json.loads((shared / "golden" / "corruptions" / "stats.json").read_text())["stats"]


@pytest.fixture(scope="module")
def astronaut(shared: Path) -> NDArray[np.uint8]:
    return np.asarray(Image.open(shared / "golden" / "corruptions" / "images" / "astronaut.png"))


def ssim(x: Floats, y: Floats) -> float:
    """Structural similarity (Wang et al. 2004) in windows of 7 x 7, mean over channels."""

    def mean(z: Floats) -> Floats:
        blurred: Floats = uniform_filter(z, (7, 7, 0))[3:-3, 3:-3]
        return blurred

    sample = 49 / 48
    mean_x, mean_y = mean(x), mean(y)
    var_x = sample * (mean(x * x) - mean_x**2)
    var_y = sample * (mean(y * y) - mean_y**2)
    cov = sample * (mean(x * y) - mean_x * mean_y)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    numerator = (2 * mean_x * mean_y + c1) * (2 * cov + c2)
    return float((numerator / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))).mean())


def measures(image: Floats, out: Floats) -> dict[str, float]:
    difference = out - image
    return {
        "mad": float(np.abs(difference).mean()),
        "bias": float(difference.mean()),
        "diff_std": float(difference.std()),
        "out_std": float(out.std()),
        "ssim": ssim(image, out),
    }


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", RANDOM)
def test_another_stream_gives_the_same_statistics(
    name: str,
    severity: int,
    stats: Any,
    astronaut: NDArray[np.uint8],
    request: pytest.FixtureRequest,
) -> None:
    if name == "frost":
        request.getfixturevalue("frost")
    function = CORRUPTIONS[name].function
    outs = [function(astronaut, severity, RandomState(seed)).astype(float) for seed in SEEDS]
    found = [measures(astronaut.astype(float), out) for out in outs]
    expected = stats[name][str(severity)]["astronaut"]
    for measure in found[0]:
        mean = np.mean([each[measure] for each in found])
        wanted = expected[measure]
        slack = 0.01 if measure == "ssim" else 0.02 * abs(wanted["mean"]) + 0.05
        allowed = 4 * wanted["std"] * sqrt(1 / len(found) + 1 / 20) + slack
        assert abs(mean - wanted["mean"]) <= allowed, measure


@pytest.mark.parametrize("severity", [1, 3, 5])
@pytest.mark.parametrize("name", ["gaussian_noise", "contrast", "pixelate"])
def test_the_second_jpeg_takes_away_what_it_took_from_the_official_files(
    name: str, severity: int, stats: Any, astronaut: NDArray[np.uint8]
) -> None:
    expected = stats[name][str(severity)]["astronaut"]
    out = CORRUPTIONS[name].function(astronaut, severity, RandomState(0))
    stored = store_as_jpeg(out, 85).astype(float)
    assert np.abs(stored - out).mean() == pytest.approx(expected["j85_mad"]["mean"], rel=0.03)
    spread = (stored - astronaut).std()
    assert spread == pytest.approx(expected["j85_diff_std"]["mean"], rel=0.02)
