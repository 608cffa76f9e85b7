"""Attack one batch, check what comes back, score it."""

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from inspect import GEN_CLOSED, getgeneratorstate

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..classifiers.classifier import std_of
from ..classifiers.device import is_out_of_memory
from ..conditions.attack_batch import AttackBatch
from ..conditions.ball import check_adversarial
from ..conditions.condition import EXPECTATION, Condition, Sweep, sweep_groups
from ..conditions.distances import length, no_distances
from ..errors import BrokenAttackError, ModelChangedError
from ..files.printable import described, message_of, one_line
from ..records.cost import CostMeter
from ..records.failures import Positions
from ..seeds import network_draws
from .checks.network_guard import NetworkGuard
from .clean_step import CleanBatch
from .progress import Step
from .rows import Outcome, in_arrow, right_in_draws, score, score_rows
from .tasks import Context, ImageStore

log = logging.getLogger(__name__)
TOO_FEW = "the attack ended before this budget: it made images for fewer budgets than it was given"
Keep = Callable[[Condition, Tensor], None]


def attack_rows(
    context: Context,
    clean: CleanBatch,
    conditions: Sequence[Condition],
    meter: CostMeter,
    again: Positions | None = None,
) -> Iterator[pa.Table]:
    """The rows of every condition that attacks the clean images or leaves them as they are.

    Args:
        context: see `Context`.
        clean: images and their clean scores.
        conditions: without those that show other images or look at other classes.
        meter: charged with passes and time.
        again: of a second attempt, the images that failed, by condition; a sweep with any is run
            as a whole, since its budgets may share work.
    """
    fields = in_arrow(clean.fields)
    for group in sweep_groups(conditions):
        if again is not None and not any(condition.key in again for condition in group):
            continue
        for condition, outcome in _outcomes(context, clean, group, meter):
            yield score_rows(fields, condition, outcome)
            units = len(clean.indices) * condition.units
            context.report(Step(context.label, condition.id, 0, units, key=condition.key))


def _outcomes(
    context: Context,
    clean: CleanBatch,
    group: Sequence[Condition],
    meter: CostMeter,
) -> Iterator[tuple[Condition, Outcome]]:
    """The outcome of every condition of a sweep, in order."""
    attacked = clean.attacked
    if group[0].sweep is None:
        unchanged = no_distances(len(attacked.x))
        yield group[0], Outcome(clean.scores, unchanged, draws_right=clean.draws_right)
        return
    guard = clean.guard
    if guard is None:
        raise ValueError(f"{group[0].id}: nothing guards the network while it is attacked")
    sweep = _sweep(group[0].sweep, attacked, group)
    keep = partial(_keep, context.store, context, clean) if context.store else None
    rescored = [row for row, index in enumerate(clean.indices) if index in context.rescored]
    for position, condition in enumerate(group, 1):
        with meter.measure(condition.key):
            outcome = _attack_and_score(
                context, attacked, condition, sweep, guard=guard, keep=keep, rescored=rescored
            )
        yield condition, outcome
        if outcome.message not in ("", TOO_FEW) and getgeneratorstate(sweep) == GEN_CLOSED:
            sweep = _sweep(group[0].sweep, attacked, group[position:])
    guard.check_answers(group[0].attack)


def _keep(
    store: ImageStore,
    context: Context,
    clean: CleanBatch,
    condition: Condition,
    x_adv: Tensor,
) -> None:
    """Keep the checked adversarial images of a batch."""
    attacked = clean.attacked
    if min(clean.indices) >= store.limit:
        return
    place = (context.label, context.data.name, condition.protocol, condition.id)
    x, adversarial = attacked.x.detach().cpu().numpy(), x_adv.detach().cpu().numpy()
    store.save(place, clean.indices, attacked.images, x, adversarial)


def _sweep(sweep: Sweep, attacked: AttackBatch, group: Sequence[Condition]) -> Generator[Tensor]:
    """Started by the first `next`, so that a failure to start is a failure of the attack too."""
    budgets = [condition.eps for condition in group]
    settings = {name: of for name, of in group[0].settings.items() if name != EXPECTATION}
    images = sweep(attacked, budgets, threat=group[0].threat, settings=settings)
    for number, x_adv in enumerate(images, 1):
        if number == len(budgets) and isinstance(images, Generator):
            images.close()  # what it does at its end, it does before its images are scored
        yield x_adv


def _attack_and_score(
    context: Context,
    attacked: AttackBatch,
    condition: Condition,
    sweep: Generator[Tensor],
    *,
    guard: NetworkGuard,
    keep: Keep | None,
    rescored: list[int],
) -> Outcome:
    """A failure of the attack, whatever it is, becomes an error row; it is never scored."""
    threat, images = condition.threat, attacked.images
    drawing = partial(network_draws, context.seed, images, condition.protocol)
    try:
        # Not by the budget: what budgets share does not depend on which of them is the first.
        with drawing(condition.attack, "attack"):
            x_adv = _next(sweep, attacked, guard, condition.expectation)
        x, y = attacked.x, attacked.y
        std = std_of(attacked.model)
        measured = check_adversarial(x, x_adv, condition.reach, threat, std, images=images)
        with torch.no_grad(), drawing(condition.id, "scores"):
            draws = [attacked.model(x_adv) for _ in range(context.draws)]
            scores, draws_right = score(draws[0], y, images), right_in_draws(draws, y, images)
        seeded = drawing(condition.id, "scores in 8 bits")
        rounded = _rank_8bit(attacked, x_adv, rescored, seeded)
        goal = None if attacked.goal is None else attacked.goal.detach().cpu()
        outcome = Outcome(scores, measured, rounded, goal=goal, draws_right=draws_right)
        if condition.about.finds_radius:
            radius = length(x_adv.double() - x.double(), threat.norm)
            outcome = outcome._replace(radius=radius.cpu())
    except ModelChangedError:
        raise  # it could not be put back
    except StopIteration:
        return Outcome(None, message=TOO_FEW)
    except (Exception, SystemExit) as error:  # a user's code may try to leave Python
        if is_out_of_memory(error):
            raise
        log.warning("%s", one_line(f"{condition.id} failed: {message_of(error)}"))
        if isinstance(error, BrokenAttackError):
            return Outcome(None, message=str(error))
        return Outcome(None, message=described(error))
    if keep is not None:
        keep(condition, x_adv)
    return outcome


def _rank_8bit(
    attacked: AttackBatch, x_adv: Tensor, rows: list[int], seeded: AbstractContextManager[None]
) -> NDArray[np.object_]:
    """Rank of some images of the batch after rounding to 8 bits; None for the others."""
    ranks = np.full(len(x_adv), None, np.object_)
    if rows:
        images = [attacked.images[row] for row in rows]
        with torch.no_grad(), seeded:
            logits = attacked.model(round_to_8_bits(x_adv[rows]))
        ranks[rows] = score(logits, attacked.y[rows], images).rank.numpy()
    return ranks


def round_to_8_bits(x_adv: Tensor) -> Tensor:
    """The image as a file would hold it: clipped to [0, 1], 256 levels."""
    return (x_adv.clamp(0, 1) * 255).round() / 255


def _next(
    sweep: Iterator[Tensor], attacked: AttackBatch, guard: NetworkGuard, expectation: int
) -> Tensor:
    """What the attack made, with network and clean images as they were before it.

    A tensor of a type of its own could run code of the attack's while it is scored.
    """
    guard.begin()
    attacked.goal = None
    try:
        with attacked.attacking(expectation):
            x_adv = next(sweep)
    except (Exception, SystemExit) as error:
        attacked.put_back()
        if is_out_of_memory(error):
            guard.put_back()
        else:
            guard.check()
        raise
    changed = attacked.put_back()
    guard.check()
    if changed:
        raise BrokenAttackError(f"changed {' and '.join(changed)}")
    return x_adv.detach().as_subclass(Tensor)
