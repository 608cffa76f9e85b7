"""Continuing a run: the images must still be those of the finished parts."""

from collections.abc import Iterator

from ..data.dataset import Dataset
from ..data.decoding import BadImageError
from ..data.loader import pixels_hash
from ..data.preprocessing import Preprocessing
from ..errors import UserError
from ..records.manifest import Evaluation
from ..records.run_folder import RunFolder

PARTS = 8
"""How many finished parts are looked into: one decoded image each."""


def check_same_images(
    folder: RunFolder, evaluation: Evaluation, data: Dataset, preprocessing: Preprocessing
) -> None:
    """Decode one image of some finished parts again and compare its pixels with the record.

    The fingerprint of a folder knows names and sizes of files; an image that was replaced by one
    of the same size shows only in its pixels.

    Raises:
        UserError: an image whose pixels are not those that were evaluated.
    """
    for index, recorded in _recorded(folder, evaluation):
        try:
            found = pixels_hash(data.pixels(index, preprocessing))
        except BadImageError:
            found = "unreadable"
        if found != recorded:
            raise UserError(
                f"{folder.path} was made with other images: {data.ids[index]} of {data.name} is "
                "not what it was; put the images back, or use another --out"
            )


def _recorded(folder: RunFolder, evaluation: Evaluation) -> Iterator[tuple[int, str]]:
    """Positions and pixel hashes, one of every part that is looked into.

    Of conditions that show the images themselves.
    """
    shown = [each["id"] for each in folder.manifest.conditions if each.get("images") is None]
    missing = set(folder.missing(evaluation))
    there = [part for part in range(folder.part_count(evaluation)) if part not in missing]
    for part in there[:: max(1, len(there) // PARTS)][:PARTS]:
        rows = folder.part_records(evaluation, part).dropna(subset=["pixels_sha256"])
        rows = rows[rows["condition"].isin(shown)]
        if len(rows):
            yield int(rows["index"].iloc[0]), str(rows["pixels_sha256"].iloc[0])
