"""Pictures inside the page, as data URIs."""

import io
from base64 import b64encode
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robustbench_twicing.files.text import read_text

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
