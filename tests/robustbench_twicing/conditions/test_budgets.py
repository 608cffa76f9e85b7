"""Budgets are exact fractions, however they are written."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robustbench_twicing.conditions.budgets import SLIP, format_budget, parse_budget, parse_budgets
from robustbench_twicing.errors import UserError

BUDGETS = st.fractions(0, 1, max_denominator=10_000)


def can_be_read(budget: Fraction) -> bool:
    """As it is written; of 4/225 `parse_budget` asks whether it is meant."""
    return format_budget(budget).endswith("/255") or not SLIP.fullmatch(str(budget.denominator))


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("0", Fraction(0)),
        ("0.0", Fraction(0)),
        ("0/255", Fraction(0)),
        ("4/255", Fraction(4, 255)),
        ("8/510", Fraction(4, 255)),
        (" 4 / 255 ", Fraction(4, 255)),
        ("0.5/255", Fraction(1, 510)),
        (".5/255", Fraction(1, 510)),
        ("1./255", Fraction(1, 255)),
        ("0.2", Fraction(1, 5)),
        ("0.0157", Fraction(157, 10_000)),
        ("1e-3", Fraction(1, 1000)),
        ("255/255", Fraction(1)),
        ("3/1", None),
        ("256/255", None),
        ("-1/255", None),
        ("-0", None),
        ("+1/255", None),
        ("1/0", None),
        ("1/0.0", None),
        ("1/255/2", None),
        ("/255", None),
        ("4/", None),
        ("", None),
        (".", None),
        ("nan", None),
        ("inf/255", None),
        ("1e5", None),
        ("0x4/255", None),
        ("4,0/255", None),
        ("1_0/255", None),
        ("four", None),
    ],
)
def test_reads_one_budget(text: str, budget: Fraction | None) -> None:
    if budget is not None:
        assert parse_budget(text) == budget
        return
    with pytest.raises(UserError, match="budget"):
        parse_budget(text)


@pytest.mark.parametrize("text", ["4", "8", "0.5", "0.2000001", "1", "255"])
def test_a_plain_number_above_a_fifth_is_refused_with_the_likely_meaning(text: str) -> None:
    with pytest.raises(UserError, match=rf"write (.* or )?{text}/255$"):
        parse_budget(f" {text}")


def test_a_plain_number_may_be_meant_as_it_is() -> None:
    wanted = (
        "budget '0.3' of the pixel range is 76.5/255; write 76.5/255 if you mean it, or 0.3/255"
    )
    with pytest.raises(UserError, match=f"^{wanted}$"):
        parse_budget("0.3")


@pytest.mark.parametrize("text", ["32", " 32 ", "patch:32"])
def test_the_side_of_a_patch_is_a_whole_number_of_pixels(text: str) -> None:
    assert parse_budget(text, "patch") == 32
    assert format_budget(Fraction(32), "patch") == "patch:32"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("32/255", "no side of a patch in whole pixels, like 32; was L-infinity meant"),
        ("1.5", "no side of a patch in whole pixels, like 32"),
        ("-1", "no side of a patch in whole pixels, like 32"),
        ("", "no side of a patch in whole pixels, like 32"),
        ("l2:3", "one of protocol l2; give --protocol l2, or write it like 32"),
    ],
)
def test_what_is_no_side_of_a_patch_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_budget(text, "patch")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4/256", "budget '4/256' is 3.984/255; write 4/255, or 8/512 if you mean it"),
        ("4/225", "budget '4/225' is 4.533/255; write 4/255, or 8/450 if you mean it"),
        (" 0.5 / 25", "budget ' 0.5 / 25' is 5.1/255; write 0.5/255, or 1.0/50 if you mean it"),
        *((f"1/{slip}", "write 1/255, or 2/") for slip in (254, 265, 155, 525, 552, 2255, 2555)),
    ],
)
def test_a_denominator_that_is_nearly_255_is_asked_about(text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)) as refusal:
        parse_budget(text)
    meant = str(refusal.value).partition(", or ")[2].partition(" if")[0]
    numerator, denominator = map(Fraction, text.split("/"))
    assert parse_budget(meant) == numerator / denominator


@pytest.mark.parametrize("text", ["8/510", "1/128", "1/100", "0/256", "2/512"])
def test_other_denominators_are_read(text: str) -> None:
    assert parse_budget(text) == Fraction(text)


def test_the_limit_is_for_plain_numbers_only() -> None:
    assert parse_budget("0.2") == Fraction(1, 5)
    assert parse_budget("128/255") == Fraction(128, 255)


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(UserError, match="budget"):
        parse_budget(f"0.{'0' * 5000}1/255")


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (Fraction(0), "0/255"),
        (Fraction(4, 255), "4/255"),
        (Fraction(100, 255), "100/255"),
        (Fraction(1, 510), "0.5/255"),
        (Fraction(1, 2550), "0.1/255"),
        (Fraction(1, 1020), "0.25/255"),
        (Fraction(157, 10_000), "4.0035/255"),
        (Fraction(1), "255/255"),
        (Fraction(1, 7), "1/7"),
    ],
)
def test_writes_a_budget_as_papers_do(budget: Fraction, text: str) -> None:
    assert format_budget(budget) == text


@pytest.mark.slow
@given(BUDGETS.filter(can_be_read))
def test_what_is_written_reads_back_as_the_same_number(budget: Fraction) -> None:
    text = format_budget(budget)
    assert "/" in text
    assert parse_budget(text) == budget
    assert format_budget(parse_budget(text)) == text


@pytest.mark.slow
@given(st.integers(0, 255), st.integers(1, 1000))
def test_one_budget_has_one_spelling(levels: int, factor: int) -> None:
    other = parse_budget(f"{levels * factor}/{255 * factor}")
    assert other == Fraction(levels, 255)
    assert format_budget(other) == f"{levels}/255"


@pytest.mark.slow
@given(st.one_of(st.text(), st.text("0123456789./:,eE- +", max_size=20)))
@example("1e999/1e999")
@example("1e-999")
@example("٤/٢٥٥")
@example("²/255")
@example("0:1:1e-999")
@example("0:0:0")
def test_whatever_is_typed_ends_in_budgets_or_one_line(text: str) -> None:
    try:
        budgets = parse_budgets(text)
    except UserError as error:
        message = str(error)
    else:
        message = "in order"
        assert budgets
        assert all(0 <= budget <= 1 for budget in budgets)
        readable = list(filter(can_be_read, budgets))
        assert [parse_budget(format_budget(budget)) for budget in readable] == readable
    assert len(message.splitlines()) == 1


def test_a_list_keeps_its_order_and_drops_repeats() -> None:
    assert parse_budgets("4/255,1/255,8/510") == (Fraction(4, 255), Fraction(1, 255))


def test_a_range_includes_its_end() -> None:
    assert parse_budgets("0:8/255:1/255") == tuple(Fraction(n, 255) for n in range(9))
    assert parse_budgets("1/255:4/255:2/255") == (Fraction(1, 255), Fraction(3, 255))
    assert parse_budgets("2/255:2/255:1/255") == (Fraction(2, 255),)
    assert parse_budgets("0:0.3/255:0.1/255,4/255")[-2:] == (Fraction(1, 850), Fraction(4, 255))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty entry"),
        (",", "empty entry"),
        ("1/255,,2/255", "empty entry"),
        ("0:1/255", "start:stop:step"),
        ("0:1/255:0", "has no budgets"),
        ("2/255:1/255:1/255", "has no budgets"),
        ("0:1/255:0.0001/255", "10001 budgets; at most 1000"),
        ("1/255:b:1/255", "is not a number"),
    ],
)
def test_a_bad_list_says_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        parse_budgets(text)


def test_the_longest_range_is_allowed() -> None:
    assert len(parse_budgets("0:0.999/255:0.001/255")) == 1000
