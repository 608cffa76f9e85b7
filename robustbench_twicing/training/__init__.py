"""Train the models of the table: `train`, and the recipes it follows."""

from .recipe import Recipe
from .recipes import RECIPES, choose_recipe
from .session import Trained, train

__all__ = ["RECIPES", "Recipe", "Trained", "choose_recipe", "train"]
