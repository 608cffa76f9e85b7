"""A thousand damaged arrays and IDX files."""

import gzip
import io
import struct
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from robustbench_twicing.data.fashion_mnist import open_fashion_mnist
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError

from .archives import ZIPWISE
from .bytewise import BYTEWISE
from .opcodes import hostile_program
from .rounds import Kind, fuzz

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), np.uint8)
LABELS = np.arange(5)
SHAPES = (
    *("(10**9,)", "(1000000000000,)", "(-1,)", "(5, 8, 8, 3)", "()", "(0,)", "(2, 2)", "None"),
    *(f"({'1,' * 70})", "(True, 2)", "('a',)", "(" * 300 + ")" * 300, "(4611686018427387904, 4)"),
)
DTYPES = (
    *("'|u1'", "'<i8'", "'|O'", "'|V9999999999'", "[('a', '|O')]", "'<f4'", "'<U99'", "'x'", "1"),
    *("'>M8[ns]'", "'|S0'", "__import__('os').system('touch something-was-executed')"),
)
PREPROCESSING = Preprocessing(crop=8, resize=8)


def packed(*, compressed: bool = False, **arrays: Any) -> bytes:
    """What numpy writes."""
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **arrays)
    return file.getvalue()


def plain(array: Any, **options: Any) -> bytes:
    """A ``.npy``."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def header(random: Random) -> bytes:
    """The start of a ``.npy`` that declares something strange."""
    shape = random.choice(SHAPES)
    dtype = random.choice(DTYPES)
    text = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * random.choice((0, 9, 20_000)) + b"\n"
    version = random.choice((b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"))
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text) % 2**16)
    return (
        b"\x93NUMPY"
        + version
        + size
        + text
        + random.choice((b"", bytes(99), hostile_program(random)))
    )


def strange_array(random: Random, content: bytes) -> bytes:
    """A file in which an array is declared that cannot be."""
    if content.startswith(b"\x93NUMPY"):
        return header(random)
    file = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(file, "w", method) as archive:
        for name in random.choice((("images", "labels"), ("x", "y"), ("images",))):
            whole = plain(IMAGES if name == "images" else LABELS)
            archive.writestr(f"{name}.npy", header(random) if random.random() < 0.6 else whole)
    return file.getvalue()


def zeros(random: Random, content: bytes) -> bytes:
    """Half a gigabyte of zeros in half a megabyte."""
    return _zeros()


@cache
def _zeros() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("images.npy", "w") as member:
            head = plain(np.zeros((0, 8, 8, 3), np.uint8))
            member.write(head.replace(b"(0, 8, 8, 3), }        ", b"(2796202, 8, 8, 3), }  "))
            for _ in range(512):
                member.write(bytes(2**20))
        archive.writestr("labels.npy", plain(LABELS))
    return file.getvalue()


def objects(random: Random, content: bytes) -> bytes:
    """An array of pickled objects."""
    array = np.array([{"a": 1}, None], dtype=object)
    if content.startswith(b"\x93NUMPY"):
        return plain(array, allow_pickle=True)
    return packed(images=IMAGES, labels=array)


def read(folder: Path, damaged: Path) -> None:
    """Open, and decode every image."""
    if damaged.suffix == ".npz":
        data = open_dataset(damaged)
    else:
        data = open_dataset(folder / "images.npy", labels=folder / "labels.npy")
    for index in range(len(data)):
        data.pixels(index, PREPROCESSING)
    assert data.fingerprint


def read_idx(folder: Path, _: Path) -> None:
    """Both files of a split."""
    for split in ("fashion-mnist", "fashion-mnist-train"):
        data = open_fashion_mnist(f"{split}:{folder}")
        data.pixels(0, PREPROCESSING)


def _idx(prefix: str) -> dict[str, bytes]:
    images = b"\0\0\x08\x03" + struct.pack(">III", 3, 28, 28) + bytes(3 * 784)
    return {
        f"{prefix}-images-idx3-ubyte.gz": gzip.compress(images),
        f"{prefix}-labels-idx1-ubyte": b"\0\0\x08\x01" + struct.pack(">I", 3) + bytes((1, 2, 3)),
    }


def unzipped(random: Random, content: bytes) -> bytes:
    """Damage inside the gzip, or a bomb of it."""
    if not content.startswith(b"\x1f\x8b"):
        return random.choice(BYTEWISE)(random, content)
    if random.random() < 0.1:
        return gzip.compress(bytes(200_000_000), 1)
    try:
        inside = gzip.decompress(content)
    except Exception:  # damaged before
        return content
    return gzip.compress(random.choice(BYTEWISE)(random, inside))


KINDS = {
    "npz": Kind(
        {
            "stored": {"data.npz": packed(images=IMAGES, labels=LABELS)},
            "compressed": {"data.npz": packed(compressed=True, x=IMAGES, y=LABELS)},
        },
        {"": (*ZIPWISE, *(strange_array,) * 9, objects, zeros)},
        read,
    ),
    "npy": Kind(
        {"pair": {"images.npy": plain(IMAGES), "labels.npy": plain(LABELS)}},
        {"": (*BYTEWISE, *(strange_array,) * 9, objects)},
        read,
        names_folder=True,
    ),
    "idx": Kind(
        {"both": {**_idx("t10k"), **_idx("train")}},
        {"": (*BYTEWISE, *(unzipped,) * 6)},
        read_idx,
        names_folder=True,
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_damaged_arrays_are_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fuzz(name, KINDS[name], tmp_path)["refused"]


def test_the_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(zeros(Random(0), b""))
    assert path.stat().st_size < 2**20
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("images.npy").file_size > 2**29
    with pytest.raises(UserError, match="unpacks to"):
        open_dataset(path)
