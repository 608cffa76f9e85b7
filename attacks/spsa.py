"""Simultaneous perturbation stochastic approximation: a black-box attack on the logits."""

from functools import partial
from typing import Literal, NamedTuple, Self, get_args

import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.device import RowsThatFit
from robustbench_twicing.classifiers.gradient import eval_mode
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.seeds import Generators, image_keys, random_signs

from .attacked_label import attacked_label
from .declaration import ALL_PROTOCOLS, attack
from .region import Region

STEPS, SAMPLES = 40, 128
LEARNING_RATE, DELTA = 0.01, 0.01
CHUNK = 16
"""Images evaluated at a time, fewer where memory runs out; changes no more than rounding."""
EstimateAt = Literal["iterate", "twice-the-image"]


_declared = partial(
    attack,
    streams=("spsa", {}),
    unrecorded=("early_exit", "chunk"),
    knowledge="black box, logits",
    source="https://arxiv.org/abs/1802.05666",
    under={"paper": {"estimate_at": "twice-the-image"}},
    protocols=ALL_PROTOCOLS,
)
"""What the two kinds of the attack have in common."""


@_declared(
    "spsa",
    passes=lambda settings: (2 * settings["samples"] * settings["steps"], 0),
    shorts={"steps": "spsa_steps", "samples": "spsa_samples"},
    about=About("SPSA", gradient_free=True),
)
def spsa(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    threat: ThreatModel = PIXEL,
    steps: int = STEPS,
    samples: int = SAMPLES,
    learning_rate: float = LEARNING_RATE,
    delta: float = DELTA,
    estimate_at: EstimateAt = "iterate",
    early_exit: bool = False,
    chunk: int = CHUNK,
    target: Tensor | None = None,
    generator: Generators | None = None,
) -> Tensor:
    """Adam on the margin loss, its gradient estimated from random sign directions.

    arXiv 1802.05666, appendix A. Each step evaluates ``samples`` pairs of images at the iterate
    plus and minus ``delta`` times a random sign pattern, all of it in the threat model's space.

    Args:
        model: pixels (N, 3, H, W) to logits (N, K); no gradient of it is used.
        x: clean pixels in [0, 1]; not changed.
        y: true class indices (N,); what an early exit compares with, whatever label is attacked.
        eps: budget in the threat model's space.
        threat: norm and space of the budget, clipping, and the attacked label.
        steps: Adam steps.
        samples: pairs of evaluations per step and image.
        learning_rate: of Adam, in the threat model's space.
        delta: length of the probes, in the threat model's space.
        estimate_at: where the gradient is estimated. ``twice-the-image`` is what cleverhans 4.0.0
            does by mistake (its issue 1249): the iterate never enters the estimate.
        early_exit: leave an image alone once it is misclassified; costs one more evaluation per
            step, and measures "fooled at any step" instead of the last iterate.
        chunk: images evaluated at a time.
        target: the attacked labels (N,), where they are known; else the threat model's are found.
        generator: one per image, or one for all; needed.

    Returns:
        The last iterate, shaped like x.

    Raises:
        ValueError: no generator, or an unknown place of the estimate.
    """
    if estimate_at not in get_args(EstimateAt):
        raise ValueError(f"estimate_at={estimate_at!r} is not one of {get_args(EstimateAt)}")
    if eps == 0:
        return x.detach().clone()
    if generator is None:
        raise ValueError("spsa needs a generator; the global one is never used")
    region = Region.of(model, x, eps, threat)
    with eval_mode(model), torch.no_grad():
        if target is None:
            target = attacked_label(model, x, y, threat)
        moved = region.random(generator)
        problem = _Problem.of(RowsThatFit(model, chunk), target, generator, samples, delta)
        optimizer = torch.optim.Adam([moved], lr=learning_rate)
        for step in range(steps):
            centre = x + region.unit * moved if estimate_at == "iterate" else region.double()
            gradient = estimate_gradient(problem, centre, region.unit, step)
            before = moved.clone()
            moved.grad = -gradient  # Adam descends; the margin is to rise
            optimizer.step()
            moved.copy_(region.inside(moved))
            if early_exit:
                fooled = margin(model(x + region.unit * before), y) > 0
                moved.copy_(before.where(fooled.view(-1, 1, 1, 1), moved))
        return region.pixels(moved)


spsa_any = _declared(
    "spsa-any",
    passes=lambda settings: ((2 * settings["samples"] + 1) * settings["steps"], 0),
    notes=(
        "spsa-any leaves an image alone at the first step that fools the model: its accuracy is of "
        "images that are right at every step, a lower number than spsa's last iterate.",
    ),
    about=About(gradient_free=True),
)(partial(spsa, early_exit=True))
"""`spsa` that leaves an image alone once it is fooled: "right at every step", another number."""


class _Problem(NamedTuple):
    """What a gradient estimate needs besides the point.

    Attributes:
        logits: of images.
        target: the attacked labels (N,).
        keys: of each image's signs (N,).
        samples: pairs of probes per image.
        delta: length of the probes.
    """

    logits: RowsThatFit
    target: Tensor
    keys: Tensor
    samples: int
    delta: float

    @classmethod
    def of(
        cls,
        logits: RowsThatFit,
        target: Tensor,
        generator: Generators,
        samples: int,
        delta: float,
    ) -> Self:
        """With keys of a generator."""
        keys = image_keys(len(target), generator).to(target.device)
        return cls(logits, target, keys, samples, delta)


def spsa_gradient(
    model: nn.Module,
    x: Tensor,
    target: Tensor,
    *,
    samples: int = SAMPLES,
    delta: float = DELTA,
    chunk: int = 1024,
    generator: Generators,
) -> Tensor:
    """The estimate that `spsa` follows: the gradient of the margin at x, in pixels.

    Args:
        model: pixels (N, 3, H, W) to logits (N, K).
        x: pixels.
        target: class indices (N,) whose margin is meant.
        samples: pairs of probes per image.
        delta: length of the probes.
        chunk: images evaluated at a time.
        generator: one per image, or one for all.

    Returns:
        Gradient, shaped like x.
    """
    problem = _Problem.of(RowsThatFit(model, chunk), target, generator, samples, delta)
    with eval_mode(model), torch.no_grad():
        return estimate_gradient(problem, x, torch.ones((), dtype=x.dtype))


def margin(logits: Tensor, target: Tensor) -> Tensor:
    """Largest other logit minus the target's (N,): above 0 where misclassified."""
    logit = logits.gather(1, target[:, None]).squeeze(1)
    others = logits.scatter(1, target[:, None], float("-inf"))
    return others.amax(1) - logit


def estimate_gradient(problem: _Problem, centre: Tensor, length: Tensor, step: int = 0) -> Tensor:
    """SPSA estimate of the margin's gradient at ``centre`` (arXiv 1802.05666, equation 4).

    Signs depend on image, step and probe alone, and not on how probes fall into chunks.

    Args:
        problem: network, attacked labels (N,), keys of the signs, number and length of probes.
        centre: pixels (N, 3, H, W).
        length: one unit of the probe's space in pixels.
        step: of the attack, from 0: each has signs of its own.

    Returns:
        Gradient per unit of the probe's space, shaped like ``centre``.
    """
    images, samples, delta = len(centre), problem.samples, problem.delta
    gradient = torch.zeros_like(centre)
    pairs = max(1, problem.logits.rows // 2)
    probes = torch.arange(images * samples, device=centre.device)
    for some in torch.split(probes, pairs):
        which = some // samples
        signs = random_signs(problem.keys[which], step * samples + some % samples, centre)
        moves = delta * length * signs
        points = torch.cat([centre[which] + moves, centre[which] - moves])
        values = margin(problem.logits(points), problem.target[which].repeat(2))
        up, down = values.chunk(2)
        slope = (up - down) / (2 * samples * delta)
        # A product sums the probes of each image in a fixed order, on a GPU too.
        weights = (which == torch.arange(images, device=which.device)[:, None]) * slope
        gradient += (weights @ signs.flatten(1)).view_as(gradient)
    return gradient
