"""What comes from files cannot steer a terminal, and stays on one readable line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.files.printable import (
    LONGEST,
    count,
    name_some,
    one_line,
    printable,
    spoken_size,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a.pth: 2 of 3 keys", "a.pth: 2 of 3 keys"),
        ("ümläut 日本 →", "ümläut 日本 →"),
        ("red \x1b[31m bell \x07", r"red \x1b[31m bell \x07"),
        ("one\ntwo\r\n\tthree", "one two three"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\ud800 \x9b31m \u2028x", r"\ud800 \x9b31m x"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_a_long_line_keeps_both_ends() -> None:
    line = one_line("a.pth holds " + "x" * 10_000 + "; copy it again")
    assert len(line) == LONGEST
    assert line.startswith("a.pth holds xxx")
    assert line.endswith("xxx; copy it again")
    assert " ... " in line
    assert one_line("x" * LONGEST) == "x" * LONGEST


@pytest.mark.slow
@given(st.text())
def test_every_line_can_be_printed(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert len(line) <= LONGEST
    assert printable(printable(text)) == printable(text)


def test_wording() -> None:
    assert name_some("abc") == "a, b, c"
    assert name_some("abcdefg") == "a, b, c and 4 more"
    assert (count(1, "image"), count(0, "image")) == ("1 image", "0 images")
    sizes = [spoken_size(size) for size in (1, 1499, 999_499, 1_260_000, 2_500_000_000)]
    assert sizes == ["1 kB", "1 kB", "999 kB", "1.3 MB", "2.5 GB"]
    assert count(2000, "file is", "files are") == "2,000 files are"
