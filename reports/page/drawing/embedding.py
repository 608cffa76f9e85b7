"""Pictures inside the page, as data URIs."""

import io
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robustbench_twicing.files.text import read_text

from ...plots import Picture, styled

MIB = 2**20
ROOM = 6 * MIB
LARGEST_SIDE = 224
"""Pixels; larger photographs are shown smaller."""
QUALITY = 88
"""Of JPEG; with full colour resolution, so that small changes stay visible."""

INK = "light-dark(#16202b, #e8edf2)"
THEMED = (
    f"<style>svg {{ color-scheme: light dark }} #patch_1 path {{ fill: none !important }} "
    f'[id^="text_"] {{ fill: {INK} }} '
    f'[style*="stroke: #000000"] {{ stroke: {INK} !important }}</style>'
)
"""Of matplotlib's SVG: no paper; black words and lines in the page's ink, light or dark."""

Pixels = NDArray[np.float32]


class Embedded(NamedTuple):
    """A picture in the page.

    Attributes:
        uri: its content.
        title: one line.
        alt: what it shows, for those who do not see it.
    """

    uri: str
    title: str
    alt: str


def embed_saved(path: Path) -> str:
    """An SVG that `save_pictures` wrote, as a data URI, in which words and lines follow the theme.

    Raises:
        UserError: it cannot be read.
        ValueError: it is no SVG.
    """
    start, end, rest = read_text(path).rpartition("</svg>")
    if not end:
        raise ValueError(f"{path.name} is no SVG")
    return _uri("image/svg+xml", f"{start}{THEMED}{end}{rest}".encode())


def embed_figure(picture: Picture) -> str:
    """A drawn figure as SVG, or as PNG where that is smaller, as for hatched bars."""
    svg, png = io.BytesIO(), io.BytesIO()
    with styled():
        picture.figure.savefig(svg, format="svg", metadata={"Date": None})
        picture.figure.savefig(png, format="png")
    uris = _uri("image/svg+xml", svg.getvalue()), _uri("image/png", png.getvalue())
    return min(uris, key=len)


def embed_pictures(drawn: Iterator[Picture], most: int) -> tuple[tuple[Embedded, ...], bool]:
    """As many pictures as there is room for, `ROOM` bytes.

    Args:
        drawn: pictures, drawn one by one.
        most: how many at most.

    Returns:
        The pictures, and whether there are more.
    """
    room = ROOM
    shown: list[Embedded] = []
    for picture in drawn:
        uri = embed_figure(picture)
        room -= len(uri)
        if len(shown) == most or room < 0:
            return tuple(shown), True
        shown.append(Embedded(uri, picture.title, picture.alt))
    return tuple(shown), False


def embed_pixels(pixels: Pixels) -> str:
    """An image (3, H, W) in [0, 1], clipped to that, as JPEG; for the eye only."""
    levels = np.rint(np.clip(pixels, 0, 1) * 255).astype(np.uint8)
    image = Image.fromarray(levels.transpose(1, 2, 0))
    image.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=QUALITY, subsampling=0)
    return _uri("image/jpeg", file.getvalue())


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{b64encode(content).decode()}"
