"""Columns on a terminal: numbers stay whole, names fold between words, pieces are few."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.tables.formats.layout import PADDING, TextColumn, arrange

NUMBERS = [TextColumn(f"PGD {n}/255", ["100.00", "99.50"]) for n in range(6)]


def names(*texts: str) -> TextColumn:
    return TextColumn("model", texts, is_name=True)


def total(widths: list[int]) -> int:
    return sum(widths) + PADDING * len(widths) + 1


def test_what_fits_is_one_piece_and_not_folded() -> None:
    (piece,) = arrange([names("a", "bb")], NUMBERS, 200)
    assert piece.columns == [0, 1, 2, 3, 4, 5]
    assert (piece.stub, piece.widths) == ([5], [9] * 6)


def test_names_fold_before_a_table_is_cut_and_only_as_much_as_that_needs() -> None:
    long = names("deit_tiny_twicing_patch16_224", "b")
    wide = arrange([long], NUMBERS[:2], 200)[0]
    assert wide.stub == [29]
    tight = total([29, 6, 6])
    (piece,) = arrange([long], NUMBERS[:2], tight)
    assert (piece.stub, piece.widths) == ([29], [6, 6])
    (piece,) = arrange([long], NUMBERS[:2], tight - 9)
    assert (piece.stub, piece.widths) == ([20], [6, 6])


def test_of_equally_many_pieces_the_one_with_wider_names_is_taken() -> None:
    segments = arrange([names("fmnist_featscale_long")], NUMBERS, 60)
    assert [piece.columns for piece in segments] == [[0, 1, 2], [3, 4, 5]]
    assert {piece.stub[0] for piece in segments} == {21}


def test_words_get_the_room_that_is_left() -> None:
    said = TextColumn("verdict", ["not comparable: 100 images rather than 50,000"], is_name=True)
    assert said.least == LEAST_OF_WORDS
    (piece,) = arrange([names("a")], [said], 40)
    assert piece.widths == [40 - 1 - 5 - 2 * PADDING]


LEAST_OF_WORDS = 12


@pytest.mark.slow
@given(
    st.lists(st.text("abc_-/ 1", max_size=50), min_size=1, max_size=4),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12),
    st.integers(50, 120),
)
def test_every_column_is_there_once_and_no_number_is_cut(
    labels: list[str], values: list[float], width: int
) -> None:
    columns = [TextColumn("a head", [f"{value:.2f}"] * len(labels)) for value in values]
    segments = arrange([names(*labels)], columns, width)
    assert [at for piece in segments for at in piece.columns] == list(range(len(columns)))
    for piece in segments:
        assert total([*piece.stub, *piece.widths]) <= width
        for at, wide in zip(piece.columns, piece.widths, strict=True):
            assert wide >= len(columns[at].texts[0])


def test_names_give_way_to_numbers_on_a_very_narrow_terminal() -> None:
    segments = arrange(
        [names("model_of_somebody", "b")], [TextColumn("top-1", ["100.00"] * 2)] * 2, 20
    )
    assert [(piece.columns, total([*piece.stub, *piece.widths])) for piece in segments] == [
        ([0], 20),
        ([1], 20),
    ]


@pytest.mark.parametrize("width", [1, 10, 20])
def test_a_terminal_too_narrow_for_anything_gets_a_column_at_a_time(width: int) -> None:
    assert [piece.columns for piece in arrange([names("a_name")], NUMBERS, width)] == [
        [number] for number in range(6)
    ]
