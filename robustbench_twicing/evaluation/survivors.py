"""Survivors mode: an attack is run on those images alone that no attack before has fooled.

Attacks follow in ascending cost, those whose cost nobody knows last, and each of them in ascending
budgets. The worst case over all of them is that of a full run, since what a smaller budget broke
lies in the larger ball, too; no single attack has an accuracy.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa

from ..conditions.condition import Condition, sweep_groups
from ..errors import UserError
from ..records.cost import CostMeter
from ..records.failures import Positions
from ..records.schema import Status
from ..seeds import network_draws
from .attack_step import attack_rows
from .checks.answers import RANDOM, answer_flags
from .clean_step import CleanBatch
from .progress import Step
from .rows import WITNESSED, inherited_rows, take
from .tasks import Context

Row = Mapping[str, Any]


class Fooled:
    """The images of a batch that are fooled under one protocol, and from which budget on.

    Args:
        clean: an image that is wrong before any attack is fooled at a budget of 0.
        witness: id of the condition of the clean images.
    """

    def __init__(self, clean: CleanBatch, witness: str) -> None:
        self.broken_at: dict[int, Fraction] = {}
        self.witnesses: dict[int, Row] = {}
        ranks = clean.scores.rank.tolist()
        self.images = len(ranks)
        for row, rank in enumerate(ranks):
            if rank:
                values = [tensor[row].item() for tensor in clean.scores]
                scores = dict(zip(clean.scores._fields, values, strict=True))
                unchanged = {"linf": 0.0, "l2": 0.0, "l0": 0, "rank_8bit": rank, "goal": None}
                self.broken_at[row] = Fraction(0)
                self.witnesses[row] = {**scores, **unchanged, "witness": witness}

    def add(self, condition: Condition, row: int, record: Row) -> None:
        """What became of an image under a condition."""
        if record["status"] != Status.OK.value or record["rank"] == 0:
            return
        eps = Fraction(record["radius"]) if condition.about.finds_radius else condition.eps
        if row not in self.broken_at or eps < self.broken_at[row]:
            self.broken_at[row] = eps
            values = {name: record[name] for name in WITNESSED}
            self.witnesses[row] = {**values, "witness": condition.id}

    def survivors(self, eps: Fraction) -> list[int]:
        """Rows of the images that nothing has fooled at a budget or a smaller one."""
        images = range(self.images)
        return [row for row in images if row not in self.broken_at or self.broken_at[row] > eps]


def survivor_rows(
    context: Context,
    clean: CleanBatch,
    conditions: Sequence[Condition],
    meter: CostMeter,
    again: Positions | None = None,
) -> Iterator[pa.Table]:
    """As `attack_rows`, with ``inherited`` rows in place of attacks on images that are fooled.

    Args:
        context: see `Context`.
        clean: images and their clean scores.
        conditions: without those that show other images or look at other classes.
        meter: charged with passes and time.
        again: of a second attempt, the images that failed, by condition; these alone are attacked.

    Raises:
        UserError: the network draws random numbers.
    """
    _refuse_random(context, clean, conditions, meter)
    fooled = {item.protocol: Fooled(clean, context.data.clean_id) for item in conditions}
    for condition in in_ascending_cost(conditions):
        images = fooled[condition.protocol]
        attack = partial(_attacked, context, clean, condition, images, meter=meter)
        if again is not None:
            failed = again.get(condition.key, frozenset())
            yield from attack([row for row, index in enumerate(clean.indices) if index in failed])
        elif condition.sweep is None:
            yield from attack_rows(context, clean, [condition], meter)
        else:
            rows = images.survivors(condition.eps)
            yield from attack(rows)
            others = sorted(set(range(len(clean.indices))) - set(rows))
            fields = take(clean.fields, others)
            yield inherited_rows(fields, condition, [images.witnesses[row] for row in others])
            units = len(others) * condition.units
            context.report(Step(context.label, condition.id, 0, units, key=condition.key))


def _attacked(
    context: Context,
    clean: CleanBatch,
    condition: Condition,
    fooled: Fooled,
    rows: Sequence[int],
    *,
    meter: CostMeter,
) -> Iterator[pa.Table]:
    """The rows of those images of a batch that are attacked; without any, nothing is started."""
    if not rows:
        return
    chosen = list(rows)
    for table in attack_rows(context, clean.subset(chosen), [condition], meter):
        for row, record in zip(chosen, table.to_pylist(), strict=True):
            fooled.add(condition, row, record)
        yield table


def _refuse_random(
    context: Context, clean: CleanBatch, conditions: Sequence[Condition], meter: CostMeter
) -> None:
    """Images chosen by one draw of the network make attacks look stronger than they are."""
    graph = any(condition.white_box for condition in conditions)
    batch = clean.attacked
    with meter.uncharged(), network_draws(context.seed, batch.images, "checks"):
        flags = list(answer_flags(context.classifier, batch.x, batch.logits, graph=graph))
    if RANDOM in flags:
        raise UserError(
            f"{context.label}: equal passes give different logits ({RANDOM}), so that the images "
            "left by one attack would be chosen by chance; leave --survivors out, or fix its "
            "random numbers"
        )


def in_ascending_cost(conditions: Sequence[Condition]) -> list[Condition]:
    """The order of attacks: the cheapest sweep first, its smallest budget first.

    An attack whose passes are not known comes last; sweeps of one cost stay in their order.
    """
    groups = sorted(
        sweep_groups(conditions), key=lambda group: (group[0].passes is None, group[0].units)
    )
    return [one for group in groups for one in sorted(group, key=lambda one: one.eps)]
