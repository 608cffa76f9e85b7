"""Names as text in a picture: whole, in lines, without markup, in letters that the fonts have."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import as_file, files

from matplotlib import rc_context
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

from ..text.wrapping import wrapped

FONTS = (
    "DejaVu Sans",
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC"),
    *("WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Malgun Gothic"),
    *("Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Arial"),
)
"""Tried in this order for each letter; the first comes with matplotlib."""
MOST_LINES = 6


@contextmanager
def styled() -> Iterator[None]:
    """The package's style inside, with those of `FONTS` that this machine has."""
    with (
        as_file(files("reports.plots") / "style.mplstyle") as style,
        rc_context({"font.family": list(_fonts())}, fname=style),
    ):
        yield


def lettering(text: str, width: int = 40) -> str:
    """A name as matplotlib draws it as it is: no mathematics, no missing letters, short lines.

    A letter that no font here has is written as its escape, backslash and number. A name of more
    than `MOST_LINES` lines loses its middle.

    Args:
        text: any label.
        width: characters of a line.
    """
    shown = "".join(_letter(letter) for letter in " ".join(text.split())) or "(no name)"
    if shown.startswith("_"):
        shown = f" {shown}"  # matplotlib leaves names that start with _ out of legends
    lines = wrapped(shown, width)
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines = [*lines[:half], "…", *lines[1 - half :]]
    return "\n".join(lines).replace("$", r"\$")


@lru_cache(maxsize=1)
def _fonts() -> tuple[str, ...]:
    installed = set(fontManager.get_font_names())
    return tuple(name for name in FONTS if name in installed)


@lru_cache(maxsize=4096)
def _letter(letter: str) -> str:
    if letter.isprintable() and any(_has(name, letter) for name in _fonts()):
        return letter
    return letter.encode("unicode_escape").decode()


def _has(font: str, letter: str) -> bool:
    path = findfont(FontProperties(family=font))
    return get_font(path).get_char_index(ord(letter)) != 0
