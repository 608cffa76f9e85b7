"""Lines end where a reader would end them, and no letter is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from reports.text.wrapping import longest_piece, wrapped


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("fmnist_featscale", 12, ["fmnist_", "featscale"]),
        ("fmnist_twicing[3-4]", 14, ["fmnist_twicing", "[3-4]"]),
        ("imagenet-c/gaussian_noise/1", 14, ["imagenet-c/", "gaussian_", "noise/1"]),
        ("PGD 4/255", 6, ["PGD", "4/255"]),
        ("pgd@0.25/255", 8, ["pgd@", "0.25/255"]),
        ("a name that is short", 40, ["a name that is short"]),
        ("foolbox:LinfPGD", 10, ["foolbox:", "LinfPGD"]),
        ("a_very_unbreakableword", 8, ["a_very_", "unbreaka", "bleword"]),
        ("模型模型", 5, ["模型", "模型"]),
        ("", 5, [""]),
        ("   ", 5, [""]),
    ],
)
def test_names_break_between_their_words(text: str, width: int, lines: list[str]) -> None:
    assert wrapped(text, width) == lines


def test_the_longest_piece_is_what_a_column_needs() -> None:
    assert longest_piece("imagenet-c/gaussian_noise/1") == len("imagenet-")
    assert longest_piece("4/255 of 10-12") == len("4/255")
    assert longest_piece("") == 0


@pytest.mark.slow
@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=60), st.integers(2, 30)
)
def test_no_letter_is_lost_and_no_line_is_too_wide(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
