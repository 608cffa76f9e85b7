"""Numpy files that others wrote: refused in one line, whatever numpy and zipfile make of them."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.numpy_files import is_archive, map_array, open_archive

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
        map_array(path)
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
