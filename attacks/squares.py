"""Squares of an image whose pixels are free: where they lie, and what is in them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, interpolate

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.errors import BrokenAttackError, UserError
from robustbench_twicing.seeds import Generators, derive_seed, uniform_like

if TYPE_CHECKING:
    from robustbench_twicing.classifiers.probe import LayerTensor

Place = Literal["centre", "random", "gradient", "attention", "worst-of"]
BY_NETWORK = ("gradient", "attention")
"""Places that the network chooses, on the grid of its tokens."""
CELLS = 16
"""Of an image's side, where nothing says how large the patches of the network's tokens are."""
ATTENDED_LAYER = 5
"""Whose attention chooses, as in Patch-Fool's code; of a network with fewer the last."""


def corners(
    batch: AttackBatch, side: int, place: Place, places: int, *, aligned: bool = False
) -> list[Tensor]:
    """Row and column of the upper left pixel of each image's square (N, 2), for every place tried.

    ``centre``; ``random``, which depends on the seed and the image alone: all models have the same,
    and a smaller square lies within a larger one; ``worst-of``, several random ones, of which the
    first is that of ``random``; ``gradient``, where the L1 norm of the gradient at the clean pixels
    is largest; ``attention``, whose tokens receive most of the attention in `ATTENDED_LAYER`. The
    last two choose among the squares that begin at a token of the network.

    Args:
        batch: images (N, 3, H, W) and their network.
        side: of the square, in pixels.
        place: as above.
        places: how many ``worst-of`` tries.
        aligned: move squares up and left, to the grid of the network's tokens.

    Raises:
        BrokenAttackError: the square is larger than the images.
        UserError: as `attended_network`.
    """
    x = batch.x
    room = [length - side for length in x.shape[-2:]]
    if min(room) < 0:
        raise BrokenAttackError(
            f"a patch of {side} x {side} px is larger than images of {x.shape[-2]} x {x.shape[-1]}"
        )
    if place == "gradient":
        steepness = batch.gradient(PROTOCOLS["patch"].threat).double().abs().sum(1, keepdim=True)
        return [_largest(steepness, side, token_side(batch.model, x))]
    if place == "attention":
        received = received_attention(batch.model, x)
        stride = x.shape[-2] // received.shape[-2]
        return [_largest(interpolate(received, x.shape[-2:]), side, stride)]
    if place == "centre":
        chosen = [centre(x, side)]
    else:
        count = places if place == "worst-of" else 1
        chosen = [_drawn(batch, room, number) for number in range(count)]
    grid = token_side(batch.model, x) if aligned else 1
    return [corner - corner % grid for corner in chosen]


def centre(x: Tensor, side: int) -> Tensor:
    """The corner of the square in the middle of each image (N, 2)."""
    middle = [(length - side) // 2 for length in x.shape[-2:]]
    return torch.tensor(middle, device=x.device).expand(len(x), 2)


def _drawn(batch: AttackBatch, room: Sequence[int], number: int) -> Tensor:
    """A share of the room in 63 bits, rounded down: squares of all sides lie within each other."""
    drawn = [
        [
            derive_seed(batch.seed, image, "patch", number, axis) * (most + 1) >> 63
            for axis, most in enumerate(room)
        ]
        for image in batch.images
    ]
    return torch.tensor(drawn, device=batch.x.device)


def _largest(values: Tensor, side: int, stride: int) -> Tensor:
    """The corner (N, 2) of each image's square, a multiple of the stride, whose mean is largest.

    Args:
        values: of every pixel (N, 1, H, W), float64.
        side: of the squares.
        stride: from one square to the next.
    """
    means = avg_pool2d(values, side, stride)
    best = means.flatten(1).argmax(1)
    columns = means.shape[-1]
    return torch.stack([best // columns, best % columns], 1) * stride


def received_attention(model: nn.Module, x: Tensor) -> Tensor:
    """What each patch of an image is attended with: (N, 1, rows, columns), float64.

    The mean over heads and queries of the softmax weights in `ATTENDED_LAYER`, without the columns
    of class and distillation tokens.

    Args:
        model: see `attended_network`.
        x: pixels (N, 3, H, W).

    Raises:
        UserError: as `attended_network`, or tokens that are no grid of the image.
    """
    # Imported here: the list of attacks does not wait for timm.
    from robustbench_twicing.classifiers.probe import probe

    classifier = attended_network(model)
    received = list[Tensor]()

    def look(seen: "LayerTensor") -> None:
        if isinstance(seen.layer, int) and seen.layer <= ATTENDED_LAYER:
            received[:] = [seen.values.mean((1, 2), dtype=torch.float64)[:, seen.extra_tokens :]]

    with torch.no_grad(), probe(classifier, ("weights",), look):
        classifier(x)
    (of_tokens,) = received
    height, width = x.shape[-2:]
    rows = round((of_tokens.shape[1] * height / width) ** 0.5)
    if of_tokens.shape[1] % rows:
        raise UserError(f"{of_tokens.shape[1]} tokens are no grid of an image {height} x {width}")
    return of_tokens.view(len(x), 1, rows, -1)


def attended_network(model: nn.Module) -> Classifier:
    """The same model, if its attention can be looked at.

    Raises:
        UserError: it is no `Classifier`, or its network is none that `probe` supports.
    """
    from robustbench_twicing.classifiers.probe import check_supported

    others = ", ".join(place for place in get_args(Place) if place != "attention")
    if not isinstance(model, Classifier):
        raise UserError(
            f"place attention looks into a Classifier, as load_model returns it, not into a "
            f"{type(model).__name__}; other places are {others}"
        )
    try:
        check_supported(model)
    except UserError as error:
        raise UserError(f"place attention: {error}; other places are {others}") from None
    return model


def token_side(model: nn.Module, x: Tensor) -> int:
    """Side of the pixels that become one token; a sixteenth of the image's where nothing says it.

    Args:
        model: of which a module may have the attribute ``patch_size``, as in timm.
        x: images (N, C, H, W).
    """
    for module in model.modules():
        sides = getattr(module, "patch_size", None)
        for side in sides if isinstance(sides, (tuple, list)) else [sides]:
            if isinstance(side, int) and side > 0:
                return side
    return max(1, min(x.shape[-2:]) // CELLS)


def square(x: Tensor, corner: Tensor, side: int) -> Tensor:
    """Which pixels of each image are free: (N, 1, H, W), boolean.

    Args:
        x: images (N, C, H, W).
        corner: row and column of the square's upper left pixel (N, 2).
        side: in pixels.
    """
    inside = []
    for axis, length in enumerate(x.shape[-2:]):
        position, first = torch.arange(length, device=x.device), corner[:, axis, None]
        inside.append((position >= first) & (position < first + side))
    rows, columns = inside
    return rows[:, None, :, None] & columns[:, None, None, :]


def random_pixels(x: Tensor, free: Tensor, generator: Generators | None) -> Tensor:
    """Images with uniformly drawn pixels where they are free.

    Args:
        x: images (N, C, H, W).
        free: see `square`.
        generator: one per image, or one for all; needed.

    Raises:
        ValueError: no generator.
    """
    if generator is None:
        raise ValueError("a random start needs a generator; the global one is never used")
    return torch.where(free, uniform_like(x, generator), x)
