"""Flags where an attack was weak or a number misleads, and none where all is well."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import pandas as pd
import pytest

from reports.metrics.diagnostics import Scored, diagnose
from reports.metrics.flags import explain_flag
from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import ThreatModel
from robustbench_twicing.records.first_version import about_of
from tests.reports.made import counted


def scored(
    attack: str = "pgd",
    levels: int = 4,
    right: int = 20,
    *,
    of: int = 100,
    white_box: bool | None = None,
    gradient: Sequence[float] | float = 1.0,
    loss: float = 3.0,
    clean_loss: float = 1.0,
    rounded: int | None = None,
    before: int | None = None,
    space: Literal["pixel", "normalized"] = "pixel",
    linf: float | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Scored:
    rank = [0] * right + [1] * (of - right)
    rows: dict[str, Any] = {
        "rank": rank,
        "clean_rank": [0] * (of if before is None else before)
        + [1] * (0 if before is None else of - before),
        "rank_8bit": [0] * (right if rounded is None else rounded)
        + [1] * (of - (right if rounded is None else rounded)),
        "gradient": gradient if isinstance(gradient, float) else list(gradient),
        "loss": [loss * (1 + row / 1000) for row in range(of)],
        "linf": levels / 255 if linf is None else linf,
        "clean_loss": [clean_loss * (1 + row / 1000) for row in range(of)],
        "clean_prediction": float("nan"),
    }
    white = attack in ("fgsm", "pgd") if white_box is None else white_box
    condition = Condition(
        f"{attack}@{levels}/255",
        attack,
        Fraction(levels, 255),
        threat=ThreatModel(space=space),
        white_box=white,
        about=About(**about_of(attack, "")),
    )
    return Scored(condition, counted(pd.DataFrame(rows | dict(columns or {})))[0])


def flags(one: Scored, *others: Scored) -> list[str]:
    return diagnose(one, [one, *others])


def test_rounding_is_judged_by_the_rows_that_were_scored_both_ways() -> None:
    """Of 20 right images 5 are in the sample, of which 3 are right in 8 bits."""
    sample = [0] * 3 + [1] * 2 + [None] * 15 + [1] * 10 + [None] * 70
    one = scored(right=20, columns={"rank_8bit": pd.array(sample, "Int32")})
    assert flags(one) == ["8bit--2-of-15-right"]
    assert "of a sample of 15 are right by -2" in explain_flag("8bit--2-of-15-right")


def test_a_sound_attack_has_no_flag() -> None:
    fgsm = scored("fgsm", right=40)
    noise = scored("noise", right=70)
    smaller = scored(levels=1, right=60)
    assert flags(scored(), fgsm, noise, smaller, scored("spsa", right=60)) == []


@pytest.mark.parametrize(
    ("one", "flag"),
    [
        (scored(gradient=[0.0] * 25 + [1.0] * 75), "zero-gradient-25%"),
        (scored(gradient=[0.0] + [float("nan")] * 99), "zero-gradient-100%"),
        (scored(loss=1.0, right=100), "loss-not-higher"),
        (scored(loss=0.5), "loss-not-higher"),
        (scored(levels=64, right=6), "unbroken-at-large-budget"),
        (scored("fgsm", levels=64, right=21), "unbroken-at-large-budget"),
        (scored(levels=8, before=20), "accuracy-not-lower"),
        (scored(levels=8, before=19), "accuracy-not-lower"),
        (scored(linf=3 / 255), "budget-not-used-75%"),
        (scored("spsa", levels=8, linf=2.55 / 255), "budget-not-used-31.9%"),
        (scored(rounded=22), "8bit-+2-right"),
        (scored(rounded=18), "8bit--2-right"),
        (scored(clean_loss=1e-8), "saturated-100%"),
    ],
)
def test_a_weak_attack_is_flagged(one: Scored, flag: str) -> None:
    assert flags(one) == [flag]


@pytest.mark.parametrize(
    "one",
    [
        scored(gradient=float("nan")),
        scored(gradient=1e-30),
        scored(levels=64, right=5),
        scored("fgsm", levels=64, right=20),
        scored(levels=63, right=50),
        scored(levels=8, before=21),
        scored(levels=7, before=20),
        scored(levels=8, before=20, space="normalized"),
        scored("spsa", levels=8, before=20),
        scored(levels=8, right=0, before=0),
        scored(linf=3.7 / 255),
        scored(linf=0.0),
        scored(right=0, linf=1 / 255),
        scored(levels=255, right=4, linf=0.46),
        scored(linf=1 / 255, space="normalized"),
        scored(rounded=21),
        scored(clean_loss=1e-6),
        scored("spsa", gradient=0.0),
        scored("spsa", loss=0.5),
        scored("spsa", levels=64, right=50),
        scored(levels=0, loss=1.0),
        scored(right=0, of=0),
    ],
)
def test_what_is_below_the_line_is_not(one: Scored) -> None:
    assert flags(one) == []


def answered(predictions: Sequence[int], targets: Sequence[int]) -> Scored:
    """Clean images with these answers and labels."""
    rows = pd.DataFrame({"clean_prediction": predictions, "target": targets})
    wrong = (rows["clean_prediction"] != rows["target"]).astype(int)
    counts, answers = counted(rows.assign(rank=wrong, clean_rank=wrong))
    return Scored(Condition("clean"), counts, answers=answers)


LABELS = [number % 10 for number in range(100)]
NEARLY_ONE = [4] * 99 + [9]


@pytest.mark.parametrize(
    ("predictions", "labels", "found"),
    [
        (LABELS, LABELS, []),
        (LABELS[:30] + [0] * 70, LABELS, []),
        ([3] * 100, LABELS, ["at-chance"]),
        ([number // 10 for number in range(100)], LABELS, ["at-chance"]),
        (LABELS, [label + 1 for label in LABELS], ["at-chance", "looks-like-labels-plus-1"]),
        ([label + 1 for label in LABELS], LABELS, ["at-chance", "looks-like-labels-minus-1"]),
        (
            [(3 * label + 5) % 10 if label != 5 else 4 for label in LABELS],
            LABELS,
            ["at-chance", "looks-like-classes-in-another-order"],
        ),
        ([1] * 19, LABELS[:19], []),
        ([4] * 30, [4] * 30, []),
        ([3] * 30, [4] * 30, ["at-chance"]),
        (NEARLY_ONE, NEARLY_ONE, []),
        ([4] * 98 + [7, 9], NEARLY_ONE, []),
        ([4] * 100, NEARLY_ONE, ["at-chance"]),
        ([3, 5] * 50, NEARLY_ONE, ["at-chance"]),
    ],
)
def test_answers_that_are_guesses_are_flagged_with_what_they_look_like(
    predictions: list[int], labels: list[int], found: list[str]
) -> None:
    assert flags(answered(predictions, labels)) == found


def test_losses_of_tiny_logits_are_equal_and_prove_nothing() -> None:
    alike = [2.302585092994046] * 100
    assert flags(scored(right=20, columns={"loss": alike, "clean_loss": alike})) == []
    assert flags(scored("noise", right=30), scored("noise", levels=1, right=20)) == []


def test_one_image_of_few_may_change_by_rounding() -> None:
    assert flags(scored(right=2, of=5, rounded=1)) == []


def test_only_images_that_were_right_before_say_whether_the_loss_rose() -> None:
    changed = {"clean_rank": [3] * 10 + [0] * 90, "loss": [-1e6] * 10 + [3.0] * 90}
    assert flags(scored(columns=changed)) == []


@pytest.mark.parametrize(
    ("other", "flag"),
    [
        (scored("pgd", levels=1, right=18), "not-monotone"),
        (scored("fgsm", right=19), "fgsm-beats-pgd"),
        (scored("spsa", right=19), "black-box-beats-white-box"),
        (scored("noise", right=20), "noise-as-strong"),
    ],
)
def test_an_attack_that_another_beats_is_flagged(other: Scored, flag: str) -> None:
    assert flags(scored(), other) == [flag]


def test_pgd_any_is_pgd_too() -> None:
    one = scored("pgd-any", white_box=True)
    assert flags(one, scored("fgsm", right=19)) == ["fgsm-beats-pgd"]


@pytest.mark.parametrize(
    "other",
    [
        scored("pgd", levels=1, right=19),
        scored("pgd", levels=8, right=0),
        scored("fgsm", right=20),
        scored("fgsm", levels=8, right=0),
        scored("spsa", right=20),
        scored("noise", right=21),
        scored("noise", levels=8, right=0),
    ],
)
def test_another_budget_or_a_tie_proves_nothing(other: Scored) -> None:
    assert flags(scored(), other) == []


def test_nothing_is_left_to_break_where_noise_breaks_all() -> None:
    assert flags(scored(right=0), scored("noise", right=0)) == []


@pytest.mark.parametrize(("right", "expected"), [(99, []), (98, ["noise-as-strong"])])
def test_noise_that_breaks_next_to_nothing_is_no_rival(right: int, expected: list[str]) -> None:
    """Of 100 images one may be chance, and an attack as weak as that proves nothing."""
    assert flags(scored(right=right), scored("noise", right=right)) == expected


def test_the_loss_of_a_single_image_has_to_rise() -> None:
    """One number is alike with itself, which says nothing of the scale of the logits."""
    same = {"loss": [2.3], "clean_loss": [2.3]}
    assert flags(scored(right=1, of=1, columns=same)) == ["loss-not-higher"]


@pytest.mark.parametrize(
    ("eps", "side", "expected"),
    [(20, 224, True), (19, 224, False), (10, 112, True), (9, 112, False), (20, 448, False)],
)
def test_what_a_large_length_is_grows_with_the_side(eps: int, side: int, expected: bool) -> None:
    one = scored(right=6)
    in_l2 = replace(one.condition, eps=Fraction(eps), threat=ThreatModel(norm="l2"))
    wanted = ["unbroken-at-large-budget"] if expected else []
    assert flags(one._replace(condition=in_l2, side=side)) == wanted


def test_a_targeted_attack_need_not_take_images_off_their_label() -> None:
    """What it shares with all attacks, like gradients of zero, is still said."""
    one = scored("pgd", levels=64, right=60, before=60, loss=0.5, gradient=[0.0] * 4 + [1.0] * 96)
    rivals = scored("spsa", levels=64, right=0), scored("noise", levels=64, right=50)
    aimed = one._replace(condition=replace(one.condition, about=About(targeted=True)))
    assert flags(aimed, *rivals) == ["zero-gradient-4%"]
    assert {"loss-not-higher", "unbroken-at-large-budget", "accuracy-not-lower"} < set(flags(one))
    assert {"black-box-beats-white-box", "noise-as-strong"} < set(flags(one, *rivals))
