"""Names in pictures are what they are."""

import io
import logging

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from reports.plots import styled
from reports.plots.lettering import MOST_LINES, lettering


def drawn(text: str) -> str:
    """What is on the axes after the text was drawn as a legend and as a title, as SVG."""
    file = io.StringIO()
    with styled():
        figure = Figure()
        ax = figure.subplots()
        ax.plot([0], [0], label=text)
        ax.set_title(text)
        ax.legend(*ax.get_legend_handles_labels())
        figure.savefig(file, format="svg")
    return file.getvalue()


def test_short_names_are_left_as_they_are() -> None:
    name = "deit_tiny_twicing_patch16_224[10-12]"
    assert lettering(name) == name
    assert lettering("Zoë's β-Netz →") == "Zoë's β-Netz →"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["$x$", "a$b", "$$", r"\alpha $\frac$", r"\$5", "50 % & #1 {x}^2"])
def test_nothing_is_mathematics(name: str) -> None:
    with styled():
        text = Figure().text(0, 0, lettering(name))
    shown, is_math = text._preprocess_math(text.get_text())  # type: ignore[attr-defined]
    assert is_math is False
    assert shown == name
    drawn(lettering(name))


def test_letters_without_a_font_become_escapes() -> None:
    assert lettering("a\U0010ffffb") == r"a\U0010ffffb"
    assert lettering("a\x07b\u202ec") == r"a\x07b\u202ec"


def test_names_are_broken_after_punctuation_if_possible() -> None:
    assert lettering("first_part second-part", 12) == "first_part\nsecond-part"
    assert lettering("x" * 25, 10) == "\n".join(["x" * 10, "x" * 10, "x" * 5])
    assert lettering("ab_cd_ef", 5) == "ab_\ncd_ef"


def test_a_very_long_name_keeps_its_beginning_and_end() -> None:
    name = "begin" + "x" * 400 + "end"
    lines = lettering(name, 20).split("\n")
    assert len(lines) == MOST_LINES
    assert lines[0].startswith("begin")
    assert lines[-1].endswith("end")
    assert "…" in lines


def test_a_name_of_six_lines_is_whole() -> None:
    assert lettering("x" * 120, 20) == "\n".join(["x" * 20] * 6)


def test_space_is_no_name() -> None:
    assert lettering("") == lettering(" \n ") == "(no name)"
    assert lettering("a\n b\tc") == "a b c"


def test_a_name_with_an_underscore_first_is_in_the_legend() -> None:
    ax = Figure().subplots()
    ax.plot([0], [0], label=lettering("_hidden"))
    assert [each.strip() for each in ax.get_legend_handles_labels()[1]] == ["_hidden"]


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_can_be_drawn(name: str) -> None:
    text = lettering(name, 20)
    assert all(len(line) <= 21 + 9 for line in text.split("\n"))
    assert text.strip()


@pytest.mark.slow
def test_odd_names_are_drawn_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings are errors in tests; fonts that are missing are only logged."""
    with caplog.at_level(logging.WARNING):
        for name in ("模型", "🦊 fox", "_x", "a" * 500, "<b>&amp;</b>", "--> <!--", "\ud800"):
            svg = drawn(lettering(name))
            assert "<b>" not in svg
    assert not caplog.records


def test_the_style_ends_with_the_block() -> None:
    before = dict(matplotlib.rcParams)
    with styled():
        assert matplotlib.rcParams["savefig.bbox"] == "tight"
    assert dict(matplotlib.rcParams) == before
