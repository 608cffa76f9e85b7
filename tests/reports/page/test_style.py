"""The page's palette: the same with and without light-dark(), and legible in both."""

import re
from importlib.resources import files

import pytest

from reports.plots.series import COLOURS
from tests.reports.plots.test_series import luminance

FOLDER = files("reports.page") / "templates" / "style"
STYLE = "".join(sorted(file.read_text(encoding="utf-8") for file in FOLDER.iterdir()))
BOTH = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", STYLE)
}


def contrast(one: str, other: str) -> float:
    """Of WCAG 2.1, from 1 to 21."""
    dark, light = sorted((luminance(one) + 0.05, luminance(other) + 0.05))
    return light / dark


def test_browsers_without_light_dark_have_the_light_palette() -> None:
    fallback = STYLE.partition("@supports")[0]
    plain = dict(re.findall(r"--([\w-]+): (#\w+);", fallback))
    assert plain == {name: light for name, (light, _) in BOTH.items()}


@pytest.mark.parametrize("theme", [0, 1])
def test_words_and_series_stand_out_from_what_is_behind_them(theme: int) -> None:
    palette = {name: pair[theme] for name, pair in BOTH.items()}
    series = [f"c{number}" for number in range(len(COLOURS))]
    for ground in ("ground", "card"):
        for name in ("ink", "second", "third", "accent", "wrong", *series):
            assert contrast(palette[name], palette[ground]) >= 4.5, (name, ground)
    assert contrast(palette["warn"], palette["warn-ground"]) >= 4.5
    for bar in ("bar", "bar-base", "sunk", "heat", "pos", "neg", "mid"):
        assert contrast(palette["ink"], palette[bar]) >= 4.5, bar


def test_every_series_of_the_pictures_has_a_colour_on_the_page() -> None:
    for number in range(len(COLOURS)):
        assert f".c{number} {{ --c: var(--c{number}); }}" in STYLE
