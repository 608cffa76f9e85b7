"""A limited data set: the same images whatever the order of files, spread over classes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from robustbench_twicing.data.dataset import Dataset, Pixels, limit_dataset
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.conftest import Tree


@dataclass(frozen=True)
class Nothing:
    """Images without pixels."""

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        return np.zeros((preprocessing.crop, preprocessing.crop, 3), np.uint8)

    def picture(self, index: int) -> Image.Image:
        return Image.new("RGB", (1, 1))

    def signature(self, index: int) -> str:
        return ""

    def select(self, indices: Sequence[int]) -> Self:
        return self


def dataset_of(labels: Sequence[int]) -> Dataset:
    ids = tuple(f"{label}/{index}" for index, label in enumerate(labels))
    return Dataset("set", ids, tuple(labels), Nothing(), 1000, "made up")


UNEVEN = [0] * 50 + [1] * 3 + [2] * 10 + [7] * 1


@pytest.mark.parametrize(
    ("size", "counts"),
    [(4, [1, 1, 1, 1]), (7, [2, 2, 2, 1]), (10, [3, 3, 3, 1]), (20, [8, 8, 3, 1])],
)
def test_classes_take_turns(size: int, counts: list[int]) -> None:
    limited = limit_dataset(dataset_of(UNEVEN), size)
    assert sorted(Counter(limited.labels).values(), reverse=True) == counts
    assert limited.flags == (f"limit-{size}-of-64",)
    assert limited.notes == (
        f"{size} of 64 images were used, spread over 4 of 4 classes (limit seed 0)",
    )


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=40),
    st.integers(1, 40),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_order_never_matters(labels: list[int], size: int, seed: int, shuffle: Random) -> None:
    dataset = dataset_of(labels)
    order = list(range(len(labels)))
    shuffle.shuffle(order)
    limited = limit_dataset(dataset, size, seed=seed)
    other = limit_dataset(dataset.select(order), size, seed=seed)
    assert set(limited.ids) == set(other.ids)
    assert len(limited) == min(size, len(labels))
    assert [name for name in dataset.ids if name in limited.ids] == list(limited.ids)
    kept, full = Counter(limited.labels), Counter(labels)
    unfinished = [kept[label] for label in full if kept[label] < full[label]]
    assert max(kept.values()) - min(unfinished, default=max(kept.values())) <= 1


def test_a_smaller_limit_is_part_of_a_larger_one() -> None:
    dataset = dataset_of(UNEVEN)
    parts = [set(limit_dataset(dataset, size).ids) for size in range(1, 65)]
    assert all(small < large for small, large in pairwise(parts))


@pytest.mark.slow
def test_the_seed_chooses_classes_and_images() -> None:
    many = dataset_of([label for label in range(100) for _ in range(10)])
    chosen = [limit_dataset(many, 10, seed=seed) for seed in range(5)]
    assert len({part.labels for part in chosen}) == 5
    one_each = [limit_dataset(many, 100, seed=seed) for seed in range(5)]
    assert len({part.ids for part in one_each}) == 5
    assert {part.labels for part in one_each} == {tuple(range(100))}


def test_the_choice_is_pinned() -> None:
    ids = limit_dataset(dataset_of(UNEVEN), 6, seed=0).ids
    assert ids == ("0/12", "1/50", "1/52", "2/54", "2/60", "7/63")


@pytest.mark.parametrize("size", [64, 65, 10**9])
def test_no_limit_no_flag(size: int) -> None:
    dataset = dataset_of(UNEVEN)
    limited = limit_dataset(dataset, size)
    assert limited.ids == dataset.ids
    assert limited.flags == ()
    assert limited.notes == ()


@pytest.mark.parametrize("size", [0, -1])
def test_less_than_one(size: int) -> None:
    with pytest.raises(UserError, match=f"--limit {size} leaves no image"):
        limit_dataset(dataset_of(UNEVEN), size)


def test_a_seed_without_a_limit_chooses_nothing(tree: Tree) -> None:
    root = tree(["n01440764/0.png"])
    with pytest.raises(UserError, match="--limit-seed 3 chooses the images of --limit; give"):
        open_dataset(root, seed=3)


def test_the_seed_stays_with_the_images_it_chose() -> None:
    dataset = dataset_of(UNEVEN)
    assert dataset.limit_seed is None
    assert limit_dataset(dataset, 6, seed=3).limit_seed == 3
    assert limit_dataset(dataset, len(dataset), seed=3).limit_seed is None


def test_the_order_in_which_files_were_made_does_not_matter(tree: Tree) -> None:
    names = [f"{folder}/{n}.png" for folder in ("n01440764", "n02091244", "3") for n in range(6)]
    wnids = [name for name in names if name.startswith("n")]
    root = tree(wnids)
    first = open_dataset(root, limit=5)
    for name in wnids:
        (root / name).unlink()
    tree(reversed(wnids))
    assert open_dataset(root, limit=5).ids == first.ids
    assert open_dataset(root, limit=5, seed=1).ids != first.ids
