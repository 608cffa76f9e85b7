"""Against outputs of the authors' functions on their 2018 libraries.

The tolerances are those of the golden folder's README or tighter: most corruptions are equal byte
for byte, and compared by SHA-256.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import RandomState
from PIL import Image

from attacks.corruptions import CORRUPTIONS, EXTRA, MAIN, SEVERITIES
from attacks.corruptions.imaging.pixels import Pixels

IMAGES = ("astronaut", "chelsea")
# Share of the values that may differ, by one. Saturated areas tip over with the last bit of an FFT.
WITHIN_ONE = {"zoom_blur": 0.001, "defocus_blur": 0.05}
EXACT = [name for name in (*MAIN, *EXTRA) if name not in WITHIN_ONE]


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    return shared / "golden" / "corruptions"


@pytest.fixture(scope="module")
def hashes(golden: Path) -> Any:
    return json.loads((golden / "sha256.json").read_text())


def read(path: Path) -> Pixels:
    return np.asarray(Image.open(path))


def corrupted(golden: Path, name: str, severity: int, image: str) -> Pixels:
    pixels = read(golden / "images" / f"{image}.png")
    return CORRUPTIONS[name].function(pixels, severity, RandomState(0))


@pytest.mark.slow
@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", EXACT)
def test_equals_the_2018_output(
    name: str, severity: int, golden: Path, hashes: Any, request: pytest.FixtureRequest
) -> None:
    if name == "frost":
        request.getfixturevalue("frost")
    for image in IMAGES:
        out = corrupted(golden, name, severity, image)
        assert out.shape == (224, 224, 3)
        found = hashlib.sha256(np.ascontiguousarray(out).tobytes()).hexdigest()
        assert found == hashes[name][str(severity)][image], image


@pytest.mark.parametrize("severity", [1, 3, 5])
@pytest.mark.parametrize("name", WITHIN_ONE)
def test_differs_by_one_at_most(name: str, severity: int, golden: Path) -> None:
    for image in IMAGES:
        wanted = read(golden / "exact" / f"{name}_s{severity}_{image}.png")
        difference = np.abs(corrupted(golden, name, severity, image).astype(int) - wanted)
        assert difference.max() <= 1
        assert (difference > 0).mean() < WITHIN_ONE[name]


@pytest.mark.parametrize("severity", [2, 4])
@pytest.mark.parametrize("name", WITHIN_ONE)
def test_severities_without_a_stored_image_change_it_as_much(
    name: str, severity: int, golden: Path
) -> None:
    stats = json.loads((golden / "stats.json").read_text())["stats"][name][str(severity)]
    for image in IMAGES:
        pixels = read(golden / "images" / f"{image}.png").astype(float)
        out = corrupted(golden, name, severity, image)
        assert np.abs(out - pixels).mean() == pytest.approx(stats[image]["mad"]["mean"], abs=0.02)
        assert (out - pixels).mean() == pytest.approx(stats[image]["bias"]["mean"], abs=0.02)
        assert out.std() == pytest.approx(stats[image]["out_std"]["mean"], abs=0.02)


def test_constants_are_the_published_ones(golden: Path) -> None:
    published = json.loads((golden / "parameters.json").read_text())
    assert set(published) == {*MAIN, *EXTRA}
    for name in published:
        spec = CORRUPTIONS[name]
        for constant, values in spec.levels.items():
            wanted = published[name][constant]
            wanted = wanted if isinstance(wanted, list) else [wanted] * 5
            assert list(values) == wanted, (name, constant)
