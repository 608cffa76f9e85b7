"""Layer placements: read as printed, printed as read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.errors import UserError
from robustbench_twicing.models.placement import format_placement, parse_placement, split_placement


@pytest.mark.parametrize(
    ("text", "layers", "printed"),
    [
        ("10-12", (9, 10, 11), "[10-12]"),
        ("12", (11,), "[12]"),
        ("1-3,10-12", (0, 1, 2, 9, 10, 11), "[1-3,10-12]"),
        ("3, 1,2", (0, 1, 2), "[1-3]"),
        ("1,3", (0, 2), "[1,3]"),
        ("5-5", (4,), "[5]"),
    ],
)
def test_placements_are_one_based_and_inclusive(
    text: str, layers: tuple[int, ...], printed: str
) -> None:
    assert parse_placement(text, depth=12) == layers
    assert format_placement(layers) == printed


@pytest.mark.slow
@given(st.sets(st.integers(0, 23), min_size=1))
def test_what_is_printed_reads_back(layers: set[int]) -> None:
    printed = format_placement(tuple(layers))
    assert parse_placement(printed.strip("[]"), depth=24) == tuple(sorted(layers))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a list of layers"),
        ("a", "not a list of layers"),
        ("1,", "not a list of layers"),
        ("-1", "not a list of layers"),
        ("0-3", "count upwards from 1 to 12"),
        ("10-13", "count upwards from 1 to 12"),
        ("12-10", "count upwards from 1 to 12"),
        ("1-3,3", "names a layer twice"),
    ],
)
def test_bad_placements_are_explained(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_placement(text, depth=12)


@pytest.mark.parametrize("name", ["m[1", "m1]", "m[1][2]", "m[1]x", "[1]"])
def test_brackets_close_at_the_end(name: str) -> None:
    with pytest.raises(UserError, match="does not end in one layer placement"):
        split_placement(name)


def test_a_name_without_brackets_has_no_placement() -> None:
    assert split_placement("m") == ("m", None)
    assert split_placement("m[1]") == ("m", "1")
