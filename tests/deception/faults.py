"""What networks can do wrong, by name, and what must be said of each."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, gelu

from .networks import CLASSES, SIDE, Changed, trained, with_gradient

GRADIENT = r"first-order-.+|gradient-misses-.+%"


class Counting(Changed):
    """Knows how often it was called."""

    def __init__(self, answer: Callable[[Tensor, int], Tensor]) -> None:
        super().__init__()
        self.calls, self.answer = 0, answer

    def forward(self, x: Tensor) -> Tensor:
        """Normalised images to logits."""
        self.calls += 1
        return self.answer(super().forward(x), self.calls)


class Learning(Changed):
    """Changes one of its buffers whenever it computes."""

    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """Normalised images to logits."""
        self.seen += len(x)
        return super().forward(x)


def other() -> nn.Module:
    """A network that nobody trained."""
    with torch.random.fork_rng([]):
        torch.manual_seed(7)
        return nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, CLASSES)).eval()


class Swapped(nn.Module):
    """The trained network's answers with another network's gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.answers, self.gradients = trained(), other()

    def forward(self, x: Tensor) -> Tensor:
        """Normalised images to logits."""
        shown = self.gradients(x)
        logits: Tensor = shown + (self.answers(x) - shown).detach()
        return logits


def half(x: Tensor, detached: Callable[[int, int], tuple[slice, slice]]) -> Tensor:
    """Part of the picture is cut off from the gradient."""
    out = x.clone()
    rows, columns = detached(*x.shape[2:])
    out[:, :, rows, columns] = x[:, :, rows, columns].detach()
    return out


def straight_through(x: Tensor, levels: float) -> Tensor:
    return x + ((x * levels).round() / levels - x).detach()


def permuted(gradient: Tensor) -> Tensor:
    order = torch.randperm(gradient[0].numel(), generator=torch.Generator().manual_seed(0))
    return gradient.flatten(1)[:, order].view_as(gradient)


def shaken(x: Tensor) -> Tensor:
    return x + 0.05 * torch.randn_like(x)


def by_size(x: Tensor, most: int) -> Tensor:
    return x if len(x) <= most else -x


def by_position(logits: Tensor) -> Tensor:
    first, rest = logits[:3], logits[3:]
    return torch.cat([first, rest.roll(1, 1)])


def neighbours(logits: Tensor) -> Tensor:
    return 0.7 * logits + 0.3 * logits.roll(1, 0)


def reordered(order: list[int]) -> nn.Module:
    return Changed(after=lambda logits: logits[:, order])


def constant(logits: Tensor) -> Tensor:
    return logits * 1e-3 + torch.tensor([0.0, 50.0, 0.0, 0.0])


NETWORKS: dict[str, tuple[Callable[[], nn.Module], str]] = {
    # its answer depends on how it is asked
    "draws": (lambda: Changed(before=shaken), "not-deterministic"),
    "drops out": (
        lambda: Changed(after=lambda z: nn.functional.dropout(z, 0.3, training=True)),
        "not-deterministic",
    ),
    "warms up": (lambda: Counting(lambda z, call: z if call > 2 else -z), "not-deterministic"),
    "alternates": (lambda: Counting(lambda z, call: z if call % 2 else -z), "not-deterministic"),
    "drifts": (lambda: Counting(lambda z, call: z + 0.01 * call * z.flip(1)), "not-deterministic"),
    "grad mode": (
        lambda: Changed(after=lambda z: z if torch.is_grad_enabled() else z.roll(1, 1)),
        "gradient-mode-dependent",
    ),
    "requires grad": (
        lambda: Changed(before=lambda x: x if x.requires_grad else 0.3 * x),
        "gradient-mode-dependent",
    ),
    "sharper with gradients": (
        lambda: Changed(after=lambda z: 3 * z if torch.is_grad_enabled() else z),
        "gradient-mode-dependent",
    ),
    "batch mean": (lambda: Changed(before=lambda x: x - x.mean(0)), "batch-dependent"),
    "batch maximum": (lambda: Changed(before=lambda x: x / x.max()), "batch-dependent"),
    "batch statistics": (
        lambda: Changed(before=lambda x: batch_norm(x, None, None, training=True)),
        "batch-dependent",
    ),
    "logits of the batch": (lambda: Changed(after=lambda z: z - z.mean(0)), "batch-dependent"),
    "more than two": (lambda: Changed(before=lambda x: by_size(x, 2)), "batch-dependent"),
    "more than seven": (lambda: Changed(before=lambda x: by_size(x, 7)), "batch-dependent"),
    "position": (lambda: Changed(after=by_position), "batch-dependent"),
    "neighbours": (lambda: Changed(after=neighbours), "batch-dependent"),
    "softmax over the batch": (lambda: Changed(after=lambda z: z.softmax(0)), "batch-dependent"),
    "counts in a buffer": (Learning, "changes-itself"),
    # its gradients lead nowhere
    "permuted": (lambda: with_gradient(permuted), GRADIENT),
    "wrong sign": (lambda: with_gradient(torch.neg), GRADIENT),
    "flipped": (lambda: with_gradient(lambda g: g.flip(3)), GRADIENT),
    "shifted": (lambda: with_gradient(lambda g: g.roll(9, 2)), GRADIENT),
    "of other channels": (lambda: with_gradient(lambda g: g - 1.5 * g.mean(1, True)), GRADIENT),
    "signs alone": (lambda: with_gradient(torch.sign), GRADIENT),
    "a fixed pattern": (lambda: with_gradient(lambda g: torch.ones_like(g)), GRADIENT),
    "another image's": (lambda: with_gradient(lambda g: g.roll(1, 0)), "gradient-batch-dependent"),
    "noise": (lambda: with_gradient(torch.randn_like), "gradient-not-deterministic"),
    "another network's": (Swapped, GRADIENT),
    "left half": (
        lambda: Changed(before=lambda x: half(x, lambda h, w: (slice(h), slice(w // 2)))),
        GRADIENT,
    ),
    "upper half": (
        lambda: Changed(before=lambda x: half(x, lambda h, w: (slice(h // 2), slice(w)))),
        GRADIENT,
    ),
    "middle": (
        lambda: Changed(before=lambda x: half(x, lambda h, w: (slice(6, h - 6), slice(6, w - 6)))),
        GRADIENT,
    ),
    "one channel": (
        lambda: with_gradient(lambda g: g * g.new_tensor([1, 0, 0])[:, None, None]),
        GRADIENT,
    ),
    "few levels straight through": (
        lambda: Changed(before=lambda x: straight_through(x, 2.0)),
        GRADIENT,
    ),
    "sixteen levels straight through": (
        lambda: Changed(before=lambda x: straight_through(x, 4.0)),
        GRADIENT,
    ),
    "answers straight through": (
        lambda: Changed(after=lambda z: straight_through(z, 1.0)),
        GRADIENT + "|ties-at-the-top|logits-in-.+",
    ),
    "no gradient": (lambda: Changed(before=torch.Tensor.detach), "zero-gradient-100%"),
    "rounded input": (lambda: Changed(before=lambda x: (4 * x).round() / 4), "zero-gradient-100%"),
    "zero gradient": (lambda: with_gradient(torch.zeros_like), "zero-gradient-100%"),
    "no gradient for half of the images": (
        lambda: with_gradient(lambda g: g * (torch.arange(len(g)) % 2).view(-1, 1, 1, 1)),
        "zero-gradient-50%|gradient-batch-dependent",
    ),
    "saturated": (lambda: Changed(after=lambda z: 1e4 * z), "saturated-.+"),
    # its logits are none, or have few digits
    "probabilities": (lambda: Changed(after=lambda z: z.softmax(1)), "probabilities"),
    "bf16": (lambda: Changed(after=lambda z: z.bfloat16()), "logits-in-bf16"),
    "fp16": (lambda: Changed(after=lambda z: z.half()), "logits-in-fp16"),
    "bf16 made float": (lambda: Changed(after=lambda z: z.bfloat16().float()), "logits-in-bf16"),
    "fp16 made float": (lambda: Changed(after=lambda z: z.half().float()), "logits-in-fp16"),
    "offset of 1e7": (lambda: Changed(after=lambda z: z + 1e7), "coarse-logits"),
    "offset of 1e6": (lambda: Changed(after=lambda z: z + 1e6), "coarse-logits"),
    "whole numbers": (lambda: Changed(after=torch.round), "ties-at-the-top|zero-gradient-100%"),
    "all alike": (lambda: Changed(after=lambda z: 0 * z), "ties-at-the-top"),
    # it is at chance
    "classes permuted": (
        lambda: reordered([1, 2, 3, 0]),
        "looks-like-(classes-in-another-order|labels-.+)",
    ),
    "classes reversed": (lambda: reordered([3, 2, 1, 0]), "looks-like-classes-in-another-order"),
    "divided by 255": (
        lambda: Changed(before=lambda x: x / 255),
        "looks-like-divided-by-255-twice",
    ),
    "wants 0 to 255": (
        lambda: Changed(before=lambda x: (x / 255 - 0.5) / 0.25),
        "looks-like-pixels-0-to-255",
    ),
    "one answer": (lambda: Changed(after=constant), "at-chance"),
    "untrained": (other, "at-chance"),
    "nothing seen": (lambda: Changed(before=lambda x: 0 * x), "at-chance"),
}
"""By name: the network, and a pattern of a flag that it must have."""


def honest() -> dict[str, Callable[[], nn.Module]]:
    """Networks that are what they seem, of which nothing is to be said."""
    return {
        "as it is": trained,
        "trained adversarially": lambda: trained(robust=True),
        "small logits": lambda: Changed(after=lambda z: 1e-6 * z),
        "tiny logits": lambda: Changed(after=lambda z: 1e-30 * z),
        "log probabilities": lambda: Changed(after=lambda z: z.log_softmax(1)),
        "an offset": lambda: Changed(after=lambda z: z + 10),
        "smoothed": lambda: Changed(before=lambda x: nn.functional.avg_pool2d(x, 3, 1, 1)),
        "own clamp": lambda: Changed(before=lambda x: x.clamp(-2, 2)),
        "squashed": lambda: Changed(before=lambda x: 2 * torch.tanh(x / 2)),
        "keeps what it saw": Remembering,
        "two together": lambda: Changed(after=lambda z: gelu(z) + z),
    }


class Remembering(Changed):
    """Keeps its last answer, as networks do whose attention somebody wants to see."""

    def __init__(self) -> None:
        super().__init__()
        self.last: Any = None

    def forward(self, x: Tensor) -> Tensor:
        """Normalised images to logits."""
        logits = super().forward(x)
        self.last = logits
        return logits
