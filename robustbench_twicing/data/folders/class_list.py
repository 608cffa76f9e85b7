"""A user's own classes: a text file with one folder name a line, or JSON name -> index."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...files.printable import name_some
from ...files.text import read_text
from ..dataset import Remark
from ..imagenet import WNID

RIGHT_FORM = "right is a text file with one folder name a line, or JSON like {'cat': 0, 'dog': 1}"

MOST_CLASSES = 10**6
"""Indices beyond this are a mistake, and would not fit into a record."""


@dataclass(frozen=True)
class OwnClasses:
    """Class names and their indices.

    Attributes:
        indices: name to class index; several names may share one.
        source: the file's name, for messages.
        num_classes: length of the label space; None where the indices leave gaps, because then
            the list does not tell how many logits the model has.
    """

    indices: Mapping[str, int]
    source: str
    num_classes: int | None


def read_classes(path: Path) -> OwnClasses:
    """Read a class list; in a text file a name's line number, from 0, is its index.

    Lines of a wnid and a description (``n01440764 tench, Tinca tinca``) count as the wnid.

    Raises:
        UserError: not readable, empty, a name twice, or JSON of another form.
    """
    text = read_text(path)
    if path.suffix.lower() == ".json":
        indices = _from_json(text, path)
    else:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if all(WNID.fullmatch(line.split()[0]) for line in lines):
            lines = [line.split()[0] for line in lines]
        indices = _numbered(lines, path)
    if not indices:
        raise UserError(f"{path} holds no class names; {RIGHT_FORM}")
    gapless = set(indices.values()) == set(range(len(set(indices.values()))))
    return OwnClasses(indices, path.name, max(indices.values()) + 1 if gapless else None)


def order_of_wnids(classes: OwnClasses) -> Iterator[Remark]:
    """A remark where wnids are numbered in another order than their own, the usual one."""
    wnids = [name for name in sorted(classes.indices) if WNID.fullmatch(name)]
    numbers = [classes.indices[name] for name in wnids]
    if numbers != sorted(numbers):
        yield Remark(
            "wnids-unsorted",
            f"{classes.source} does not number its wnids in sorted order, in which torchvision and "
            "timm count classes: right only for a network that was trained in this order",
        )


def _numbered(names: list[Any], path: Path) -> dict[str, int]:
    indices: dict[str, int] = {}
    for index, name in enumerate(names):
        if not isinstance(name, str):
            raise UserError(f"{path}: entry {index} is {name!r}, not a name; {RIGHT_FORM}")
        if name in indices:
            raise UserError(f"{path} names class {name!r} twice; every class has one line")
        indices[name] = index
    return indices


def _from_json(text: str, path: Path) -> dict[str, int]:
    def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(name for name, _ in pairs)
        repeated = sorted(name for name, number in counts.items() if number > 1)
        if repeated:
            raise UserError(f"{path} names class {repeated[0]!r} twice; every class has one entry")
        return dict(pairs)

    try:
        content = json.loads(text, object_pairs_hook=refuse_repeats)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}); {RIGHT_FORM}") from error
    if isinstance(content, list):
        return _numbered(content, path)
    if not isinstance(content, dict):
        raise UserError(f"{path} holds a {type(content).__name__}; {RIGHT_FORM}")
    wrong = [
        name
        for name, index in content.items()
        if type(index) is not int or not 0 <= index < MOST_CLASSES
    ]
    if wrong:
        raise UserError(
            f"{path}: {len(wrong)} of {len(content)} entries are not a class index 0, 1, 2, ... "
            f"({name_some(f'{name!r}: {content[name]!r}' for name in wrong)}); {RIGHT_FORM}"
        )
    return content
