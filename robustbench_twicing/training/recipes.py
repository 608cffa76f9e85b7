"""The recipes by name."""

from collections.abc import Sequence

from ..registry import Registry
from .recipe import Recipe

RECIPES: Registry[Recipe] = Registry("recipe")
"""Name -> recipe; docs/zoo.md says of each number where it is from."""

# The bundled zoo: a few minutes on one CPU core, the same for every architecture.
RECIPES["fmnist"] = Recipe(
    name="fmnist",
    epochs=2,
    batch_size=64,
    lr=4e-3,
    weight_decay=0.05,
    warmup_epochs=0.2,
    optimizer="muon",
    warmup_lr=1e-5,
    min_lr=1e-5,
    step_on_epochs=False,
    clip_grad=1.0,
    crop_scale=1.0,
    crop_ratio=1.0,
    interpolation="bilinear",
    precision="bf16",
    attention="explicit",
    threads=1,
)
# What the Twicing paper says (lr 5e-4, cosine, batch 256, 5 warm-up epochs from 1e-6, 300 epochs,
# the default AutoAugment policy, colour jitter 0.4); the rest is DeiT's published recipe.
RECIPES["deit"] = Recipe(
    name="deit",
    epochs=300,
    batch_size=256,
    lr=5e-4,
    weight_decay=0.05,
    warmup_epochs=5,
    warmup_lr=1e-6,
    min_lr=1e-5,
    drop_path=0.1,
    ema_decay=0.99996,
    auto_augment="rand-m9-mstd0.5-inc1",
    color_jitter=0.4,
    erase_prob=0.25,
    mixup=0.8,
    cutmix=1.0,
    repeats=3,
)


def choose_recipe(name: str, settings: Sequence[str] = ()) -> Recipe:
    """A recipe by name, with other values where settings say so.

    Args:
        name: of `RECIPES`.
        settings: each ``FIELD=VALUE``.

    Raises:
        UserError: an unknown recipe or field, or a bad value.
    """
    return RECIPES[name].changed(settings)
