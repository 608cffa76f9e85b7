"""Crops of a data set kept on disk, so that an image is decoded once for many runs."""

import errno
import hashlib
import json
import logging
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import PIL
from PIL import Image

from ..errors import UserError
from ..files.stamp import Stamp
from .dataset import Dataset, Pixels
from .folders.image_files import FileImages
from .preprocessing import Preprocessing

log = logging.getLogger(__name__)
CROPS, ENTRIES = "crops.bin", "entries.bin"
PAGE = 4096
"""Bytes; every crop begins at a multiple, and the rest up to the next one is zero."""
_ENTRY = struct.Struct("<qqqI")


class CropStore:
    """Crops by position in the data set; read and written by any number of processes.

    A crop and its entry (stamp and checksum) are read together; where they do not fit each other,
    as after a killed writer, there is no crop. The files are read, not mapped: a mapped file that
    another process cuts short would end this one.

    Args:
        folder: with both files; made if it is not there.
        side: pixels of a crop, which is uint8 (side, side, 3).
    """

    def __init__(self, folder: Path, side: int) -> None:
        self.folder, self.side = folder, side
        self._bytes = side * side * 3
        self._stride = -(-self._bytes // PAGE) * PAGE
        self._writes = True
        self._crops, self._entries = self._open(CROPS), self._open(ENTRIES)

    def _open(self, name: str) -> int | None:
        """A descriptor; None where there is no such file and none can be made."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            return os.open(self.folder / name, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            self._stop_writing(error)
        try:
            return os.open(self.folder / name, os.O_RDONLY)
        except OSError:
            return None  # said above

    def read(self, index: int, stamp: Stamp) -> Pixels | None:
        """The crop that was stored for an image with this stamp; None if there is none."""
        if self._crops is None or self._entries is None:
            return None
        try:
            return self._read(self._crops, self._entries, index, stamp)
        except OSError as error:
            self._stop_writing(error)
            return None

    def _read(self, crops: int, entries: int, index: int, stamp: Stamp) -> Pixels | None:
        entry = os.pread(entries, _ENTRY.size, index * _ENTRY.size)
        if len(entry) < _ENTRY.size:
            return None
        *stored, checksum = _ENTRY.unpack(entry)
        if tuple(stored) != stamp.on_any_mount:
            return None
        padded = np.empty(self._stride, np.uint8)
        length = os.preadv(crops, [padded.data], index * self._stride)
        if length < self._stride or crc32(padded.data) != checksum:
            return None
        return padded[: self._bytes].reshape(self.side, self.side, 3)

    def write(self, index: int, crop: Pixels, stamp: Stamp) -> None:
        """Store a crop; where that fails, it is said once and nothing more is stored."""
        if not self._writes or self._crops is None or self._entries is None:
            return
        padded = np.zeros(self._stride, np.uint8)
        padded[: self._bytes] = crop.reshape(-1)
        try:
            _write_all(self._crops, padded.tobytes(), index * self._stride)
            entry = _ENTRY.pack(*stamp.on_any_mount, crc32(padded.data))
            _write_all(self._entries, entry, index * _ENTRY.size)
        except OSError as error:
            self._stop_writing(error)

    def _stop_writing(self, error: OSError) -> None:
        if self._writes:
            log.warning(
                "%s cannot be used (%s); images that are not in the cache are decoded",
                *(self.folder, error.strerror),
            )
        self._writes = False

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in (self._crops, self._entries):
            if descriptor is not None:
                os.close(descriptor)
        self._crops = self._entries = None


def _write_all(descriptor: int, content: bytes, offset: int) -> None:
    written = os.pwrite(descriptor, content, offset)
    if written != len(content):  # what a disk that runs full does first
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


FORMAT = 3
"""Version of the files' layout; part of their folder's name."""


def cache_crops(data: Dataset, folder: Path) -> Dataset:
    """The same data set, whose crops are kept below ``folder`` and taken from there.

    Only image files are cached: arrays are in memory already. An ImageNet validation set takes
    7.6 GB for each size and filter.

    Raises:
        UserError: ``folder`` cannot be made.
    """
    if not isinstance(data.images, FileImages):
        return data
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--cache {folder} cannot be made: {error.strerror}") from error
    return replace(data, images=CachedFiles(data.images, folder, data.fingerprint))


@dataclass(frozen=True)
class CachedFiles:
    """Images in files, of which a crop is decoded only where it is not in the cache.

    A crop is what was decoded, bit for bit. It is decoded anew where the image file has another
    size or time; other data, preprocessing and versions of Pillow have a folder of their own.

    Attributes:
        images: in files.
        folder: of the cache.
        fingerprint: of the data set.
    """

    images: FileImages
    folder: Path
    fingerprint: str

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """The crop from the cache, else decoded and stored: uint8 (crop, crop, 3)."""
        try:
            stamp = self.images.files[index].stamp()
        except OSError:
            return self.images.pixels(index, preprocessing)  # says what is wrong with the file
        store = self._store(preprocessing)
        crop = store.read(index, stamp)
        if crop is None:
            crop = self.images.pixels(index, preprocessing)
            store.write(index, crop, stamp)
        return crop

    def picture(self, index: int) -> Image.Image:
        """As the files'; not kept."""
        return self.images.picture(index)

    def signature(self, index: int) -> str:
        """As the files'."""
        return self.images.signature(index)

    def select(self, indices: Sequence[int]) -> FileImages:
        """The files at these positions, without the cache, which is of a whole data set."""
        return self.images.select(indices)

    def _store(self, preprocessing: Preprocessing) -> CropStore:
        if preprocessing not in self._stores:
            folder = self.folder / self._key(preprocessing)
            self._stores[preprocessing] = CropStore(folder, preprocessing.crop)
        return self._stores[preprocessing]

    def _key(self, preprocessing: Preprocessing) -> str:
        """Name of the folder for crops that these images, parts of it and versions decide."""
        decides = {
            "format": FORMAT,
            "data": self.fingerprint,
            "border": self.images.border,
            "crop": preprocessing.crop,
            "resize": preprocessing.resize,
            "interpolation": preprocessing.interpolation,
            "pillow": PIL.__version__,
        } | ({"squash": True} if preprocessing.squash else {})
        return hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:24]

    @cached_property
    def _stores(self) -> dict[Preprocessing, CropStore]:
        """Open files, so each process has its own."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_stores"}
