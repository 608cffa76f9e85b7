"""From an image file to 8-bit RGB, or to an error that says what the file is instead."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from PIL import (  # and plugins of `FORMATS` that Pillow does not load by itself
    AvifImagePlugin,  # noqa: F401
    Image,
    ImageFile,
    Jpeg2KImagePlugin,  # noqa: F401
    TiffImagePlugin,  # noqa: F401
    WebPImagePlugin,  # noqa: F401
)

from ..errors import UserError
from ..files.printable import printable
from .stored import ImageFile as StoredFile
from .stored import Stored, read

FORMATS = ("JPEG", "PNG", "BMP", "PPM", "TIFF", "WEBP", "GIF", "JPEG2000", "AVIF")
"""What may be decoded, as far as this Pillow can. Others (EPS among them, for which Pillow runs a
program) are refused. A JPEG of several pictures (MPO) is opened as one."""
LARGEST_IMAGE = 89_478_485
"""Pixels; Pillow's own limit for a likely decompression bomb. ``--max-pixels`` sets another."""
LONGEST_STRIP = 200
"""Long side over short side; beyond it resizing the short side would exhaust the memory."""

_ORIENTATION = 0x0112
_TURNED = ("TIFF",)
"""Formats whose pictures Pillow turns upright as it decodes them; others it leaves as stored."""
_OTHER_CONTENT = (
    (b"version https://git-lfs", "is a Git LFS pointer, not the image itself"),
    (b"/annex/objects/", "is a git-annex pointer, not the image itself"),
    (b"<!doctype html", "is an HTML page"),
    (b"<html", "is an HTML page"),
    (b"<?xml", "is an XML document"),
    (b"{", "is text, not an image"),
    (b"pk\x03\x04", "is a zip archive"),
    (b"\x1f\x8b", "is gzip-compressed"),
)


class BadImageError(UserError):
    """An image that cannot be decoded.

    Attributes:
        path: where it is stored; for a member of an archive, its name below the archive's.
        what: what is wrong with it, like ``is empty (0 bytes)``.
        advice: what to do; the message ends with it.
    """

    def __init__(self, path: Stored | Path | str, what: str, advice: str = "") -> None:
        advice = advice or "put the original image in its place or take the file away"
        super().__init__(f"{printable(str(path))} {what}; {advice}")
        self.path = Path(str(path))
        self.what = what
        self.advice = advice

    @property
    def finding(self) -> str:
        """The message without the advice, for where the image was left out already."""
        return f"{printable(str(self.path))} {self.what}"

    def __reduce__(self) -> tuple[type[BadImageError], tuple[Path, str, str]]:
        return type(self), (self.path, self.what, self.advice)


def read_rgb(source: Stored | Path, most_pixels: int = LARGEST_IMAGE) -> Image.Image:
    """Decode one image to 8-bit RGB, as torchvision's ImageFolder does.

    Colour profiles are not applied, alpha is dropped, JPEGs are decoded at full size (no draft
    mode). An EXIF orientation is not applied, but to TIFF, which Pillow turns by itself, and
    therefore torchvision and timm, too. One thing differs: 16-bit grey is scaled to 8 bits, where
    a plain ``convert("RGB")`` would turn everything above 255 white.

    Args:
        source: where it is stored.
        most_pixels: width times height that is decoded.

    Raises:
        BadImageError: not an image, damaged, truncated, or unreasonably large.
        UnreadableError: the system cannot read it.
    """
    stored = _stored(source)
    image = _identify(stored, io.BytesIO(read(stored)), most_pixels)
    lenient = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    try:
        image.load()
        return to_rgb(stored, image)
    except BadImageError:
        raise
    except Exception as error:  # Pillow's decoders raise anything on damaged bytes
        what = f"is a truncated or damaged {image.format} ({_one_line(error)})"
        raise BadImageError(stored, what) from error
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient


class Header(NamedTuple):
    """What an image file says of itself: pixels as decoded, Pillow's mode and format.

    Attributes:
        orientation: by EXIF (in AVIF by its own boxes), 1 to 8; 1 where nothing says another.
        turned: whether decoding applies it.
    """

    width: int
    height: int
    mode: str
    format: str
    orientation: int = 1
    turned: bool = False


def read_header(source: Stored | Path, most_pixels: int = LARGEST_IMAGE) -> Header:
    """Read an image's header, no pixels; so a truncated file is not noticed.

    Raises:
        BadImageError: not an image, or unreasonably large.
        UnreadableError: the system cannot read it.
    """
    stored = _stored(source)
    with stored.open() as stream, warnings.catch_warnings():
        image = _identify(stored, stream, most_pixels)
        warnings.simplefilter("ignore")
        kind, orientation = image.format or "", _orientation(image)
        return Header(*image.size, image.mode, kind, orientation, kind in _TURNED)


def _stored(source: Stored | Path) -> Stored:
    return StoredFile(source.name, source.parent, 0) if isinstance(source, Path) else source


def _orientation(image: Image.Image) -> int:
    """The orientation by EXIF or XMP, as far as the header says it; a PNG's may come later."""
    try:
        value = int(Image.Image.getexif(image).get(_ORIENTATION, 1))  # PNG's own method decodes
    except Exception:  # damaged EXIF, which raises anything, is no concern: it is not applied
        return 1
    return value if 1 <= value <= 8 else 1


def _identify(stored: Stored, stream: IO[bytes], most_pixels: int) -> Image.Image:
    """Open an image without decoding it; ``stream`` stays the caller's."""
    pillows = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = None  # Pillow does not say the size; it is checked below
    try:
        image = Image.open(stream, formats=FORMATS)
    except Exception as error:  # Pillow's decoders raise anything on damaged bytes
        stream.seek(0)
        raise BadImageError(stored, _describe(stream.read(4096))) from error
    finally:
        Image.MAX_IMAGE_PIXELS = pillows
    width, height = image.size
    if width * height > most_pixels:
        raise BadImageError(
            stored,
            f"is {width} x {height}, more than {most_pixels:,} pixels",
            f"allow it with --max-pixels {width * height}, or take it away (eval and analyze leave "
            "it out with --on-bad-image skip)",
        )
    if max(width, height) > LONGEST_STRIP * min(width, height):
        raise BadImageError(stored, f"is {width} x {height} pixels, which no photograph is")
    return image


def to_rgb(path: Stored | Path, image: Image.Image) -> Image.Image:
    """A decoded image of any mode as 8-bit RGB.

    Raises:
        BadImageError: 32-bit grey, whose range nothing tells.
    """
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        grey = np.asarray(image).astype(np.uint32)
        return Image.fromarray(((grey + 128) // 257).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise BadImageError(path, f"has 32-bit grey values (mode {image.mode}) of unknown range")
    if image.mode == "P":
        image.info.pop("transparency", None)
    return image.convert("RGB")


def _describe(start: bytes) -> str:
    """What a file is that is not an image, from its first bytes."""
    if not start:
        return "is empty (0 bytes)"
    if not start.strip(b"\0"):
        return "holds nothing but zero bytes (an unfinished download?)"
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for beginning, what in _OTHER_CONTENT:
        if text.startswith(beginning):
            return what
    if start.startswith((b"\xff\xd8", b"\x89PNG", b"BM", b"II*\0", b"MM\0*", b"RIFF", b"GIF8")):
        return "is an image whose header is damaged or cut off"
    if all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in start):
        return "is text, not an image"
    return "is not an image that can be read here"


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:160]
