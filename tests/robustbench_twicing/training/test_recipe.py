"""Recipes: values are checked, changes are named, the hash covers everything."""

from dataclasses import fields, replace
from typing import Any

import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.training.recipe import Recipe
from robustbench_twicing.training.recipes import RECIPES, choose_recipe


def test_the_preset_for_imagenet_is_the_paper_s_and_deit_s() -> None:
    recipe = RECIPES["deit"]
    said_by_the_paper = (
        (recipe.epochs, 300),
        (recipe.lr, 5e-4),
        (recipe.batch_size, 256),
        (recipe.warmup_epochs, 5),
        (recipe.warmup_lr, 1e-6),
        (recipe.color_jitter, 0.4),
    )
    deit_s = (
        (recipe.optimizer, "adamw"),
        (recipe.weight_decay, 0.05),
        (recipe.min_lr, 1e-5),
        (recipe.label_smoothing, 0.1),
        (recipe.auto_augment, "rand-m9-mstd0.5-inc1"),
        (recipe.mixup, 0.8),
        (recipe.cutmix, 1.0),
        (recipe.erase_prob, 0.25),
        (recipe.drop_path, 0.1),
        (recipe.ema_decay, 0.99996),
        (recipe.repeats, 3),
    )
    for found, expected in (*said_by_the_paper, *deit_s):
        assert found == expected


def test_changes_stand_in_the_name_and_in_the_hash() -> None:
    recipe = choose_recipe("deit", ["epochs=2", "auto_augment=", "step_on_epochs=false", "lr=1e-3"])
    assert (recipe.epochs, recipe.auto_augment, recipe.step_on_epochs) == (2, "", False)
    assert recipe.name == "deit+epochs=2+auto_augment=+step_on_epochs=False+lr=0.001"
    assert recipe.sha256() != RECIPES["deit"].sha256()
    assert choose_recipe("deit") is RECIPES["deit"]


def test_a_value_that_is_the_recipe_s_own_changes_nothing() -> None:
    assert choose_recipe("deit", ["epochs=300"]) == RECIPES["deit"]


OTHER_WORDS = {
    "name": "other",
    "optimizer": "adamw",
    "interpolation": "bicubic",
    "auto_augment": "rand-m9",
    "precision": "fp32",
    "attention": "auto",
    "step_on_epochs": True,
}


@pytest.mark.parametrize("field", [each.name for each in fields(Recipe)])
def test_every_field_changes_the_hash(field: str) -> None:
    recipe = RECIPES["fmnist"]
    number = 4 if isinstance(getattr(recipe, field), int) or field == "crop_ratio" else 0.25
    other: dict[str, Any] = {field: OTHER_WORDS.get(field, number)}
    changed = replace(recipe, **other)
    assert changed.sha256() != recipe.sha256()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("epoch=3", "no 'epoch'. Did you mean 'epochs'"),
        ("epochs", "'' is not a whole number"),
        ("epochs=2.5", "'2.5' is not a whole number"),
        ("epochs=0", "epochs is 0; it must be 1 or more"),
        ("lr=fast", "'fast' is not a number"),
        ("lr=0", "lr is 0.0; it must be above 0"),
        ("lr=nan", "lr is nan; it must be above 0"),
        ("weight_decay=-1", "weight_decay is -1.0; it must be 0 or more"),
        ("warmup_epochs=inf", "warmup_epochs is inf; it must be 0 or more"),
        ("drop_path=1", "drop_path is 1.0; it must be at least 0 and below 1"),
        ("hflip=2", "hflip is 2.0; it must be between 0 and 1"),
        ("crop_scale=0", "crop_scale is 0.0; it must be above 0"),
        ("crop_ratio=0.5", "crop_ratio is 0.5; it must be 1 or more"),
        ("step_on_epochs=yes", "'yes' is neither true nor false"),
        ("interpolation=cubic", "must be one of nearest, bilinear, bicubic, lanczos"),
        ("optimizer=sgd", "must be one of adamw, muon"),
        ("precision=fp64", "must be one of fp32, bf16"),
        ("attention=flash", "attention 'flash'"),
        ("threads=0", "threads is 0; it must be 1 or more"),
        ("batch_size=3", "batch_size is 3; it must be even for mixup"),
        ("name=mine", "a recipe has no 'name'"),
    ],
)
def test_bad_values_are_refused_in_one_line(setting: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        choose_recipe("deit", [setting])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_only_mixing_needs_an_even_batch() -> None:
    assert choose_recipe("fmnist", ["batch_size=3"]).batch_size == 3


def test_an_unknown_recipe_lists_the_known() -> None:
    with pytest.raises(UserError, match=r"no recipe is called 'diet'.*Did you mean 'deit'"):
        choose_recipe("diet")
