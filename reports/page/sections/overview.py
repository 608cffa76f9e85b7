"""The first screen: header, headline, and for each data set and protocol its curve and table."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup

from robustbench_twicing.conditions.condition import CLEAN, WORST
from robustbench_twicing.files.printable import count

from ...merging.sessions import Session
from ...tables.formats.as_html import shown
from ...text.shortening import shortened
from ..drawing.curve import Drawing, Models, percent
from ..drawing.sweeps import MOST_NAMED, drawings
from ..places import Attacks, Place
from .comparing import Section
from .leaderboard import Leaderboard, corruption_columns, leaderboard

MOST_LEADERS = 3
"""Models that share the first place and are named."""
LETTERS = 40
"""Of a name in the headline."""


class Hero(NamedTuple):
    """What is seen first of a place.

    Attributes:
        place: data set and protocol; empty where there is no other.
        title: of the curve.
        drawings: of it, one of each size; empty where there is none.
        board: the leaderboard.
        notes: below it.
    """

    place: str
    title: str
    drawings: Sequence[Drawing]
    board: Leaderboard
    notes: Sequence[str]


class Overview(NamedTuple):
    """The first screen.

    Attributes:
        facts: in a few words each, for the header.
        headline: one sentence, its names emphasised.
        heroes: of each place that has numbers.
    """

    facts: Sequence[str]
    headline: Markup
    heroes: Sequence[Hero]


def overview(
    every: Sequence[Place],
    models: Models,
    facts: Sequence[str],
    attacks: Attacks,
    compared: Section,
) -> Overview:
    """What is seen first.

    Args:
        every: see `places`.
        models: how they are shown.
        facts: see `facts_of`.
        attacks: see `Runs.attacks`.
        compared: with the baseline.
    """
    return Overview(
        facts,
        headline(every, attacks, models.names, compared),
        list(_heroes(every, attacks, models)),
    )


def facts_of(table: pd.DataFrame, sessions: Sequence[Session]) -> Iterator[str]:
    """Models, images, conditions, protocols, seeds, and the day on which the last process began."""
    yield count(table["label"].nunique(), "model")
    images = table["n_images"].dropna().astype(int)
    if len(images):
        few, many = images.min(), images.max()
        yield count(many, "image") if few == many else f"{few} to {many} images"
    yield count(table["condition"].nunique(), "condition")
    for noun in ("protocol", "seed"):
        values = [str(value) for value in table[noun].unique()]
        if values:
            yield f"{noun if len(values) == 1 else noun + 's'} {', '.join(values)}"
    days = [session.started for session in sessions if session.started]
    if days:
        try:
            day = datetime.fromisoformat(max(days))
        except ValueError:
            return
        yield f"{day.day} {day:%B} {day.year}"


def _heroes(every: Sequence[Place], attacks: Attacks, models: Models) -> Iterator[Hero]:
    for place in every:
        board = leaderboard(place, models, attacks)
        if board is None:
            continue
        drawn = drawings(place, models)
        curves = place.points["label"].nunique()
        notes = list(board.notes)
        if models.start:
            notes.append(f"Labels are without their common start {models.start.strip()}.")
        if drawn and curves > MOST_NAMED:
            also = " and the baseline" if models.baseline else ""
            first = f"those named first{also}"
            notes.append(f"The curve shows {MOST_NAMED} of {curves} models: {first}.")
        name = f"{place.dataset}, protocol {place.protocol}" if len(every) > 1 else ""
        title = place.title(attacks)
        yield Hero(name, f"{title[:1].upper()}{title[1:]}", drawn, board, notes)


def headline(
    every: Sequence[Place], attacks: Attacks, names: Mapping[str, str], compared: Section
) -> Markup:
    """One sentence with the two facts that matter, by a rule that looks at no result.

    The first fact is of the first place in which an attack was scored. Of several models: who has
    the highest accuracy at the headline's budget (see `places`), and between what all are at the
    largest budget. Of one model: its accuracy on clean images, and at these budgets. Without an
    attack it is said of the clean images, and without these of the corrupted ones. The second fact
    is how many differences to the baseline are significant, where there is a comparison.
    """
    place = next((place for place in every if place.attack), None)
    place = place or next(iter(every), None)
    if place is None:
        return Markup("Nothing was scored.")
    where = f"On {place.dataset}, protocol {place.protocol}: " if len(every) > 1 else ""
    first = _attacked(place, attacks, names) if place.attack else _unattacked(place, names)
    if not first:
        return Markup("Nothing was scored.")
    if where:
        first = first[:1].lower() + first[1:]
    return Markup("{}{}.{}").format(shown(where), first, _compared(compared, names))


def _attacked(place: Place, attacks: Attacks, names: Mapping[str, str]) -> Markup:
    accuracies = {budget: _at(place, budget) for budget in place.budgets}
    near, last = accuracies[place.budget], accuracies[place.budgets[-1]]
    worst = place.attack == WORST
    title = place.title(attacks)
    if place.rows["label"].nunique() == 1:
        under = f"in the {title}" if worst else f"under {title}"
        parts = [f"{percent(value)}\u00a0% of the clean images" for value in _clean(place).values()]
        for budget in dict.fromkeys((place.budget, place.budgets[-1])):
            parts += [
                f"{percent(v)} % {under} at {place.at(budget)}" for v in accuracies[budget].values()
            ]
        return Markup("{} is right on {}").format(_name(next(iter(near)), names), _and(parts))
    what = "worst-case accuracy" if worst else f"accuracy under {title}"
    leaders = Markup("At {}, {}").format(place.at(place.budget), _leaders(near, what, names))
    if place.budget == place.budgets[-1] or not last:
        return leaders
    return leaders + f"; at {place.at(place.budgets[-1])} {_range(last)}"


def _unattacked(place: Place, names: Mapping[str, str]) -> Markup | None:
    """Of clean images, or else of corrupted ones."""
    accuracies, what = _clean(place), "accuracy on clean images"
    if not accuracies:
        what = "mean accuracy on corrupted images"
        for column in corruption_columns(place)[0][:1]:
            cells = column.cells.items()
            accuracies = {label: cell.value for label, cell in cells if cell.value is not None}
    if not accuracies:
        return None
    if place.rows["label"].nunique() == 1:
        ((label, value),) = accuracies.items()
        return Markup("{} has an {} of {}\u00a0%").format(
            _name(label, names), what.replace("mean accuracy", "accuracy"), percent(value)
        )
    return _leaders(accuracies, what, names) + (
        f"; {_range(accuracies)}" if len(accuracies) > 1 else ""
    )


def _leaders(accuracies: dict[str, float], what: str, names: Mapping[str, str]) -> Markup:
    """Who has the highest accuracy."""
    best = max(accuracies.values())
    first = [label for label, value in accuracies.items() if value == best]
    if len(first) == len(accuracies) > 1:
        all_models = f"{_all(len(first))} have the same {what}"
        return Markup("{} ({}\u00a0%)").format(all_models, percent(best))
    if len(first) > MOST_LEADERS:
        who: str = f"{len(first)} of {len(accuracies)} models"
    else:
        who = _and([_name(label, names) for label in first])
    verb = "has" if len(first) == 1 else "have"
    return Markup("{} {} the highest {} ({}\u00a0%)").format(who, verb, what, percent(best))


def _range(accuracies: dict[str, float]) -> str:
    low, high = percent(min(accuracies.values())), percent(max(accuracies.values()))
    models = f"{_all(len(accuracies))} are" if len(accuracies) > 1 else "it is"
    return (
        f"{models} at {low}\u00a0%" if low == high else f"{models} between {low} and {high}\u00a0%"
    )


def _all(models: int) -> str:
    return "both models" if models == 2 else f"all {models} models"


def _compared(compared: Section, names: Mapping[str, str]) -> Markup:
    if not compared.tests:
        return Markup("")
    baseline = _name(compared.baseline, names)
    tests = count(compared.tests, "difference")
    better, worse = compared.better, compared.worse
    if not better + worse:
        return Markup(" None of {} to the baseline {} is significant.").format(tests, baseline)
    ways = f"{better} better, {worse} worse"
    if not (better and worse):
        ways = f"{'all ' if better + worse > 1 else ''}{'better' if better else 'worse'}"
    ways = f"{better + worse} {'is' if better + worse == 1 else 'are'} significant: {ways}"
    return Markup(" Of {} to the baseline {}, {}.").format(tests, baseline, ways)


def _name(label: str, names: Mapping[str, str]) -> Markup:
    return Markup("<b>{}</b>").format(shortened(names[label], LETTERS))


def _and(parts: Sequence[str]) -> Markup:
    *others, last = parts
    return Markup(", ").join(others) + Markup(" and {}" if others else "{}").format(last)


def _at(place: Place, budget: float) -> dict[str, float]:
    points = place.points[(place.points["budget"] == budget) & (place.points["status"] == "ok")]
    return _values(points)


def _clean(place: Place) -> dict[str, float]:
    rows = place.rows[(place.rows["attack"] == CLEAN) & (place.rows["status"] == "ok")]
    return _values(rows.drop_duplicates("label"))


def _values(rows: pd.DataFrame) -> dict[str, float]:
    return {str(row["label"]): float(row["top1"]) for row in rows.to_dict("records")}
