"""Files that are opened because somebody named them: regular, bounded, text or JSON."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.exports.paper import read_paper
from robustbench_twicing.checkpoints.reading import read_checkpoint
from robustbench_twicing.conditions.suites import load_suite
from robustbench_twicing.data.decoding import read_header, read_rgb
from robustbench_twicing.data.folders.class_list import read_classes
from robustbench_twicing.data.folders.label_file import read_label_file
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.text import read_json, read_text
from robustbench_twicing.records.adversarial import read_adversarial
from robustbench_twicing.records.parts import read_parts

READERS: dict[str, Callable[[Path], object]] = {
    "a.txt": read_text,
    "a.json": read_json,
    "a.csv": read_label_file,
    "classes.txt": read_classes,
    "a.npy": lambda path: open_dataset(path, labels=path),
    "a.npz": open_dataset,
    "a.yaml": lambda path: load_suite(str(path)),
    "paper.yaml": lambda path: read_paper(path, ["net"]),
    "a.jpg": read_rgb,
    "b.jpg": read_header,
    "kept.npz": read_adversarial,
    "part.parquet": read_parts,
    "a.pth": read_checkpoint,
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused_and_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(UserError, match=name):
        READERS[name](tmp_path / name)


@pytest.mark.parametrize("name", [name for name in READERS if name != "a.pth"])
def test_a_directory_and_a_dead_link_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to(tmp_path / "gone")
    with pytest.raises(UserError, match=name):
        READERS[name](tmp_path / name)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(UserError, match=name):
        READERS[name](tmp_path / name)


def test_a_device_is_no_file() -> None:
    with pytest.raises(UserError, match=r"/dev/zero cannot be read: it is a pipe, a device"):
        read_text(Path("/dev/zero"))


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.touch()
    os.truncate(path, 2**40)
    with pytest.raises(UserError, match=r"labels\.csv has 1,099,511,627,776 bytes; such a file"):
        read_text(path)
    with pytest.raises(UserError, match=r"such a file has 1,073,741,824 at most"):
        read_rgb(path)


@pytest.mark.parametrize("text", ["{", '{"a":' * 5000, "[" * 100_000, "9" * 5000, ""])
def test_what_is_not_json(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"a\.json is not JSON \(.*\); copy it again"):
        read_json(path, "copy it again")


def test_numbers_of_any_length_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    for number in ("9" * 10, "9" * 5000):
        path.write_text(f"a.png,{number}\n")
        with pytest.raises(UserError, match="is neither a wnid"):
            read_label_file(path)


def test_indices_that_no_record_holds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "classes.json"
    path.write_text('{"cat": 0, "dog": 1000000000000}')
    with pytest.raises(UserError, match="1 of 2 entries are not a class index"):
        read_classes(path)


@pytest.mark.slow
def test_a_class_list_with_many_names_is_read_in_no_time(tmp_path: Path) -> None:
    """Counting each of them among all others took minutes, which the test run would not survive."""
    names = [f"{number}" for number in range(300_000)]
    random.Random(0).shuffle(names)
    path = tmp_path / "classes.json"
    path.write_text("{" + ", ".join(f'"{name}": {name}' for name in names) + "}")
    assert read_classes(path).num_classes == 300_000
