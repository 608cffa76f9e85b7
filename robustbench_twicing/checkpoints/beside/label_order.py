"""``id2label`` of a config.json: whether a network's classes stand in ImageNet's order."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...data.imagenet import NUM_CLASSES, wnid_to_index
from ...errors import UserError

_NAMELESS = re.compile(r"LABEL_\d+|\d+")
"""What transformers writes where nobody named the classes."""


UNNAMED = "classes-unnamed"
"""Flag of a network of 1000 classes whose order nothing tells."""


class Order(NamedTuple):
    """What is known of the order of a network's classes: a sentence, or none, and flags."""

    note: str = ""
    flags: tuple[str, ...] = ()


def check_labels(names: Mapping[Any, Any], file: Path) -> Order:
    """Compare the names of a network's classes with ImageNet-1k's.

    Args:
        names: index, as JSON has it, to name; of a network of any number of classes.
        file: that says it, for errors.

    Returns:
        For the record; nothing where there are not ImageNet-1k's 1000 classes.

    Raises:
        UserError: indices that are not 0, 1, 2, ...; a class of ImageNet-1k at another's place.
    """
    if set(map(str, names)) != {str(index) for index in range(len(names))}:
        raise UserError(f"{file}: id2label does not name the classes 0 to {len(names) - 1}")
    if len(names) != NUM_CLASSES:
        return Order()
    texts = [str(names[index if index in names else str(index)]) for index in range(len(names))]
    if all(_NAMELESS.fullmatch(text) for text in texts):
        return _unknown(f"{file.name} names no classes")
    right = 0
    for index, text in enumerate(texts):
        places = _places(text)
        if places and index not in places:
            raise UserError(
                f"{file}: class {index} is {text!r}, which is ImageNet's {min(places)}: the "
                "classes are in another order than ImageNet's labels; bring the head's rows and "
                "id2label into it"
            )
        right += index in places
    if not right:
        return _unknown(f"{file.name} names classes as ImageNet does not ({texts[0]!r}, ...)")
    return Order(
        f"{file.name} names the classes in ImageNet's order ({right} of {NUM_CLASSES} known)."
    )


def _unknown(why: str) -> Order:
    return Order(f"{why}; that they stand in ImageNet's order is assumed.", (UNNAMED,))


def _places(text: str) -> set[int]:
    """ImageNet's indices that a name stands for; none for a name that is unknown here."""
    if text.strip() in wnid_to_index():
        return {wnid_to_index()[text.strip()]}
    whole = _by_name().get(_plain(text), set())
    return whole or {
        place for part in text.split(",") for place in _by_name().get(_plain(part), ())
    }


@cache
def _by_name() -> Mapping[str, set[int]]:
    """The names that WordNet gives to each class, together and one by one, to its indices."""
    from timm.data.imagenet_info import ImageNetInfo

    info, places = ImageNetInfo("imagenet-1k"), dict[str, set[int]]()
    for index in range(NUM_CLASSES):
        described = info.index_to_description(index)
        for name in {described, *described.split(",")}:
            places.setdefault(_plain(name), set()).add(index)
    return places


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()
