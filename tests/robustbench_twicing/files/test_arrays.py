"""Numpy files that others wrote: refused in one line, whatever numpy and zipfile make of them."""

import errno
import io
import math
import mmap
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from robustbench_twicing.errors import UnreadableError, UserError
from robustbench_twicing.files.arrays import ArrayFile, is_archive, open_archive

HEADERS = {
    "unfinished": b"{'descr': '|u1', 'fortran_order': False, 'shape': (5,",
    "objects": b"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n",
    "overflow": b"{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n",
    "negative": b"{'descr': '|u1', 'fortran_order': False, 'shape': (-5,), }\n",
    "boolean": b"{'descr': '|u1', 'fortran_order': False, 'shape': (True, 2), }\n",
    "a call": b"{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,), }\n",
    "absurd": b"{'descr': '|u1', 'fortran_order': False, 'shape': (10000000000000000,), }\n",
}


def npy(header: bytes) -> bytes:
    """The start of a file with that header, and a few numbers."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(10)


@pytest.mark.parametrize("name", HEADERS)
def test_a_strange_header_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(npy(HEADERS[name]))
    with pytest.raises(UserError, match=r"a\.npy is not a numpy file of plain numbers"):
        ArrayFile(path)
    archive = tmp_path / "a.npz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("x.npy", npy(HEADERS[name]))
    with (
        open_archive(archive) as content,
        pytest.raises(UserError, match=r"a\.npz: 'x' is not an array of plain numbers"),
    ):
        content.read("x")


def damaged(offset: int, value: bytes, *, compress: bool = False) -> bytes:
    """An archive whose directory says something else at an offset of its entry."""
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, x=np.arange(50))
    content = bytearray(file.getvalue())
    at = content.index(b"PK\x01\x02") + offset
    content[at : at + len(value)] = value
    return bytes(content)


DAMAGED = {
    "another zip version": damaged(6, b"\xff"),
    "encrypted": damaged(8, b"\x01"),
    "unknown method": damaged(10, b"\x63"),
    "checksum": damaged(16, b"\0\0\0\0"),
    "no deflated data": damaged(10, b"\x08"),
    "offset": damaged(42, b"\x05"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_archive_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(DAMAGED[name])
    assert is_archive(path)
    with pytest.raises(UserError, match=r"a\.npz"), open_archive(path) as content:
        content.read("x")


def test_a_member_that_is_no_array_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("x.npy", b"text")
    with open_archive(tmp_path / "a.npz") as content, pytest.raises(UserError, match="'x' is not"):
        content.read("x")


@pytest.mark.slow
def test_a_bomb_is_refused_and_what_compresses_well_is_not(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(60 * 2**20, np.uint8))
    with open_archive(tmp_path / "a.npz") as content:
        assert content.names == ["x"]
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(70 * 2**20, np.uint8))
    with (
        pytest.raises(UserError, match=r"a\.npz unpacks to 73,400,\d+ bytes from .*zip bomb"),
        open_archive(tmp_path / "a.npz"),
    ):
        pass


VALUES = np.random.default_rng(0).integers(0, 256, (6, 4, 5, 3), dtype=np.uint8)


def saved(folder: Path, values: NDArray[Any] = VALUES) -> Path:
    np.save(folder / "a.npy", values)
    return folder / "a.npy"


def test_a_file_system_that_maps_no_files_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.ENODEV, "No such device")

    monkeypatch.setattr(mmap, "mmap", refuse)
    np.testing.assert_array_equal(ArrayFile(saved(tmp_path)).whole, VALUES)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(6, 4, 5, 3), (360,), (0, 5), (3, 0)])
def test_rows_are_those_that_were_saved(
    order: Literal["C", "F"], shape: tuple[int, ...], tmp_path: Path
) -> None:
    values = VALUES.reshape(-1)[: math.prod(shape)].reshape(shape)
    array = ArrayFile(saved(tmp_path, np.asarray(values, order=order)))
    assert (array.shape, array.dtype, len(array)) == (shape, values.dtype, shape[0])
    np.testing.assert_array_equal(array.whole, values)
    for row in range(shape[0]):
        np.testing.assert_array_equal(array[row], values[row])
    with pytest.raises(IndexError):
        array[shape[0]]


def test_other_kinds_of_numbers_are_read_as_they_are(tmp_path: Path) -> None:
    for kind in (">i8", "<i2", "<f4"):
        values = np.arange(12).reshape(3, 4).astype(kind)
        np.testing.assert_array_equal(ArrayFile(saved(tmp_path, values))[2], values[2])


@pytest.mark.parametrize("opened", [False, True], ids=["unread", "read"])
@pytest.mark.parametrize("size", [0, 100, 300])
def test_a_file_that_is_cut_short_is_one_line(size: int, opened: bool, tmp_path: Path) -> None:
    """Mapped, it would end the process with SIGBUS."""
    array = ArrayFile(saved(tmp_path))
    if opened:
        assert array[0].shape == (4, 5, 3)
    os.truncate(tmp_path / "a.npy", size)
    with pytest.raises(UnreadableError, match=r"a\.npy was changed after it was opened"):
        array[5]


def test_a_file_that_changes_is_one_line(tmp_path: Path) -> None:
    array = ArrayFile(saved(tmp_path))
    os.utime(saved(tmp_path, 255 - VALUES), ns=(0, 10**18))
    with pytest.raises(UnreadableError, match=r"a\.npy was changed after it was opened"):
        array[0]


def test_a_file_that_is_replaced_or_deleted_is_still_open(tmp_path: Path) -> None:
    """For the process that reads it; another one sees that it is gone."""
    array = ArrayFile(saved(tmp_path))
    first = array[0]
    path = (tmp_path / "a.npy").rename(tmp_path / "elsewhere.npy")
    saved(tmp_path, np.zeros_like(VALUES))
    np.testing.assert_array_equal(array[0], first)
    np.testing.assert_array_equal(array[5], VALUES[5])
    other = pickle.loads(pickle.dumps(array))
    with pytest.raises(UnreadableError, match=r"a\.npy was changed after it was opened"):
        other[0]
    (tmp_path / "a.npy").unlink()
    with pytest.raises(UnreadableError, match=r"a\.npy cannot be read: No such file"):
        pickle.loads(pickle.dumps(array))[0]
    path.rename(tmp_path / "a.npy")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[5], VALUES[5])


def test_other_processes_are_handed_the_name_and_not_the_content(tmp_path: Path) -> None:
    array = ArrayFile(saved(tmp_path, np.zeros((100, 100), np.uint8)))
    assert array.whole.shape == (100, 100)
    assert len(pickle.dumps(array)) < 1000
