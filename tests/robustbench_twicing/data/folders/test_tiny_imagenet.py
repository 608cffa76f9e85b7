"""Tiny ImageNet as it is downloaded asks which order of classes a network was trained with."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.summary import survey
from robustbench_twicing.data.suspicions import suspicions
from robustbench_twicing.errors import UserError

WNIDS = ("n02124075", "n01443537", "n04067472")  # not sorted, as in the archive


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    root = tmp_path / "tiny-imagenet-200"
    (root / "val" / "images").mkdir(parents=True)
    rows = []
    for number, wnid in enumerate(WNIDS):
        Image.new("RGB", (64, 64), (99 * number, 0, 0)).save(
            root / "val/images" / f"val_{number}.JPEG"
        )
        rows.append(f"val_{number}.JPEG\t{wnid}\t0\t0\t62\t62\n")
    (root / "val" / "val_annotations.txt").write_text("".join(rows))
    (root / "wnids.txt").write_text("\n".join(WNIDS) + "\n")
    return root


@pytest.mark.parametrize("below", ["", "val", "val/images"])
def test_both_orders(below: str, tiny: Path) -> None:
    with pytest.raises(UserError, match=r"--class-order sorted .* or --class-order file"):
        open_dataset(tiny / below)
    by_file = open_dataset(tiny / below, class_order="file")
    assert "wnids-unsorted" in by_file.flags
    assert "classes are numbered by wnids.txt (as it stands)" in by_file.notes
    assert (by_file.labels, by_file.num_classes) == ((0, 1, 2), 3)
    assert by_file.name == "tiny-imagenet-200"
    assert open_dataset(tiny / below, class_order="sorted").labels == (1, 0, 2)
    flags = [remark.flag for remark in suspicions(by_file, survey(by_file))]
    assert flags == ["tiny-images-64px"]


def test_a_sorted_list_asks_nothing(tiny: Path) -> None:
    (tiny / "wnids.txt").write_text("\n".join(sorted(WNIDS)))
    assert open_dataset(tiny).labels == (1, 0, 2)


def test_its_order_is_asked_of_nothing_else(tiny: Path) -> None:
    with pytest.raises(UserError, match=r"--class-order 'byname' is unknown. Known: sorted, file"):
        open_dataset(tiny, class_order="byname")
    with pytest.raises(UserError, match="is not Tiny ImageNet as it is downloaded"):
        open_dataset(tiny.parent, class_order="sorted")
    with pytest.raises(UserError, match="leave it, or --labels, --classes"):
        open_dataset(f"imagenet={tiny}", class_order="sorted")


def test_what_needs_no_label_needs_no_order_of_classes(tiny: Path) -> None:
    dataset = open_dataset(tiny, needs_labels=False)
    assert (dataset.name, dataset.labelling) == ("tiny-imagenet-200", "no labels")
    assert dataset.ids == tuple(f"val_{number}.JPEG" for number in range(3))
    (note,) = dataset.notes
    assert note.startswith("no labels: its classes are numbered by --class-order sorted, or file")
    assert open_dataset(tiny, needs_labels=False, class_order="file").labels == (0, 1, 2)


@pytest.mark.parametrize("form", ["samples:imagenet", "fashion-mnist:test1000", "a.npz"])
def test_an_order_for_what_is_not_tiny_imagenet_is_refused(form: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 9, 9), np.uint8), labels=[0, 1])
    spec = str(tmp_path / form) if form == "a.npz" else form
    with pytest.raises(UserError, match=r"--class-order file: .* is not Tiny ImageNet"):
        open_dataset(spec, class_order="file")
