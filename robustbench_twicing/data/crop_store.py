"""One file of finished crops, each with what tells whether it may still be used."""

import errno
import logging
import os
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .dataset import Pixels

log = logging.getLogger(__name__)
CROPS, ENTRIES = "crops.bin", "entries.bin"
PAGE = 4096
"""Bytes; every crop begins at a multiple, and the rest up to the next one is zero."""
_ENTRY = struct.Struct("<qqQ")
_SALT = 0x5EED


class Stamp(NamedTuple):
    """How an image file is recognised: its size in bytes, its last change in nanoseconds."""

    size: int
    changed: int


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
        if tuple(stored) != stamp:
            return None
        padded = np.empty(self._stride, np.uint8)
        length = os.preadv(crops, [padded.data], index * self._stride)
        if length < self._stride or _checksum(padded) != checksum:
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
            entry = _ENTRY.pack(*stamp, _checksum(padded))
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


def _checksum(padded: Pixels) -> int:
    """Sum of the 64-bit words: a flipped bit, a page of zeros or another crop changes it.

    Of zeros it is not zero, which is what stands where nothing was stored.
    """
    return int(padded.view(np.uint64).sum(dtype=np.uint64)) ^ _SALT


def _write_all(descriptor: int, content: bytes, offset: int) -> None:
    written = os.pwrite(descriptor, content, offset)
    if written != len(content):  # what a disk that runs full does first
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
