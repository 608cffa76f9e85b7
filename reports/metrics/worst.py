"""The worst case over all attacks of a network: an image counts as right where none broke it.

`with_worst(runs)` adds a row ``worst@e`` for every attacked budget e of a label, data set and
protocol. The rank of an image there is the largest over the clean image and all attacks with a
budget of e or less, for what lies in a smaller ball lies in the larger one; so the accuracy is at
most that of each attack, and never rises with the budget. Budgets are those declared, not the
change that was measured; where an attack finds radii, an image's radius is its budget. Corrupted
images, class subsets and ranks in 8 bits (rounding may leave the ball) do not count. A single
attack has no such rows, which would only repeat its sweep, but in survivors mode, where it has no
numbers of its own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from typing import Any

import pandas as pd

from robustbench_twicing.conditions.condition import WORST, Condition, condition_id
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.identity import condition_identity

from ..merging.columns import Marks
from ..merging.ensembles import Members, attacks_of, counted, ensembles, picked_records
from ..merging.entry import Entry
from ..merging.runs import Runs
from ..merging.strongest import WITNESSES

TOP1_ONLY = "top1-only"
"""Flag of a row without top-5: where an image was broken, some other attack was not scored."""
MIXED_SEEDS = "mixed-seeds"
"""Flag of a row over attacks of runs with unlike seeds."""
DIGITS = 12
"""Hexadecimal digits that stand for all constants of the attacks."""


def with_worst(runs: Runs) -> Runs:
    """The runs with ``worst@e`` for every attacked budget, where there are several attacks.

    Args:
        runs: merged runs.

    Returns:
        The same entries, and after them those of the worst case, unless these are there already.
        In their records prediction, loss, distances and the rank in 8 bits are those of the
        ``witness``: of the clean image and the attacks the one with the largest rank, then the
        largest loss, the smallest budget, the first place in the manifest. An image that no attack
        broke is an error where one failed, and has no record where one was not run. One that could
        not be read counts nowhere.
    """
    if any(entry.condition.is_worst for entry in runs.entries):
        return runs
    with_them = runs
    for members in ensembles(runs).values():
        attacks = attacks_of(runs, members)
        tally, number = of_attacks = counted(runs, attacks)
        budgets = of_attacks.ensemble.budgets
        if budgets:
            with_them = with_them.with_entries(
                _entries(members, budgets, tally.partly(number)),
                WITNESSES,
                reads=attacks.entries,
                given=partial(picked_records, runs, attacks, len(with_them.entries)),
                counted=(tally, tally.plan.first_of(number)),
            )
    return with_them


def like_ensembles(runs: Runs, rows: pd.DataFrame) -> list[list[str]]:
    """Labels in groups, each of which one table may hold: their worst cases are over the same.

    Args:
        runs: merged runs.
        rows: of their `results`; all labels are alike where no row is of the worst case.
    """
    settings: dict[str, dict[str, Mapping[str, Any]]] = {}
    for position, label in rows["label"].items():
        condition = runs.entries[int(str(position))].condition
        constants = condition.settings if condition.is_worst else {}
        settings.setdefault(str(label), {})[condition.id] = constants
    groups: list[list[str]] = []
    for label, constants_of in settings.items():
        for group in groups:
            if all(_agree(settings[other], constants_of) for other in group):
                group.append(label)
                break
        else:
            groups.append([label])
    return groups


def _agree(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return all(first[name] == second[name] for name in first.keys() & second.keys())


def _up_to(members: Sequence[Entry], eps: Fraction) -> list[Entry]:
    """Those that may count at a budget."""
    return [
        entry for entry in members if entry.condition.eps <= eps or not entry.condition.is_sweep
    ]


def _entries(members: Members, budgets: Sequence[Fraction], partly: Marks) -> list[Entry]:
    """One for each budget."""
    conditions = [
        _condition(list(members.values()), eps, is_partly_known=bool(is_partly_known))
        for eps, is_partly_known in zip(budgets, partly, strict=True)
    ]
    first = next(iter(members.values()))
    expected = max(entry.n_expected for entry in members.values())
    counts = dict.fromkeys((condition.key for condition in conditions), expected)
    evaluation = replace(first.evaluation, conditions=first.evaluation.conditions | counts)
    return [
        Entry(
            evaluation,
            first.dataset,
            condition,
            first.manifest,
            Cost(),
            _flags(_up_to(list(members.values()), condition.eps)),
            tuple(dict.fromkeys(path for entry in members.values() for path in entry.folders)),
        )
        for condition in conditions
    ]


def _condition(members: Sequence[Entry], eps: Fraction, *, is_partly_known: bool) -> Condition:
    """The worst case at one budget; its settings say over what it is, so that unlikes are told."""
    whole = list(dict.fromkeys(entry.condition.attack for entry in members))
    members = _up_to(members, eps)
    conditions = [entry.condition for entry in members]
    conditions.sort(key=lambda one: (one.attack, one.eps))  # whatever the order of the runs
    first = conditions[0]
    attacks = list(dict.fromkeys(condition.attack for condition in conditions))
    identities = json.dumps([condition_identity(one) for one in conditions], sort_keys=True)
    changed = {
        f"{condition.attack}.{name}": (condition.settings[name], value)
        for condition in conditions
        for name, value in condition.changed.items()
    }
    return Condition(
        condition_id(WORST, eps, first.threat.norm),
        WORST,
        eps,
        first.protocol,
        first.threat,
        settings={
            "members": ", ".join(condition.id for condition in conditions),
            "constants": sha256(identities.encode()).hexdigest()[:DIGITS],
            **_mixed(members),
            **{name: value for name, (value, _) in changed.items()},
        },
        changed={name: usual for name, (_, usual) in changed.items()},
        passes=(0, 0),
        notes=(
            f"{WORST}: an image is right where none of {', '.join(whole)} broke it, at the budget "
            "or a smaller one.",
        ),
        flags=(f"worst-of-{len(attacks)}", *([TOP1_ONLY] if is_partly_known else ())),
        about=About(
            title="the worst case",
            few_classes={
                flag: most
                for condition in conditions
                for flag, most in condition.about.few_classes.items()
            },
        ),
    )


def _mixed(members: Sequence[Entry]) -> dict[str, Any]:
    """Seeds and number formats, where the attacks are of runs that differ in them."""
    manifests = [entry.manifest for entry in members]
    values: dict[str, set[Any]] = {
        "seeds": {manifest.seed for manifest in manifests},
        "attack_precisions": {manifest.attack_precision for manifest in manifests},
    }
    return {
        name: ", ".join(sorted(map(str, different)))
        for name, different in values.items()
        if len(different) > 1
    }


def _flags(members: Sequence[Entry]) -> tuple[str, ...]:
    """What happened to any of the attacks, and how they were computed."""
    flags = [flag for entry in members for flag in entry.shown_flags]
    precisions = [entry.manifest.attack_precision for entry in members]
    flags += [f"attack-in-{precision}" for precision in precisions if precision != "fp32"]
    if "seeds" in _mixed(members):
        flags.append(MIXED_SEEDS)
    return tuple(dict.fromkeys(flags))
