"""Targeted PGD: towards a class that is not the label, instead of away from the label."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import label_count
from robustbench_twicing.classifiers.gradient import eval_mode
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.errors import BrokenAttackError
from robustbench_twicing.seeds import Generators, derive_seed

from .declaration import attack
from .pgd import REL_STEP, STEPS, ascend, start
from .restarts import which_is_worst, worst_of
from .spec import Settings

Goal = Literal["random", "least-likely", "second", "top"]
GOALS = 9
"""Classes that goal ``top`` tries, as many as AutoAttack's targeted parts."""


def _goals_tried(settings: Settings) -> int:
    goals: int = settings["goals"] if settings["goal"] == "top" else 1
    return goals


def _few_classes(settings: Settings) -> dict[str, int]:
    goals = _goals_tried(settings)
    return {f"fewer-goals-than-{goals}": goals + 1} if goals > 1 else {}


def _passes(settings: Settings) -> tuple[int, int]:
    """Several restarts, and the results of several goals, are scored once more each."""
    goals, restarts, steps = _goals_tried(settings), settings["restarts"], settings["steps"]
    forward = restarts * (steps + (restarts > 1)) + (goals > 1)
    return goals * forward, goals * restarts * steps


def _contradiction(settings: Settings) -> str:
    if settings["restarts"] > 1 and not settings["random_start"]:
        return "restarts without a random start are all the same run; leave one of the two out"
    if settings["goals"] != GOALS and settings["goal"] != "top":
        return f"goal {settings['goal']} is one class; goals counts those of goal=top alone"
    return ""


def targeted_sweep(
    batch: AttackBatch,
    budgets: Sequence[Fraction],
    *,
    threat: ThreatModel,
    settings: Mapping[str, Any],
) -> Iterator[Tensor]:
    """Every budget on its own, towards the same goals, from the random starts of `pgd`."""
    goals = goal_classes(batch, settings["goal"], settings["goals"])
    drawn_with = {name: settings[name] for name in ("steps", "rel_step", "random_start")}
    for eps in budgets:
        generators = [
            batch.generators("pgd", drawn_with, eps, restart)
            for restart in range(settings["restarts"])
        ]
        yield _nearest(batch, goals, float(eps), threat, generators, **drawn_with)


@attack(
    "pgd-t",
    sweep=targeted_sweep,
    settings={"restarts": 1},
    unrecorded=("seed",),
    knowledge="white box, one gradient a step",
    source="https://arxiv.org/abs/1706.06083",
    passes=_passes,
    white_box=True,
    contradiction=_contradiction,
    few_classes=_few_classes,
    about=About("targeted PGD-{steps}", targeted=True),
    protocols=("pixel", "l2"),
    notes=(
        "pgd-t moves each image towards one class, its goal: top-1 counts images that stay right, "
        "goal_hit those taken for their goal, and the others are wrong in another way.",
    ),
)
def pgd_t(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    threat: ThreatModel = PIXEL,
    steps: int = STEPS,
    rel_step: float = REL_STEP,
    random_start: bool = True,
    goal: Goal = "random",
    goals: int = GOALS,
    images: Sequence[str] = (),
    seed: int = 0,
    generator: Generators | None = None,
) -> Tensor:
    """Descend the cross-entropy of a goal class inside the ball (`pgd` with the sign turned).

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K), K at least 2; left as it was.
        x: clean pixels; not changed.
        y: true class indices (N,), which are never goals.
        eps: budget in the threat model's space.
        threat: norm of the budget; a normalised one is not meant for goals.
        steps: number of gradient steps towards each goal.
        rel_step: step size as a share of eps.
        random_start: start at a uniformly drawn point of the ball, the same for all goals.
        goal: which class, by the clean logits: `goal_classes` has the rules.
        goals: how many classes ``top`` tries.
        images: names of the images, which choose random goals; their positions unless given.
        seed: chooses random goals, too.
        generator: one per image, or one for all; needed for a random start.

    Returns:
        The last iterate, shaped like x. Of several goals, per image the one whose result fools the
        model; among these, that with the highest loss of the true class.

    Raises:
        ValueError: a random start without a generator.
        BrokenAttackError: the model has one class.
    """
    names = images or [str(position) for position in range(len(x))]
    batch = AttackBatch(model, x, y, images=names, seed=seed)
    with eval_mode(model):
        classes = goal_classes(batch, goal, goals)
        constants: Settings = {
            "steps": steps,
            "rel_step": rel_step,
            "random_start": random_start,
        }
        return _nearest(batch, classes, eps, threat, [generator], **constants)


def goal_classes(batch: AttackBatch, goal: Goal, goals: int) -> Tensor:
    """The classes (G, N) towards which images are moved; never their labels.

    ``random`` depends on the seed and the image alone, so that all models and budgets have the same
    goals: d = `derive_seed` (seed, image, "target") mod K - 1, and the class is d, or d + 1 from
    the label on. ``least-likely`` is the class with the smallest clean logit, ``second`` that with
    the largest, and ``top`` are those with the largest ones, as many as ``goals`` or as there are.
    Of equal logits the lower class comes first.

    Raises:
        BrokenAttackError: there is only one class.
    """
    y, classes = batch.y, label_count(batch.model, batch.logits)
    if classes < 2:
        raise BrokenAttackError("the network has one class, and none to move an image to")
    if goal == "random":
        seeds = [derive_seed(batch.seed, image, "target") for image in batch.images]
        drawn = torch.tensor([seed % (classes - 1) for seed in seeds], device=y.device)
        return (drawn + (drawn >= y))[None]
    # The label is put last, whichever end is looked at.
    sign = -1 if goal == "least-likely" else 1
    others = (sign * batch.logits[:, :classes]).scatter(1, y[:, None], -torch.inf)
    count = min(goals, classes - 1) if goal == "top" else 1
    return others.sort(dim=1, descending=True, stable=True).indices[:, :count].T


def _nearest(
    batch: AttackBatch,
    goals: Tensor,
    eps: float,
    threat: ThreatModel,
    generators: Sequence[Generators | None],
    *,
    steps: int,
    rel_step: float,
    random_start: bool,
) -> Tensor:
    """Aim at the goal (of G, N) at which most is done to an image; the start that came nearest."""
    model, x = batch.model, batch.x
    if eps == 0:
        batch.aim(goals[0])
        return x.detach().clone()
    starts = [start(model, x, eps, threat, of) if random_start else x for of in generators]
    descend = partial(ascend, model, x, eps=eps, threat=threat, steps=steps, rel_step=-rel_step)
    by_goal = [
        worst_of(batch, (descend(start=first, target=goal) for first in starts), goal)
        for goal in goals
    ]
    chosen = which_is_worst(batch, by_goal)
    images = torch.arange(len(x), device=x.device)
    batch.aim(goals[chosen, images])
    return torch.stack(by_goal)[chosen, images]
