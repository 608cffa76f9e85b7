"""timm's models; their names are timm's own."""

from typing import TYPE_CHECKING

from ..family import Family
from ..sizes import TimmSizes
from .declaration import declare

if TYPE_CHECKING:
    from torch import nn


def _timm(sizes: TimmSizes) -> "nn.Module":
    from ..timm_models import build_timm

    return build_timm(sizes)


declare(Family("timm", TimmSizes, _timm))
