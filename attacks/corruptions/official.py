"""ImageNet-C's images from files: the official ones, or those that `write_folder` made."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.decoding import BadImageError, read_rgb
from robustbench_twicing.data.folders.scanning import IMAGE_ENDINGS
from robustbench_twicing.data.imagenet_c import OFFICIAL, SIDE, Cell
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import MissingImageError, UnreadableError, UserError

from .generated import source_name
from .imaging.pixels import Pixels
from .layout import class_and_stem, find_folder, read_record


@dataclass(frozen=True)
class OfficialImages:
    """One corruption at one severity, as an image source: see `ImageSource`.

    The files of one condition are matched with the clean images by class and name.

    Attributes:
        root: the folder of all conditions.
        cell: corruption and severity.
        folder: with ``<wnid>/<image>``; None where the download has none for this condition.
        source: ``official``, or how the files were generated, where their folder says so.
        side: pixels a side of the files.
        files: how many image files there are.
        listing_sha256: of their names.
        endings: of their names.
        code_sha256: of a user's own corruption that this suite made them with; else empty.
    """

    root: Path
    cell: Cell
    folder: Path | None
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
        path = self._find(name)
        if path is None:
            self._check_folder()
            place = self.folder or f"{self.root} has no folder for {self.cell.id}"
            raise MissingImageError(f"{place}: {name} is not there")
        image = read_rgb(path)
        if image.size != (self.side, self.side):
            width, height = image.size
            right = f"{self.side} x {self.side}"
            raise BadImageError(
                path, f"is {width} x {height} pixels, not {right} as in this folder"
            )
        return preprocessing.fit(image)

    def _find(self, name: PurePosixPath) -> Path | None:
        if self.folder is None:
            return None
        paths = (self.folder / f"{name}{ending}" for ending in self.endings)
        return next((path for path in paths if path.is_file()), None)

    def _check_folder(self) -> None:
        """Where the whole folder went away, no image is missing from it."""
        if self.folder is None or not self.files:
            return
        try:
            empty = not any(self.folder.iterdir())
        except OSError as error:
            raise UnreadableError(f"{self.folder} cannot be read: {error.strerror}") from error
        if empty:
            raise UnreadableError(
                f"{self.folder} had {self.files} images when it was opened and is empty now"
            )

    def missing(self, data: Dataset) -> int:
        """How many images of ``data`` have no file here."""
        present = {name.rpartition(".")[0] for name in _names(self.folder)}
        names = (str(class_and_stem(data, index)) for index in range(len(data)))
        return sum(name not in present for name in names)

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
        root: with ``<corruption>/<severity>/<wnid>/*``, or the same below ``<category>/``.
        cell: corruption and severity.

    Raises:
        UserError: ``root`` is no folder, or has the condition or one of its images twice.
    """
    if not root.is_dir():
        raise UserError(f"--imagenet-c {root} is not a folder; give the one that holds fog/1, ...")
    record = read_record(root)
    folder = find_folder(root, *cell)
    digest, endings, stems = hashlib.sha256(), set[str](), dict[str, str]()
    for name in _names(folder):
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
        OFFICIAL if record is None else source_name(jpeg=record["jpeg"]),
        SIDE if record is None else record["side"],
        len(stems),
        digest.hexdigest(),
        tuple(sorted(endings)),
        "" if record is None else record["code_sha256"].get(cell.corruption, ""),
    )


def _names(folder: Path | None) -> Iterator[str]:
    """``class/file`` of every image in the class folders, in order of their names."""
    groups = [] if folder is None else [entry for entry in os.scandir(folder) if entry.is_dir()]
    for group in sorted(groups, key=lambda entry: entry.name):
        for name in sorted(entry.name for entry in os.scandir(group)):
            hidden = group.name.startswith(".") or name.startswith(".")
            if Path(name).suffix.lower() in IMAGE_ENDINGS and not hidden:
                yield f"{group.name}/{name}"
