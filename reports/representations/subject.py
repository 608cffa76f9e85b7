"""One analysed model, and the numbers of each image that its tables are made from."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class Subject(NamedTuple):
    """One model on some images, as they are or under one condition.

    Attributes:
        label: name in tables.
        model: its printed name.
        checkpoint_sha256: of its file.
        dataset: name of the data set.
        flags: what must be known about every number.
        images: ids of all images, in order.
        tables: by name of the analysis: ``image``, the columns that say of what a number is, and
            those of numbers; ``maps`` has those of attention that are drawn.
        under: id of the condition, such as ``pgd@1/255``; empty for the images as they are.
        averages_twice: whether layers of its network are twicing.
        crops: id of an image whose maps are there -> uint8 pixels (H, W, 3) that the network saw.
    """

    label: str
    model: str
    checkpoint_sha256: str
    dataset: str
    flags: Sequence[str]
    images: Sequence[str]
    tables: Mapping[str, pd.DataFrame]
    under: str = ""
    averages_twice: bool = False
    crops: Mapping[str, NDArray[np.uint8]] = MappingProxyType({})

    def flags_with(self, not_finite: int) -> str:
        """Flags of a row that leaves so many images out, whose tokens are no finite numbers."""
        flags = [f"non-finite-tokens-{not_finite}"] if not_finite else []
        return ";".join([*self.flags, *flags])
