"""Read the files in ObjectNet's ``mappings/``: from its folders to class indices of ImageNet-1k."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UserError
from ..files.text import read_json, read_text
from .imagenet import NUM_CLASSES
from .scanning import name_some

MAPPINGS = "mappings"
FOLDERS_FILE = "folder_to_objectnet_label.json"
"""Folder name to ObjectNet's label."""
IMAGENET_FILE = "objectnet_to_imagenet_1k.json"
"""Label to the names of ImageNet's classes, separated by ``;``; overlapping labels only."""
INDEX_FILE = "pytorch_to_imagenet_2012_id.json"
"""Class index 0 to 999, as every model has it, to the position in ILSVRC2012's own order."""
NAMES_FILE = "imagenet_to_label_2012_v2"
"""One class name a line, in ILSVRC2012's own order."""


class Mapping(NamedTuple):
    """ObjectNet's classes.

    Attributes:
        folders: every folder's label.
        logits: of the folders that are classes of ImageNet, its class indices.
        notes: sentences a reader must know.
    """

    folders: dict[str, str]
    logits: dict[str, tuple[int, ...]]
    notes: tuple[str, ...] = ()

    @property
    def overlap(self) -> tuple[str, ...]:
        """The folders that are classes of ImageNet, sorted."""
        return tuple(sorted(self.logits))


def read_mapping(root: Path) -> Mapping:
    """Read the mapping.

    Raises:
        UserError: a file is missing or of another form, or the files contradict each other.
    """
    folders = _texts(root / FOLDERS_FILE)
    names = _texts(root / IMAGENET_FILE)
    known, notes = _indices(root)
    by_label = {label: folder for folder, label in folders.items()}
    strange = sorted(set(names) - set(by_label))
    if strange:
        raise UserError(
            f"{root / IMAGENET_FILE} maps labels that {FOLDERS_FILE} gives no folder: "
            f"{name_some(strange)}"
        )
    logits = {
        by_label[label]: tuple(_index(name, known, root) for name in _split(text))
        for label, text in names.items()
        if _split(text)
    }
    counts = Counter(index for indices in logits.values() for index in indices)
    twice = sorted(index for index, number in counts.items() if number > 1)
    if twice:
        raise UserError(f"{root / IMAGENET_FILE} gives class {twice[0]} of ImageNet two labels")
    return Mapping(folders, logits, notes)


def _indices(root: Path) -> tuple[dict[str, list[int]], tuple[str, ...]]:
    """Class indices by class name; a name that two classes share has both."""
    found: dict[str, list[int]] = {}
    if not (root / NAMES_FILE).exists():
        from timm.data.imagenet_info import ImageNetInfo

        info = ImageNetInfo("imagenet-1k")
        for index in range(NUM_CLASSES):
            found.setdefault(info.index_to_description(index), []).append(index)
        return found, (f"{NAMES_FILE} is missing; class names are those of timm's list",)
    names = [line.strip() for line in read_text(root / NAMES_FILE).splitlines()]
    for index, position in _positions(root / INDEX_FILE).items():
        if position >= len(names):
            raise UserError(
                f"{root / INDEX_FILE}: class {index} is position {position}, but {NAMES_FILE} has "
                f"{len(names)} lines"
            )
        found.setdefault(names[position], []).append(index)
    return found, ()


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(";") if name.strip()]


def _index(name: str, known: dict[str, list[int]], root: Path) -> int:
    indices = known.get(name, [])
    if len(indices) != 1:
        many = f"means classes {' and '.join(map(str, indices))}" if indices else "is no class"
        raise UserError(f"{root / IMAGENET_FILE}: {name!r} {many} of ImageNet-1k by {NAMES_FILE}")
    return indices[0]


def _positions(path: Path) -> dict[int, int]:
    content = _json(path)
    right = all(
        key.isdecimal() and int(key) < NUM_CLASSES and type(value) is int and value >= 0
        for key, value in content.items()
    )
    if not right:
        raise UserError(f"{path} is not a mapping of class indices 0 to 999 to positions")
    return {int(key): value for key, value in content.items()}


def _texts(path: Path) -> dict[str, str]:
    content = _json(path)
    if not all(isinstance(value, str) for value in content.values()):
        raise UserError(f"{path} is not a mapping of names to names")
    return content


def _json(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict) or not content:
        raise UserError(f"{path} is not a JSON object with entries")
    return content
