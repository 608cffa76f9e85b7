"""ILSVRC's own ground truth is read with its own order of classes, and never without."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from robustbench_twicing.data.folders.label_file import read_label_file
from robustbench_twicing.data.imagenet import wnids
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.archives.conftest import member, picture, write_tar

TRUTH = "ILSVRC2012_validation_ground_truth.txt"


def write_devkit(root: Path) -> Path:
    """The kit with its thousand classes in reverse order, one inner synset, and three images."""
    data = root / "ILSVRC2012_devkit_t12" / "data"
    data.mkdir(parents=True)
    (data / TRUTH).write_text("1\n1000\n3\n")
    names = [*reversed(wnids()), "n00001740"]
    synsets = np.zeros(len(names), [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("num_children", "O")])
    for row, name in enumerate(names):
        synsets[row] = (row + 1, name, int(row >= 1000))
    savemat(data / "meta.mat", {"synsets": synsets})
    return data.parent


@pytest.fixture(scope="module")
def devkit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_devkit(tmp_path_factory.mktemp("kit"))


def test_its_numbers_become_positions_of_sorted_wnids(devkit: Path) -> None:
    for path in (devkit, devkit / "data", devkit / "data" / TRUTH):
        labels = read_label_file(path)
        assert [label.target for label in labels] == [999, 0, 997]
        assert labels[2].name == "ILSVRC2012_val_00000003"


def test_it_labels_the_archive_of_the_validation_set(devkit: Path, tmp_path: Path) -> None:
    content = picture("a.jpg")
    names = [f"ILSVRC2012_val_{number:08d}.JPEG" for number in (1, 2, 3)]
    tar = write_tar(tmp_path / "val.tar", [member(name, content) for name in names])
    dataset = open_dataset(tar, labels=devkit)
    assert (dataset.ids, dataset.labels) == (tuple(names), (999, 0, 997))
    part = write_tar(tmp_path / "part.tar", [member(names[1], content)])
    with pytest.raises(UserError, match=r"2 labels without an image .*--labels-superset allows"):
        open_dataset(part, labels=devkit)
    dataset = open_dataset(part, labels=devkit, labels_superset=True)
    assert dataset.labels == (0,)
    assert dataset.notes[-1] == "2 labels of it without an image, by request"


def test_without_the_order_of_its_classes_it_is_refused(devkit: Path, tmp_path: Path) -> None:
    shutil.copy(devkit / "data" / TRUTH, tmp_path / TRUTH)
    with pytest.raises(UserError, match=r"counts classes in ILSVRC's own order, .* meta\.mat"):
        read_label_file(tmp_path / TRUTH)
    (tmp_path / "meta.mat").write_bytes(b"MATLAB 5.0")
    with pytest.raises(UserError, match=r"meta\.mat is not the development kit's"):
        read_label_file(tmp_path / TRUTH)
    savemat(tmp_path / "meta.mat", {"synsets": np.zeros(1, [("ILSVRC2012_ID", "O")])})
    with pytest.raises(UserError, match=r"meta\.mat is not the development kit's"):
        read_label_file(tmp_path / TRUTH)
    shutil.copy(devkit / "data" / "meta.mat", tmp_path / "meta.mat")
    (tmp_path / TRUTH).write_text("1\n1002\n")
    with pytest.raises(UserError, match="class 1002 is none of the 1 to 1000"):
        read_label_file(tmp_path / TRUTH)


def test_a_longer_list_is_no_label_file_s_business_without_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is about a label file; give --labels FILE, too"):
        open_dataset(tmp_path, labels_superset=True)
