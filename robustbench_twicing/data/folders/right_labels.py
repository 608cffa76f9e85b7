"""JSON of all right labels of each image: ImageNet's reassessed ones, or others by image name.

Beyer et al. (arXiv 2006.07159) asked people anew which of ImageNet's 1000 classes are on the images
of its validation set; their ``real.json`` is a list of a list for every image, some of them empty.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...files.printable import count, one_line
from ...files.text import read_text
from ..imagenet import NUM_CLASSES
from .class_list import MOST_CLASSES, OwnClasses
from .label_file import Label

IMAGES = 50_000
"""Of ImageNet's validation set."""
RIGHT_FORM = (
    f"right are ImageNet's reassessed labels, a list of {IMAGES:,} lists of class indices, or JSON "
    "like {'a.jpg': [3, 7], 'b.jpg': []}"
)
Labels = tuple[Label[tuple[int, ...]], ...]


def read_right_labels(path: Path, classes: OwnClasses | None = None) -> Labels | None:
    """All right labels of images by name, ascending; empty ones are of images without a label.

    Args:
        path: a label file.
        classes: own classes, whose indices they are; else ImageNet's, 0 to 999.

    Returns:
        None where the file is no JSON object or list; it may be lines of names and labels.

    Raises:
        UserError: JSON of another form, or labels that are no classes.
    """
    return None if path.is_dir() else parse_right_labels(read_text(path), path, classes)


def parse_right_labels(text: str, path: Path, classes: OwnClasses | None = None) -> Labels | None:
    """Labels from the text of a file; see `read_right_labels`."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        content = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        if path.suffix.lower() != ".json":
            return None  # a picture may be called [1].jpg
        raise UserError(f"{path} is not JSON ({error}); {RIGHT_FORM}") from error
    return tuple(_labels(content, path, classes))


def hash_labels(labels: Labels) -> str:
    """SHA-256 of names and labels, whatever file they are from."""
    values = sorted((label.name, label.target) for label in labels)
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it is written, be it with a name twice; no list of JSON."""


def _labels(
    content: Any, path: Path, classes: OwnClasses | None
) -> Iterator[Label[tuple[int, ...]]]:
    if isinstance(content, _Pairs):
        name, number = (
            Counter(name for name, _ in content).most_common(1)[0] if content else ("", 1)
        )
        if number > 1:
            raise UserError(f"{path} names {name!r} twice; every image has one entry")
    elif len(content) != IMAGES or classes is not None:
        why = "is ImageNet's; leave --classes out" if classes else f"has {IMAGES:,}"
        raise UserError(
            f"{path} is a list of {count(len(content), 'entry', 'entries')}, and one in the order "
            f"of the validation set {why}; {RIGHT_FORM}"
        )
    else:
        content = [
            (f"ILSVRC2012_val_{number:08d}", right) for number, right in enumerate(content, 1)
        ]
    if not content:
        raise UserError(f"{path} names no image; {RIGHT_FORM}")
    most = NUM_CLASSES if classes is None else classes.num_classes or MOST_CLASSES
    for number, (name, right) in enumerate(content, 1):
        if not _are_classes(right, most):
            short = one_line(repr(right), 60)
            raise UserError(
                f"{path}: the labels of {name!r} are {short}, and not a list of class indices 0 to "
                f"{most - 1}, each once; {RIGHT_FORM}"
            )
        yield Label(number, name, tuple(sorted(right)), classes is None)


def _are_classes(right: Any, most: int) -> bool:
    return (
        type(right) is list
        and all(type(label) is int and 0 <= label < most for label in right)
        and len(set(right)) == len(right)
    )
