"""Whether the images of finished parts are what they were."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from ...conditions.condition import Condition
from ...data.image_maker import ImageRequest, Maker
from ...data.loader import pixels_hash
from ...errors import UserError
from ...files.memory import keep, recall
from ...files.source_code import suite_sha256
from ...files.stamp import are_settled, stamp_of
from ...records.manifest import Evaluation
from ...records.run_folder import RunFolder

PARTS = 8
"""How many finished parts are looked into: one decoded image each."""


def check_same_images(
    folder: RunFolder, evaluation: Evaluation, maker: Maker, conditions: Sequence[Condition]
) -> None:
    """Decode one image of some finished parts again and compare its pixels with the record.

    The fingerprint of a folder knows names and sizes of files; an image that was replaced by one
    of the same size shows only in its pixels. Of every condition whose images are files, which are
    known by their names, one image of the first of these parts is decoded, too.

    Args:
        folder: of the run.
        evaluation: as in its manifest.
        maker: of the images.
        conditions: of the evaluation.

    Raises:
        UserError: an image whose pixels are not those that were evaluated.
    """
    ids = {condition.id: condition.key for condition in conditions if _shows_files(condition)}
    for index, condition, recorded in _recorded(folder, evaluation, ids):
        (image,) = maker.make(ImageRequest(ids.get(condition), [index]))
        now = "unreadable" if isinstance(image, Exception) else pixels_hash(image)
        if now != recorded:
            under = f" under {condition}" if condition in ids else ""
            raise UserError(
                f"{folder.path} was made with other images: {maker.data.ids[index]} of "
                f"{maker.data.name}{under} is not what it was; put the images back, or use another "
                "--out"
            )


def _shows_files(condition: Condition) -> bool:
    return condition.images is not None and "listing_sha256" in condition.images.describe()


class _Recorded(NamedTuple):
    """What the record of one image under one condition says."""

    position: int
    condition: str
    pixels_sha256: str


def _recorded(folder: RunFolder, evaluation: Evaluation, files: Collection[str]) -> list[_Recorded]:
    """One image of every part that is looked into, as long as the files stay what they are.

    Under conditions that show the images themselves; in the first part, under ``files``, too.
    """
    missing = set(folder.missing(evaluation))
    finished = [part for part in range(folder.part_count(evaluation)) if part not in missing]
    last, most = len(finished) - 1, max(1, PARTS - 1)
    some = sorted({finished[last * number // most] for number in range(most + 1) if finished})
    holding = [file for file in folder.files(evaluation) if not set(some).isdisjoint(file.parts)]
    stamps = [stamp_of(file.path) for file in holding]
    names = [
        (file.path.name, folder.belongs_to(evaluation, file.holds), str(file.parts))
        for file in holding
    ]
    subject = f"images of {folder.parts_folder(evaluation).resolve()}"
    state = [suite_sha256(), names, stamps, some, sorted(files)]
    remembered = recall(subject, state)
    if remembered is not None:
        return [_Recorded(*one) for one in remembered]
    recorded = list(_read(folder, evaluation, some, files))
    if are_settled(stamps):
        keep(subject, state, recorded)
    return recorded


def _read(
    folder: RunFolder, evaluation: Evaluation, some: Sequence[int], files: Collection[str]
) -> Iterator[_Recorded]:
    shown = [one.id for one in folder.manifest.conditions if one.images is None]
    for part, records in folder.some_parts(evaluation, some):
        rows = records.table.to_pandas().dropna(subset=["pixels_sha256"])
        looked_into = [rows[rows["condition"].isin(shown)].head(1)]
        if part == some[0]:
            looked_into += [rows[rows["condition"] == name].head(1) for name in files]
        for row in pd.concat(looked_into).to_dict("records"):
            yield _Recorded(int(row["index"]), str(row["condition"]), str(row["pixels_sha256"]))
