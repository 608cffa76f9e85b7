"""How large images typically are: the middle of a few, whatever their number."""

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.summary import SAMPLE, typical_side
from tests.tiny import MemoryImages, dataset, noise


def test_it_is_the_middle_of_the_shorter_sides(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("photos") / "photos"
    (folder / "n01440764").mkdir(parents=True)
    for number, size in enumerate([(40, 30), (20, 90), (500, 333)]):
        Image.new("RGB", size).save(folder / "n01440764" / f"{number}.png")
    assert typical_side(open_dataset(folder)) == 30


def test_arrays_have_one_size_and_images_that_cannot_be_read_have_none() -> None:
    assert typical_side(noise(3, bad=[0])) == noise(1).images.picture(0).size[0]
    assert typical_side(noise(2, bad=[0, 1])) is None


def test_large_sets_cost_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dataset(np.zeros((SAMPLE * 9, 8, 8, 3), np.uint8), [0] * SAMPLE * 9)
    seen: list[int] = []

    def picture(own: MemoryImages, index: int) -> Image.Image:
        seen.append(index)
        return Image.fromarray(own.arrays[index])

    monkeypatch.setattr(MemoryImages, "picture", picture)
    assert typical_side(data) == 8
    assert len(seen) == SAMPLE
    assert (seen[0], seen[-1]) == (0, SAMPLE * 9 - 1)
