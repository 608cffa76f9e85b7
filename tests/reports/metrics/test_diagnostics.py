"""Flags where an attack was weak or a number misleads, and none where all is well."""

from collections.abc import Sequence
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
) -> Scored:
    rank = [0] * right + [1] * (of - right)
    rows: dict[str, Any] = {
        "rank": rank,
        "clean_rank": [0] * (of if before is None else before)
        + [1] * (0 if before is None else of - before),
        "rank_8bit": [0] * (right if rounded is None else rounded)
        + [1] * (of - (right if rounded is None else rounded)),
        "gradient": gradient if isinstance(gradient, float) else list(gradient),
        "loss": loss,
        "linf": levels / 255 if linf is None else linf,
        "clean_loss": clean_loss,
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
    return Scored(condition, pd.DataFrame(rows))


def flags(one: Scored, *others: Scored) -> list[str]:
    return diagnose(one, [one, *others])


def test_rounding_is_judged_by_the_rows_that_were_scored_both_ways() -> None:
    """Of 20 right images 5 are in the sample, of which 3 are right in 8 bits."""
    one = scored(right=20)
    sample = [0] * 3 + [1] * 2 + [None] * 15 + [1] * 10 + [None] * 70
    rows = one.rows.assign(rank_8bit=pd.array(sample, "Int32"))
    assert flags(one._replace(rows=rows)) == ["8bit--2-of-15-right"]
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
        (scored(loss=1.0), "loss-not-higher"),
        (scored(loss=0.5), "loss-not-higher"),
        (scored(levels=64, right=6), "unbroken-at-large-budget"),
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


def test_only_images_that_were_right_before_say_whether_the_loss_rose() -> None:
    one = scored()
    one.rows.loc[:9, "clean_rank"] = 3
    one.rows.loc[:9, "loss"] = -1e6
    assert flags(one) == []


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
