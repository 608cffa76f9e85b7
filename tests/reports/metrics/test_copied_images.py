"""Corrupted images that are another condition's are flagged, and no others."""

from typing import Any

import pandas as pd
import pytest

from reports.metrics.diagnostics import Scored
from reports.metrics.row_flags import copied_images
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.data.image_maker import RecordedImages
from tests.reports.made import counted

FILES = {"source": "official", "files": 3}


def shown(
    condition: str, pixels: str, *, images: dict[str, Any] | None = FILES, order: str = "012"
) -> Scored:
    rows = pd.DataFrame(
        {
            "index": [int(letter) for letter in order],
            "image": [f"{letter}.png" for letter in order],
            "pixels_sha256": [pixels[int(letter)] for letter in order],
        }
    )
    source = None if images is None else RecordedImages(images)
    return Scored(
        Condition(condition, condition.partition("/")[0], images=source), counted(rows)[0]
    )


CLEAN = shown("clean", "ppp", images=None)
FOG = shown("imagenet-c/fog/1", "pqr")


@pytest.mark.parametrize("order", ["012", "201"])
def test_a_folder_that_was_copied_over_is_flagged_as_is_its_source(order: str) -> None:
    snow = shown("imagenet-c/snow/5", "pqr", order=order)
    assert copied_images(dict(enumerate([CLEAN, FOG, snow]))) == {
        1: "same-images-as-imagenet-c/snow/5",
        2: "same-images-as-imagenet-c/fog/1",
    }


def test_clean_files_in_a_corrupted_folder_are_flagged() -> None:
    found = copied_images({3: CLEAN, 7: shown("imagenet-c/fog/1", "ppp")})
    assert found == {7: "same-images-as-clean"}


def test_some_equal_images_may_be_chance_and_attacks_are_of_the_clean_ones() -> None:
    snow, attacked = shown("imagenet-c/snow/5", "pqs"), shown("pgd", "ppp", images=None)
    assert copied_images(dict(enumerate([CLEAN, FOG, snow, attacked]))) == {}
    swapped = shown("imagenet-c/snow/5", "qpr")
    assert copied_images(dict(enumerate([FOG, swapped]))) == {}
    assert copied_images({0: FOG}) == {}


def test_flat_images_corrupted_on_the_fly_may_stay_as_they_are() -> None:
    made = shown("imagenet-c/fog/1", "ppp", images={"source": "generated-jpeg85"})
    assert copied_images({0: CLEAN, 1: made}) == {}
