"""ImageNet-C's folder layout: where the file of an image lies, and what a folder is made of."""

from pathlib import Path, PurePosixPath
from typing import Any

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.folders.class_folders import UNLABELLED
from robustbench_twicing.data.imagenet import WNID, wnids
from robustbench_twicing.data.imagenet_c import CATEGORIES, SIDE
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.atomic import is_there
from robustbench_twicing.files.text import read_json

RECORD = "corrupted.json"
"""In a folder written by this suite: what it was made of. The official folders have none."""


def class_and_stem(data: Dataset, index: int) -> PurePosixPath:
    """``class/name`` of an image, without ending: its wnid where the classes are ImageNet's.

    An image that has no label and lies in no folder is of the class ``unlabelled``.

    Raises:
        UserError: images of several right labels do not lie in folders that tell their class.
    """
    path, label = PurePosixPath(data.ids[index]), data.labels[index]
    if data.several is not None:
        wnid = next((part for part in reversed(path.parts[:-1]) if WNID.fullmatch(part)), "")
        if not wnid:
            raise UserError(
                f"{data.name}: files of corrupted images lie in folders of one class each, and "
                f"{path} has several right labels; give --data with folders named by wnid"
            )
        return PurePosixPath(wnid, path.stem)
    if data.num_classes == len(wnids()):
        return PurePosixPath(wnids()[label], path.stem)
    flat = "unlabelled" if data.labelling == UNLABELLED else str(label)
    return PurePosixPath(path.parts[-2] if len(path.parts) > 1 else flat, path.stem)


def find_folder(root: Path, corruption: str, severity: int) -> Path | None:
    """``<root>/<corruption>/<severity>``, or the same below the category's folder.

    Returns:
        The folder; None where there is none.

    Raises:
        UserError: there are both.
    """
    below = Path(corruption, str(severity))
    places = [root / below, *(root / category / below for category in CATEGORIES)]
    folders = [place for place in places if place.is_dir()]
    if len(folders) > 1:
        raise UserError(f"{folders[0]} and {folders[1]} are the same condition; remove one of them")
    return folders[0] if folders else None


def read_record(root: Path) -> dict[str, Any] | None:
    """What a folder written by this suite was made of; None for any other.

    Its ``code_sha256`` has the code of users' own corruptions, by name.

    Raises:
        UserError: the record is damaged.
    """
    file = root / RECORD
    if not is_there(file):
        return None
    return parse_record(read_json(file, "make the folder again"), file)


def parse_record(values: Any, file: Path | str) -> dict[str, Any]:
    """What such a note says, checked.

    Args:
        values: as JSON gives them.
        file: where they stand, for messages.

    Raises:
        UserError: it is damaged.
    """
    if not isinstance(values, dict) or "jpeg" not in values:
        raise UserError(f"{file} is damaged (it does not say jpeg); make the folder again")
    side = values.get("side", SIDE)
    if type(side) is not int or side < 1:
        raise UserError(f"{file} is damaged (side {side!r}); make the folder again")
    code = values.get("code_sha256", {})
    if not isinstance(code, dict) or not all(isinstance(sha256, str) for sha256 in code.values()):
        raise UserError(f"{file} is damaged (code_sha256 {code!r}); make the folder again")
    return {**values, "side": side, "jpeg": bool(values["jpeg"]), "code_sha256": code}
