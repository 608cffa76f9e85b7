"""What run.json says of a condition beyond plain values, and how it is read back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from ..data.image_maker import ImageSource, RecordedImages
from ..data.imagenet_c import SIDE


@dataclass(frozen=True)
class About:
    """What reports need to know of a condition; recorded beside it, and never part of its identity.

    Attributes:
        title: the attack as papers write it; ``{steps}`` stands for its constant: ``PGD-{steps}``.
            Empty: its name.
        one_step: it takes one step of the whole budget.
        iterated: it climbs by many steps what FGSM climbs by one, so that FGSM must not beat it.
        gradient_free: it finds what gradients do not show, wholly or in one of its parts.
        control: random changes, which every attack must beat.
        finds_radius: it has no budget: of each image it looks for the nearest adversarial example,
            whose distance is the result.
        targeted: it moves each image towards one class, its goal, and is judged by the images that
            are taken for it; an image may well stay right.
        group: of a corruption: what kind of change it is. It decides nothing: mCE counts fifteen of
            ImageNet-C's names, whatever their group.
        few_classes: by flag, the number of classes below which a part of the attack does not exist
            and is left out, with this flag.
    """

    title: str = ""
    one_step: bool = False
    iterated: bool = False
    gradient_free: bool = False
    control: bool = False
    finds_radius: bool = False
    targeted: bool = False
    group: str = ""
    few_classes: Mapping[str, int] = field(default_factory=dict)


RECORDED_BUDGET = r"[0-9]{1,2000}(/0*[1-9][0-9]{0,1999})?"
"""How run.json writes a budget: an exact fraction. Python would count up to any power of ten."""


def _read_budget(value: Any) -> Fraction:
    if not isinstance(value, str) or not re.fullmatch(RECORDED_BUDGET, value):
        raise ValueError("it is no fraction like 4/255")
    return Fraction(value)


def _read_images(value: Any) -> ImageSource | None:
    if value is None:
        return None
    if isinstance(value, dict) and isinstance(value.get("source"), str):
        side = value.get("side", SIDE)
        if isinstance(side, int) and 0 <= side < 2**31:
            return RecordedImages(value)
    raise ValueError("it does not say which images are shown, and at which side")


Budget = Annotated[Fraction, PlainValidator(_read_budget), PlainSerializer(str)]
RecordedSource = Annotated[
    ImageSource | None,
    PlainValidator(_read_images),
    PlainSerializer(lambda source: None if source is None else source.describe()),
]
