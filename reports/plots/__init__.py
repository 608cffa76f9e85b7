"""Pictures: functions that draw on the axes they are given, and what makes files of them."""

from .corruption_bars import corruption_bars
from .corruption_map import corruption_map
from .curves import attack_title, budget_curve
from .forest import difference_forest, forest_pictures
from .lettering import styled
from .panel import outside_legend
from .picture import Picture, in_column, save_pictures
from .pictures import pictures

__all__ = [
    "Picture",
    "attack_title",
    "budget_curve",
    "corruption_bars",
    "corruption_map",
    "difference_forest",
    "forest_pictures",
    "in_column",
    "outside_legend",
    "pictures",
    "save_pictures",
    "styled",
]
