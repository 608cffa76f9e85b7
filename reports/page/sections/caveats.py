"""What to distrust first: flags, and what no flag says, each in a few words and in a sentence."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from ...merging.sessions import Session
from ...metrics.flags import Topic, by_weight, explain_flag, is_remark, short_flag, topic_of
from ...metrics.notes import some
from ..places import Attacks

MOST_CHIPS = 8
"""Caveats that the top of the page names."""
TOPICS: Mapping[Topic, str] = {
    "images": "Images and attacks",
    "corruptions": "Corruptions",
    "models": "Models",
    "reading": "Reading the numbers",
    "runs": "Runs and machines",
}
"""Groups of caveats in the order of the page, and their headings."""


class Caveat(NamedTuple):
    """Something that makes numbers doubtful, or coarse.

    Attributes:
        id: its place on the page.
        short: a few words.
        flag: the flag of this kind with the largest number in it, and how many others there are;
            empty where no flag says it.
        results: how many results have one of this kind; empty where it is about no single result.
        sentence: what it means.
        where: which results have which flag.
        is_warning: or else a remark on what the numbers are.
        topic: its group.
    """

    id: str
    short: str
    sentence: str
    flag: str = ""
    results: str = ""
    where: tuple[str, ...] = ()
    is_warning: bool = True
    topic: Topic = "images"


class Group(NamedTuple):
    """Caveats and notes on one topic.

    Attributes:
        title: heading.
        caveats: the gravest first.
        notes: sentences.
    """

    title: str
    caveats: Sequence[Caveat]
    notes: Sequence[str]

    @property
    def size(self) -> int:
        """How many things it says."""
        return len(self.caveats) + len(self.notes)


def grouped(caveats: Sequence[Caveat], notes: Mapping[Topic, Sequence[str]]) -> list[Group]:
    """All that a reader must know, by topic; topics on which nothing is said are left out.

    Args:
        caveats: see `distrust_first`.
        notes: see `notes_by_topic`.
    """
    groups = [
        Group(
            title,
            _end_once([caveat for caveat in caveats if caveat.topic == topic]),
            notes.get(topic, ()),
        )
        for topic, title in TOPICS.items()
    ]
    return [group for group in groups if group.size]


def _end_once(caveats: Sequence[Caveat]) -> list[Caveat]:
    """Where neighbours end in the same words after a colon, the last of them alone has these."""
    ends = [caveat.sentence.rpartition(": ")[2] for caveat in caveats]
    return [
        caveat._replace(sentence=f"{caveat.sentence.removesuffix(f': {end}')}.")
        if end == after and end != caveat.sentence
        else caveat
        for caveat, end, after in zip(caveats, ends, [*ends[1:], ""][: len(ends)], strict=True)
    ]


def chips(caveats: Sequence[Caveat]) -> tuple[list[Caveat], int]:
    """The gravest caveats, warnings before remarks, and how many others there are.

    Of those that say the same in short, the gravest stands for all.
    """
    different: dict[str, Caveat] = {}
    for caveat in caveats:
        different.setdefault(caveat.short, caveat)
    ordered = sorted(different.values(), key=lambda caveat: not caveat.is_warning)
    if len(ordered) <= MOST_CHIPS:
        return ordered, 0
    return ordered[: MOST_CHIPS - 1], len(ordered) - MOST_CHIPS + 1


def distrust_first(
    table: pd.DataFrame, sessions: Sequence[Session], attacks: Attacks
) -> Iterator[Caveat]:
    """What makes the numbers doubtful, the gravest first.

    Args:
        table: `results`.
        sessions: the processes that computed them.
        attacks: see `Runs.attacks`.
    """
    if table.empty:
        yield Caveat("caveat-results", "nothing scored", "Nothing was scored.")
        return
    yield from _not_scored(table)
    yield from flags_by_kind(table)
    yield from _precision(table)
    yield from _not_tried(table, attacks)
    if table["protocol"].nunique() > 1:
        apart = "Numbers of different protocols stand in different tables: they cannot be compared."
        yield Caveat("caveat-protocols", "several protocols", apart, topic="reading")
    if any(session.git is not None and session.git.dirty for session in sessions):
        dirty = "Some of it was computed by code that no commit holds (the checkout was changed)."
        yield Caveat("caveat-code", "code of no commit", dirty, topic="runs")


def _not_scored(table: pd.DataFrame) -> Iterator[Caveat]:
    lost = table[~table["status"].isin(("ok", "survivors"))]
    if len(lost):
        names = list(lost["label"] + " " + lost["condition"] + " (" + lost["status"] + ")")
        more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
        yield Caveat(
            "caveat-results",
            f"{len(lost)} of {len(table)} results not scored",
            f"{len(lost)} of {len(table)} results are not scored: {', '.join(names[:3])}{more}.",
        )


def _precision(table: pd.DataFrame) -> Iterator[Caveat]:
    scored = table[table["status"] == "ok"]
    if len(scored):
        sides = scored["top1_ci_high"] - scored["top1"], scored["top1"] - scored["top1_ci_low"]
        widest = max(side.astype(float).max() for side in sides)
        counts = dict.fromkeys((scored["n_images"].min(), scored["n_images"].max()))
        yield Caveat(
            "caveat-precision",
            f"95 % interval up to {widest:.1f} points",
            f"With {' to '.join(map(str, counts))} images, a 95 % interval reaches up to "
            f"{widest:.1f} points to either side; only differences on the same images, as in the "
            "comparison, can be read more finely.",
            is_warning=False,
            topic="reading",
        )


def _not_tried(table: pd.DataFrame, attacks: Attacks) -> Iterator[Caveat]:
    tried = [condition for name, condition in attacks.items() if name in set(table["attack"])]
    follows = any(condition.white_box for condition in tried)
    if not follows or any(condition.about.gradient_free for condition in tried):
        return
    hidden = "a model that only hides its gradients would look robust here."
    if set(table["protocol"]) == {"patch"}:
        sentence = f"Patches are drawn along gradients alone: {hidden}"
    else:
        sentence = f"No attack without gradients was run (SPSA, Square, AutoAttack): {hidden}"
    yield Caveat("caveat-gradients", "gradient attacks alone", sentence)


def flags_by_kind(table: pd.DataFrame) -> Iterator[Caveat]:
    """The kinds of flags in a table of results, the gravest first."""
    rows = table.assign(flag=table["flags"].str.split(";")).explode("flag")
    rows = rows[rows["flag"] != ""]
    kinds_of_rows = rows["flag"].map(lambda flag: by_weight(flag)[0])
    for number, (_, same) in enumerate(rows.groupby(kinds_of_rows), 1):
        kinds = sorted(same["flag"].unique(), key=_size, reverse=True)
        others = f" and {len(kinds) - 1} like it" if len(kinds) > 1 else ""
        results = same.index.nunique()
        is_everywhere = results == len(table)
        yield Caveat(
            f"flag-{number}",
            short_flag(kinds[0]),
            explain_flag(kinds[0]),
            f"{kinds[0]}{others}",
            "all results" if is_everywhere else f"{results} of {len(table)} results",
            ()
            if is_everywhere and not others
            else tuple(_where(flag, same[same["flag"] == flag]) for flag in kinds),
            not is_remark(kinds[0]),
            topic_of(kinds[0]),
        )


def _size(flag: str) -> tuple[float, str]:
    """How grave it is among its kind: the more the worse, but for the images of a sample."""
    number = re.search(r"\d+(\.\d+)?", flag.removeprefix("8bit"))
    sign = -1 if flag.startswith("limit-") else 1
    return (sign * float(number[0]) if number else 0.0, flag)


def _where(flag: str, rows: pd.DataFrame) -> str:
    return f"{flag}: {some(list(rows['label'] + ' ' + rows['condition']))}"
