"""Crops of a data set kept on disk, so that an image is decoded once for many runs."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import PIL
from PIL import Image

from ..errors import UserError
from ..preprocessing import Preprocessing
from .crop_store import CropStore, Stamp
from .dataset import Dataset, Pixels
from .files import FileImages

FORMAT = 1
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
        files: where the images are.
        folder: of the cache.
        fingerprint: of the data set.
    """

    files: FileImages
    folder: Path
    fingerprint: str

    def pixels(self, index: int, preprocessing: Preprocessing) -> Pixels:
        """The crop from the cache, else decoded and stored: uint8 (crop, crop, 3)."""
        try:
            status = self.files.found[index].path.stat()
        except OSError:
            return self.files.pixels(index, preprocessing)  # says what is wrong with the file
        store, stamp = self._store(preprocessing), Stamp(status.st_size, status.st_mtime_ns)
        found = store.read(index, stamp)
        if found is None:
            found = self.files.pixels(index, preprocessing)
            store.write(index, found, stamp)
        return found

    def picture(self, index: int) -> Image.Image:
        """As the files'; not kept."""
        return self.files.picture(index)

    def signature(self, index: int) -> str:
        """As the files'."""
        return self.files.signature(index)

    def select(self, indices: Sequence[int]) -> FileImages:
        """The files at these positions, without the cache, which is of a whole data set."""
        return self.files.select(indices)

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
            "border": self.files.border,
            "crop": preprocessing.crop,
            "resize": preprocessing.resize,
            "interpolation": preprocessing.interpolation,
            "pillow": PIL.__version__,
        }
        return hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:24]

    @cached_property
    def _stores(self) -> dict[Preprocessing, CropStore]:
        """Open files, so each process has its own."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in self.__dict__.items() if name != "_stores"}
