"""ImageNet-C's images from files: the official ones, or those that `write_folder` made."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.decoding import BadImageError, read_header, read_rgb
from robustbench_twicing.data.imagenet_c import OFFICIAL, OTHER_SETS, SIDE, Cell
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import MissingImageError, UserError

from .cell_files import ArrayFiles, CellFiles, find_files
from .generated import source_name
from .imaging.pixels import Pixels
from .layout import class_and_stem

CIFAR_C = "cifar-c"
"""The source of images from arrays of CIFAR-10-C or -100-C."""
LOOKED_AT = 3
"""Files of a condition whose size is known before any is read."""


@dataclass(frozen=True)
class OfficialImages:
    """One corruption at one severity, as an image source: see `ImageSource`.

    The files of one condition are matched with the clean images by class and name.

    Attributes:
        root: the folder of all conditions, or of their archives.
        cell: corruption and severity.
        folder: of ``<wnid>/<image>``; None where the download has none for this condition.
        source: ``official``, the name of another set, or how the files were generated, where their
            folder says so.
        side: pixels a side of the files.
        files: how many image files there are.
        listing_sha256: of their names.
        endings: of their names.
        code_sha256: of a user's own corruption that this suite made them with; else empty.
    """

    root: Path
    cell: Cell
    folder: CellFiles | None
    source: str
    side: int
    files: int
    listing_sha256: str
    endings: tuple[str, ...]
    code_sha256: str = ""

    def pixels(
        self, data: Dataset, index: int, preprocessing: Preprocessing, *, seed: int
    ) -> Pixels:
        """The file of image ``index``, fitted to the model's input size; nothing is cropped."""
        name = class_and_stem(data, index)
        stored = None if self.folder is None else self.folder.find(str(name), self.endings)
        if stored is None:
            if self.folder is not None:
                self.folder.check(self.files)
            place = self.folder or f"{self.root} has no folder for {self.cell.id}"
            raise MissingImageError(f"{place}: {name} is not there")
        image = read_rgb(stored)
        whole = image.size == (self.side, self.side)
        if whole and (self.source != CIFAR_C or self.side == preprocessing.crop):
            return preprocessing.fit(image)
        if self.source in (*OTHER_SETS, CIFAR_C):  # as the clean images
            return preprocessing.pixels(image)
        width, height = image.size
        right = f"{self.side} x {self.side}"
        raise BadImageError(stored, f"is {width} x {height} pixels, not {right} as in this folder")

    def missing(self, data: Dataset) -> int:
        """How many images of ``data`` have no file here."""
        present = {name.rpartition(".")[0] for name in self.folder.names()} if self.folder else ()
        names = (str(class_and_stem(data, index)) for index in range(len(data)))
        return sum(name not in present for name in names)

    def other_size(self) -> str:
        """The size of its first files, like ``299 x 299``, if none is of its `side`; else empty.

        One that is no image is no matter here.
        """
        if self.folder is None or self.source in (*OTHER_SETS, CIFAR_C):
            return ""
        size = ""
        for name in self.folder.names()[:LOOKED_AT]:
            stored = self.folder.find(name.rpartition(".")[0], self.endings)
            try:
                width, height, *_ = read_header(stored) if stored else (self.side, self.side)
            except BadImageError:
                return ""
            if (width, height) == (self.side, self.side):
                return ""
            size = f"{width} x {height}"
        return size

    def describe(self) -> dict[str, Any]:
        """What decides the pixels; the folder may be moved, not changed."""
        return {
            "source": self.source,
            **self.cell._asdict(),
            "side": self.side,
            "files": self.files,
            "listing_sha256": self.listing_sha256,
        }


def open_official(root: Path, cell: Cell) -> OfficialImages:
    """The files of one condition below ``root``; nothing is decoded.

    A folder that this suite wrote says so in ``corrupted.json``: its images are called generated.

    Args:
        root: see `find_files`.
        cell: corruption and severity.

    Raises:
        UserError: ``root`` is neither a folder nor a tar archive, or has the condition or one of
            its images twice.
    """
    if not (root.is_dir() or (root.is_file() and root.suffix.lower() == ".tar")):
        raise UserError(
            f"--imagenet-c {root} is not a folder or a .tar; give the one that holds fog/1, ..., "
            "or the folder of the archives"
        )
    folder, record = find_files(root, cell)
    digest, endings, stems = hashlib.sha256(), set[str](), dict[str, str]()
    for name in folder.names() if folder is not None else ():
        digest.update(name.encode() + b"\n")
        stem, _, ending = name.rpartition(".")
        endings.add(f".{ending}")
        if stem in stems:
            raise UserError(
                f"{folder} has {stems[stem]} and {name}, which are the same image; remove one"
            )
        stems[stem] = name
    return OfficialImages(
        root,
        cell,
        folder,
        _source(cell, folder) if record is None else source_name(jpeg=record["jpeg"]),
        folder.side if isinstance(folder, ArrayFiles) else (record or {}).get("side", SIDE),
        len(stems),
        digest.hexdigest(),
        tuple(sorted(endings)),
        "" if record is None else record["code_sha256"].get(cell.corruption, ""),
    )


def _source(cell: Cell, folder: CellFiles | None) -> str:
    if isinstance(folder, ArrayFiles):
        return CIFAR_C
    return cell.prefix if cell.prefix in OTHER_SETS else OFFICIAL
