"""Known test sets: labels by name, never by position; what a folder looks like; what is missing."""

import random
from pathlib import Path

import numpy as np
import pytest

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet import subset_indices, wnids
from robustbench_twicing.data.known_sets.table import KNOWN_SETS
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from tests.palette import PREPROCESSING, subset_folders, wnid_folders, write

LETTERS = {"imagenet-a": "A", "imagenet-r": "R"}


def said(dataset: Dataset, words: str) -> bool:
    return any(words in note for note in dataset.notes)


def true_class(dataset: Dataset, index: int) -> str:
    """The wnid that an image's label means."""
    label = dataset.labels[index]
    assert dataset.space is not None
    (logit,) = dataset.space.logits[label]
    return wnids()[logit]


@pytest.mark.slow
@pytest.mark.parametrize("which", LETTERS)
def test_labels_are_positions_in_the_sorted_200(which: str, tmp_path: Path) -> None:
    pictures = list(subset_folders(which).items())
    random.Random(0).shuffle(pictures)
    dataset = open_dataset(f"{which}={write(tmp_path, dict(pictures))}")
    assert (dataset.name, dataset.clean_id, dataset.num_classes) == (which, which, 200)
    assert dataset.labels == tuple(range(200))
    assert dataset.space is not None
    assert dataset.space.convention == "200-way"
    assert said(dataset, f"scored over the 200 classes of ImageNet-{LETTERS[which]} alone")
    assert said(dataset, f"200 images in {tmp_path.name}")
    assert dataset.flags == ()


def test_a_partial_download_shifts_nothing_and_is_named(tmp_path: Path) -> None:
    kept = subset_indices("imagenet-a")[3::7]
    dataset = open_dataset(f"imagenet-a={write(tmp_path, wnid_folders(kept, images=2))}")
    assert len(dataset) == 2 * len(kept)
    for index, name in enumerate(dataset.ids):
        assert true_class(dataset, index) == name.split("/")[0]
    missing = sorted(set(subset_indices("imagenet-a")) - set(kept))
    assert said(dataset, f"{len(missing)} of its 200 classes have no image here: ")
    assert said(dataset, wnids()[missing[0]])


@pytest.mark.slow
def test_what_a_folder_looks_like(tmp_path: Path) -> None:
    a = write(tmp_path / "a", subset_folders("imagenet-a"))
    whole = write(tmp_path / "whole", wnid_folders(range(1000)))
    strange = {f"{wnids()[0]}/x.png": 0, **subset_folders("imagenet-r")}
    partial = write(tmp_path / "partial", wnid_folders(subset_indices("imagenet-a")[:150]))
    wrong = {
        f"imagenet-r={a}": "not ImageNet-R: its 200 classes are exactly those of ImageNet-A; "
        "give imagenet-a=DIR",
        f"imagenet={a}": "not the ImageNet validation set: its 200 classes are exactly those of Im",
        f"sketch={a}": "not ImageNet-Sketch: its 200 classes are exactly those of ImageNet-A",
        f"imagenet-r={partial}": "its 150 classes are among those of ImageNet-A; give imagenet-a=",
        f"imagenet-a={whole}": "of its 1,000 classes 800 are not among ImageNet-A's 200 (n01440764",
        f"imagenet-r={write(tmp_path / 'b', strange)}": "of its 201 classes 1 are not among Image",
    }
    for spec, words in wrong.items():
        with pytest.raises(UserError) as caught:
            open_dataset(spec)
        assert words in str(caught.value), spec


def test_shared_classes_alone_are_both(tmp_path: Path) -> None:
    both = sorted(set(subset_indices("imagenet-a")) & set(subset_indices("imagenet-r")))
    root = write(tmp_path, wnid_folders(both))
    for which in LETTERS:
        dataset = open_dataset(f"{which}={root}")
        assert [true_class(dataset, index) for index in range(86)] == [wnids()[i] for i in both]


@pytest.mark.slow
@pytest.mark.parametrize("which", LETTERS)
def test_a_plain_folder_says_which_name_to_use(which: str, tmp_path: Path) -> None:
    root = write(tmp_path, subset_folders(which))
    dataset = open_dataset(root)
    assert dataset.labels == subset_indices(which)
    assert (dataset.num_classes, dataset.clean_id) == (1000, "clean")
    assert dataset.flags == (f"classes-of-{which}",)
    assert said(dataset, f"if it is ImageNet-{LETTERS[which]}, --data {which}=DIR gives the number")


@pytest.mark.slow
def test_numbered_folders_of_a_subset_are_refused(tmp_path: Path) -> None:
    root = write(tmp_path, {f"{number}/x.png": number for number in range(200)})
    with pytest.raises(UserError, match=r"ImageNet-A's folders are named by wnid .*\(0/x.png\)"):
        open_dataset(f"imagenet-a={root}")
    with pytest.raises(UserError, match="200 folders numbered 0 to 199"):
        open_dataset(root)
    flat = write(tmp_path / "flat", {"ILSVRC2012_val_00000001.JPEG": 3})
    with pytest.raises(UserError, match="flat folder is opened as plain --data DIR with --labels"):
        open_dataset(f"imagenet={flat}")


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [range(1000), range(200), (7, 10, 999, 2)])
def test_v2_folders_are_numbers_not_texts(numbers: range, tmp_path: Path) -> None:
    root = tmp_path / "imagenetv2-matched-frequency-format-val"
    dataset = open_dataset(
        f"imagenetv2={write(root, {f'{number}/x.png': number for number in numbers})}"
    )
    assert dataset.labels == tuple(int(name.split("/")[0]) for name in dataset.ids)
    assert sorted(dataset.labels) == sorted(numbers) != list(dataset.labels)
    assert (dataset.clean_id, dataset.space, dataset.num_classes) == ("imagenetv2", None, 1000)
    assert said(dataset, "variant matched-frequency, by the folder's name")
    assert said(dataset, "10,000 in the published set")
    assert dataset.flags == ()


def test_v2_in_wnid_folders_and_other_variants(tmp_path: Path) -> None:
    dataset = open_dataset(f"imagenet-v2={write(tmp_path / 'v2', wnid_folders([5, 900]))}")
    assert dataset.labels == (5, 900)
    assert said(dataset, "does not say which variant")
    top = write(tmp_path / "ImageNetV2-top-images", {"3/x.png": 3})
    assert open_dataset(f"imagenetv2={top}").flags == ("variant-top-images",)
    inner = write(tmp_path / "all", {"imagenetv2-threshold0.7-format-val/3/x.png": 3})
    assert open_dataset(f"imagenetv2={inner}").flags == ("variant-threshold",)


def test_sketch_and_the_validation_set(tmp_path: Path) -> None:
    root = write(tmp_path / "sketch", wnid_folders([1, 2, 3]))
    for name in ("sketch", "imagenet-sketch"):
        dataset = open_dataset(f"{name}={root}")
        assert (dataset.name, dataset.labels) == ("imagenet-sketch", (1, 2, 3))
        assert said(dataset, "997 of its 1000 classes have no image here: n01440764, n01494475")
        assert said(dataset, "3 images in sketch, 50,889 in the published set")
    files = {f"{wnids()[9]}/ILSVRC2012_val_00000001.JPEG": 9}
    with pytest.raises(UserError, match=r"named like ImageNet's validation set .*imagenet=DIR"):
        open_dataset(f"sketch={write(tmp_path / 'clean' / 'val', files)}")
    clean = open_dataset(f"imagenet={tmp_path / 'clean'}")
    assert (clean.name, clean.clean_id, clean.labels) == ("imagenet", "clean", (9,))


def test_a_folder_of_train_and_val_is_its_val(tmp_path: Path) -> None:
    write(tmp_path / "train", wnid_folders([4, 5]))
    write(tmp_path / "val", wnid_folders([5]))
    assert open_dataset(f"imagenet={tmp_path}").labels == (5,)


def test_names_that_no_set_has(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no data set is called 'imagnet-a'\. Did you mean 'image"):
        open_dataset(f"imagnet-a={tmp_path}")
    with pytest.raises(UserError, match=r"imagenet-a should be at .*, which is not a folder"):
        open_dataset(f"imagenet-a={tmp_path}/nothing")
    with pytest.raises(UserError, match="has labels of its own"):
        open_dataset(f"imagenet-a={tmp_path}", labels="x.csv")
    odd = write(tmp_path / "a=b", wnid_folders([3]))
    assert open_dataset(odd).labels == (3,)


@pytest.mark.slow
def test_a_limit_is_spread_and_flagged(tmp_path: Path) -> None:
    root = write(tmp_path, subset_folders("imagenet-a"))
    dataset = open_dataset(f"imagenet-a={root}", limit=20)
    assert len(set(dataset.labels)) == 20
    assert dataset.flags == ("limit-20-of-200",)
    assert dataset.space is not None
    np.testing.assert_array_equal(dataset.pixels(0, PREPROCESSING).shape, (8, 8, 3))


@pytest.mark.slow
def test_fingerprints_tell_sets_apart(tmp_path: Path) -> None:
    root = write(tmp_path, subset_folders("imagenet-a"))
    plain, named = open_dataset(root), open_dataset(f"imagenet-a={root}")
    assert plain.fingerprint != named.fingerprint
    assert named.fingerprint == open_dataset(f"imagenet-a={root}").fingerprint


USUAL = {
    "imagenet": "imagenet",
    "ImageNet-A": "imagenet-a",
    "imagenet_r": "imagenet-r",
    "imagenetv2-matched-frequency-format-val": "imagenetv2",
    "ImageNetV2-matched-frequency": "imagenetv2",
    "sketch": "imagenet-sketch",
    "imagenet_sketch": "imagenet-sketch",
    "objectnet-1.0": "objectnet",
}


def test_usual_folder_names() -> None:
    for folder in [*USUAL, "imagenet-c", "imagenet-o", "train"]:
        names = [known.name for known in KNOWN_SETS.values() if known.is_usual_folder(folder)]
        assert names == ([USUAL[folder]] if folder in USUAL else []), folder
