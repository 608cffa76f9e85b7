"""Adversarial patches: the pixels of one square are free, and no other changes."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.gradient import eval_mode, input_gradient
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.threat_model import ThreatModel
from robustbench_twicing.seeds import Generators

from .declaration import attack
from .restarts import worst_of
from .spec import Settings
from .squares import BY_NETWORK, Place, attended_network, corners, random_pixels, square

STEPS = 20
STEP_SIZE = 0.1
"""In pixels in [0, 1], whatever the side of the square."""
PLACES = 8
"""That ``worst-of`` tries."""


def _places(settings: Settings) -> int:
    places: int = settings["places"] if settings["place"] == "worst-of" else 1
    return places


def _passes(settings: Settings) -> tuple[int, int]:
    """Results of several places are scored once more each.

    Place gradient follows the clean gradient, place attention looks at one forward pass.
    """
    places, steps = _places(settings), settings["steps"]
    by_gradient, by_attention = (settings["place"] == place for place in BY_NETWORK)
    return places * (steps + (places > 1)) + by_attention, places * steps + by_gradient


def _contradiction(settings: Settings) -> str:
    place = settings["place"]
    if settings["places"] != PLACES and place != "worst-of":
        return f"place {place} is one place; places counts those of place=worst-of alone"
    if settings["aligned"] and place in BY_NETWORK:
        return f"place {place} lies on the grid of the tokens anyway; leave aligned out"
    return ""


def _check_model(settings: Settings, model: Classifier) -> None:
    if settings["place"] == "attention":
        attended_network(model)


def patch_sweep(
    batch: AttackBatch,
    budgets: Sequence[Fraction],
    *,
    threat: ThreatModel,
    settings: Mapping[str, Any],
) -> Iterator[Tensor]:
    """Every side on its own; random places are the same for all of them."""
    del threat  # there is one
    drawn_with = {name: settings[name] for name in ("steps", "step_size", "random_start")}
    for eps in budgets:
        generators = [
            batch.generators("patch", drawn_with, eps, number)
            for number in range(_places(settings))
        ]
        yield _attacked(batch, float(eps), generators, **settings)


_declared = partial(
    attack,
    sweep=patch_sweep,
    unrecorded=("seed",),
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/1801.02608",
    passes=_passes,
    clean_gradient=lambda settings: settings["place"] == "gradient",
    white_box=True,
    contradiction=_contradiction,
    check_model=_check_model,
    protocols=("patch",),
)
"""What the attacks at all places have in common."""


@_declared("patch", draws=False)
def patch(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    place: Place = "centre",
    places: int = PLACES,
    aligned: bool = False,
    steps: int = STEPS,
    step_size: float = STEP_SIZE,
    random_start: bool = False,
    images: Sequence[str] = (),
    seed: int = 0,
    generator: Generators | None = None,
) -> Tensor:
    """Signed gradient steps up the cross-entropy inside one square, in valid pixels.

    As LaVAN (arXiv 1801.02608), but untargeted and with the signs of gradients.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K); left as it was.
        x: clean pixels; not changed.
        y: true class indices (N,).
        eps: side of the square in whole pixels, at most H and W.
        place: of the square, see `corners`.
        places: how many ``worst-of`` tries.
        aligned: move the square up and left, to the grid of the network's tokens.
        steps: number of gradient steps.
        step_size: of each, in pixels in [0, 1].
        random_start: start at uniformly drawn pixels in the square instead of those of x.
        images: names of the images, which choose random places; their positions unless given.
        seed: chooses random places, too.
        generator: one per image, or one for all; needed for a random start.

    Returns:
        The last iterate, shaped like x, which outside the square it equals. Of several places, per
        image the one whose result fools the model; among these, that with the highest loss.

    Raises:
        ValueError: a random start without a generator, or a side that is no whole number.
        BrokenAttackError: the square is larger than the images.
        UserError: place attention in a model whose attention cannot be looked at.
    """
    names = images or [str(position) for position in range(len(x))]
    batch = AttackBatch(model, x, y, images=names, seed=seed)
    settings: Settings = {"place": place, "places": places, "aligned": aligned}
    with eval_mode(model):
        return _attacked(
            batch,
            eps,
            [generator] * _places(settings),
            steps=steps,
            step_size=step_size,
            random_start=random_start,
            **settings,
        )


patch_random = _declared("patch-random")(partial(patch, place="random"))
patch_gradient = _declared("patch-gradient", draws=False)(partial(patch, place="gradient"))
patch_attention = _declared("patch-attention", draws=False)(partial(patch, place="attention"))


def _attacked(
    batch: AttackBatch,
    eps: float,
    generators: Sequence[Generators | None],
    *,
    place: Place,
    places: int,
    aligned: bool,
    steps: int,
    step_size: float,
    random_start: bool,
) -> Tensor:
    """The worst result of all places, each with random numbers of its own."""
    x, side = batch.x, int(eps)
    if side != eps:
        raise ValueError(f"the side of a patch is a whole number of pixels, not {eps:g}")
    if side == 0:
        return x.detach().clone()
    tried = []
    corners_tried = corners(batch, side, place, places, aligned=aligned)
    for corner, generator in zip(corners_tried, generators, strict=True):
        free, x_adv = square(x, corner, side), x.detach()
        if random_start:
            x_adv = random_pixels(x, free, generator)
        for _ in range(steps):
            gradient = input_gradient(batch.model, x_adv, batch.y)
            x_adv = torch.where(free, (x_adv + step_size * gradient.sign()).clamp(0, 1), x)
        tried.append(x_adv)
    return worst_of(batch, tried)
