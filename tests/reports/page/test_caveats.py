"""Caveats: which there are, the gravest first, and what they say in short."""

import pandas as pd
import pytest

from reports.merging.sessions import Session
from reports.page.sections.caveats import (
    MOST_CHIPS,
    Caveat,
    chips,
    distrust_first,
    flags_by_kind,
    grouped,
)
from reports.statistics.intervals import wilson
from tests.reports.plots.rows import (
    IMAGES,
    attacks_of,
    joined,
    patches,
    sweep,
    table,
    with_intervals,
)

RIGHT = {"0": 150, "0.5": 120, "1": 60, "4": 10}


def test_precision_is_the_larger_side_of_an_interval_that_is_not_even() -> None:
    """All 200 right: nothing above 100, and 1.88 points below."""
    rows = sweep("A", "fgsm", {"0": 200})
    (sentence,) = [line for line in doubts(rows) if "95 %" in line]
    assert f"up to {100 * (1 - wilson(200, 200).low):.1f} points to either side" in sentence
    assert "up to 1.9 points" in sentence


def session(*, dirty: bool) -> Session:
    return Session.model_validate({"started": "", "git": {"commit": "a", "dirty": dirty}})


def caveats(rows: pd.DataFrame, *sessions: Session) -> list[Caveat]:
    return list(distrust_first(with_intervals(rows), sessions, attacks_of(rows)))


def doubts(rows: pd.DataFrame, *sessions: Session) -> list[str]:
    return [caveat.sentence for caveat in caveats(rows, *sessions)]


def test_what_is_not_scored_comes_first() -> None:
    rows = sweep("A", "pgd", {"0": 150, "1": None, "2": None, "3": None, "4": None})
    first, *_ = doubts(rows.assign(flags="random-weights"))
    assert first.startswith("4 of 5 results are not scored: A pgd@1/255 (error), ")
    assert first.endswith(" and 1 more.")


def test_flags_are_said_by_weight_once_a_kind() -> None:
    rows = sweep("A", "pgd", {"0": 150, "1": 60, "4": 20})
    flags = ["random-weights", "8bit-+3-right;random-weights", "8bit--12-right;random-weights"]
    first, second, *others = caveats(rows.assign(flags=flags))
    assert (first.flag, first.results) == ("random-weights", "all results")
    assert first.sentence.startswith("the network was never trained")
    assert (second.flag, second.results) == ("8bit--12-right and 1 like it", "2 of 3 results")
    assert second.sentence.startswith("rounding")
    assert not any(caveat.flag for caveat in others)


def test_the_width_of_intervals_is_said() -> None:
    (sentence,) = (doubt for doubt in doubts(sweep("A", "pgd", RIGHT)) if "interval" in doubt)
    low, high = wilson(120, IMAGES)
    assert f"With {IMAGES} images" in sentence
    assert f"up to {100 * max(high - 120 / IMAGES, 120 / IMAGES - low):.1f} points" in sentence


@pytest.mark.parametrize(
    ("attack", "message"),
    [("pgd", True), ("fgsm", True), ("spsa", False), ("noise", False), ("foolbox:Square", False)],
)
def test_missing_black_box_attacks_are_said(attack: str, message: bool) -> None:
    sentences = doubts(sweep("A", attack, RIGHT))
    assert any("without gradients" in sentence for sentence in sentences) is message
    both = doubts(joined(sweep("A", attack, RIGHT), sweep("A", "spsa", {"1": 1})))
    assert not any("without gradients" in sentence for sentence in both)


def test_nobody_is_told_to_draw_patches_without_gradients() -> None:
    drawn = patches("A", "patch", {0: 150, 16: 20})
    sentences = " ".join(doubts(drawn))
    assert "SPSA" not in sentences
    assert "along gradients alone: a model that only hides its gradients" in sentences
    assert "SPSA" in " ".join(doubts(joined(drawn, sweep("A", "pgd", RIGHT))))


def test_two_protocols_and_changed_code_are_said() -> None:
    rows = joined(sweep("A", "pgd", RIGHT), sweep("A", "pgd", RIGHT, protocol="paper"))
    sentences = " ".join(doubts(rows, session(dirty=True), Session(started="")))
    assert "cannot be compared" in sentences
    assert "no commit holds" in sentences
    one = " ".join(doubts(sweep("A", "pgd", RIGHT), session(dirty=False)))
    assert "cannot be compared" not in one
    assert "no commit holds" not in one


def test_kinds_of_flags_name_the_results_that_have_them() -> None:
    rows = joined(*(sweep(f"m{n}", "pgd", {"1": 5}) for n in range(9)))
    flags = ["8bit-+1-right"] * 8 + [""]
    (kind,) = flags_by_kind(rows.assign(flags=flags))
    assert kind.results == "8 of 9 results"
    assert kind.where == (
        "8bit-+1-right: " + ", ".join(f"m{n} pgd@1/255" for n in range(6)) + " and 2 more",
    )


def test_each_has_a_place_of_its_own_and_a_few_words() -> None:
    rows = sweep("A", "pgd", {"0": 150, "1": 60, "4": None})
    every = caveats(rows.assign(flags="limit-200-of-1000;my-own-flag"), session(dirty=True))
    assert len({caveat.id for caveat in every}) == len(every)
    assert [caveat.short for caveat in every] == [
        "1 of 3 results not scored",
        "200 of 1000 images",
        "my own flag",
        "95 % interval up to 6.7 points",
        "gradient attacks alone",
        "code of no commit",
    ]
    assert [caveat.short for caveat in every if not caveat.is_warning] == [every[3].short]


def named(short: str, *, is_warning: bool = True) -> Caveat:
    return Caveat(f"id-{short}", short, "", is_warning=is_warning)


def test_chips_are_warnings_first_and_say_nothing_twice() -> None:
    remark, twice = named("remark", is_warning=False), named("b")._replace(id="again")
    shown, more = chips([named("a"), remark, named("b"), twice])
    assert shown == [named("a"), named("b"), remark]
    assert more == 0


def test_of_many_caveats_the_first_have_chips_and_the_others_are_counted() -> None:
    every = [named(str(number)) for number in range(MOST_CHIPS + 1)]
    assert chips(every[:-1]) == (every[:-1], 0)
    assert chips(every) == (every[: MOST_CHIPS - 1], 2)


def test_nothing_scored_is_the_only_caveat_of_an_empty_table() -> None:
    assert doubts(table([])) == ["Nothing was scored."]


def test_of_samples_the_smallest_is_named() -> None:
    rows = sweep("A", "pgd", {"0": 150, "1": 60, "4": 20})
    flags = ["limit-10-of-1000", "limit-3-of-20", "limit-3-of-20"]
    names = [caveat.flag for caveat in caveats(rows.assign(flags=flags))]
    assert "limit-3-of-20 and 1 like it" in names


def test_caveats_and_notes_stand_by_topic_and_are_counted() -> None:
    every = [
        named("images"),
        named("models")._replace(topic="models"),
        named("gravest")._replace(topic="models"),
    ]
    groups = grouped(every, {"images": ["a note", "another"], "runs": [], "reading": ["one"]})
    assert [(group.title, group.size) for group in groups] == [
        ("Images and attacks", 3),
        ("Models", 2),
        ("Reading the numbers", 1),
    ]
    assert [caveat.short for caveat in groups[1].caveats] == ["models", "gravest"]


def test_what_neighbours_end_in_is_said_once() -> None:
    sentences = ["few: not so.", "small: not so.", "old: never.", "no colon."]
    caveats = [Caveat("id", "", sentence) for sentence in sentences]
    (group,) = grouped(caveats, {})
    said = [caveat.sentence for caveat in group.caveats]
    assert said == ["few.", "small: not so.", "old: never.", "no colon."]
