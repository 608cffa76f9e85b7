"""Image files: small good ones of every format, and those that unpack to far too much."""

import io
import struct
import zlib
from functools import cache
from random import Random
from typing import Any

import numpy as np
from PIL import Image, PngImagePlugin

HUGE = 2**31 - 1


def good_images() -> dict[str, dict[str, bytes]]:
    """Small images of every format and mode that is read."""
    levels = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
    rgb = Image.fromarray(levels)
    grey16 = Image.fromarray(levels[..., 0].astype(np.uint16) * 257)
    exif = Image.Exif()
    exif[0x0112] = 6
    said = PngImagePlugin.PngInfo()
    said.add_text("Comment", "x" * 200, zip=True)
    frames: dict[str, Any] = {"save_all": True, "append_images": [rgb.rotate(90), rgb]}
    made: dict[str, tuple[Image.Image, str, dict[str, Any]]] = {
        "a.jpg": (rgb, "JPEG", {"exif": exif}),
        "progressive.jpg": (rgb, "JPEG", {"progressive": True}),
        "cmyk.jpg": (rgb.convert("CMYK"), "JPEG", {}),
        "mpo.jpg": (rgb, "MPO", frames),
        "a.png": (rgb, "PNG", {"pnginfo": said}),
        "palette.png": (rgb.convert("P"), "PNG", {"transparency": 3}),
        "grey16.png": (grey16, "PNG", {}),
        "one.png": (rgb.convert("1"), "PNG", {}),
        "a.bmp": (rgb, "BMP", {}),
        "palette.bmp": (rgb.convert("P"), "BMP", {}),
        "a.ppm": (rgb, "PPM", {}),
        "a.tif": (rgb, "TIFF", {}),
        "lzw.tif": (rgb, "TIFF", {"compression": "tiff_lzw"}),
        "jpeg.tif": (rgb, "TIFF", {"compression": "jpeg"}),
        "deflate.tif": (grey16, "TIFF", {"compression": "tiff_adobe_deflate"}),
        "a.webp": (rgb, "WEBP", {"lossless": True}),
        "moving.webp": (rgb, "WEBP", frames),
        "moving.gif.png": (rgb.convert("P"), "GIF", frames),
    }
    return {name: {name: _saved(*how)} for name, how in made.items()} | {
        "plain.ppm": {"plain.ppm": b"P3 2 1 255\n1 2 3\n4 5 6\n"}
    }


def _saved(image: Image.Image, kind: str, options: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


@cache
def _rows(width: int, height: int) -> bytes:
    return zlib.compress(bytes((width + 1) * min(height, 10_000)) if width < 20_000 else b"\0")


def png(width: int, height: int, *chunks: bytes, depth: int = 8, colour: int = 0) -> bytes:
    """A PNG of any size, whose pixels are zeros."""
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", head)
        + b"".join(chunks)
        + _chunk(b"IDAT", _rows(width, height))
        + _chunk(b"IEND", b"")
    )


@cache
def _zeros() -> bytes:
    return zlib.compress(bytes(100_000_000))


def bomb(random: Random, content: bytes) -> bytes:
    """A few bytes that declare, or unpack to, very much."""
    zeros = _zeros()
    made = (
        lambda: png(HUGE, HUGE),
        lambda: png(1, HUGE),
        lambda: png(200_000, 1),
        lambda: png(9000, 9000),
        lambda: png(12_000, 12_000),
        lambda: png(8, 8, _chunk(b"zTXt", b"Comment\0\0" + zeros)),
        lambda: png(8, 8, _chunk(b"iCCP", b"icc\0\0" + zeros)),
        lambda: png(8, 8, *[_chunk(b"tEXt", b"Comment\0" + b"x" * 9000)] * 500),
        lambda: png(8, 8, _chunk(b"acTL", struct.pack(">II", HUGE, 0))),
        lambda: b"P6 99999999 99999999 255\n",
        lambda: b"P3 3 3 255\n" + b"#" * 3_000_000,
        lambda: b"BM" + struct.pack("<IIIIiiHHII", 54, 0, 54, 40, HUGE, 1, 1, 24, 0, 0) + bytes(16),
        lambda: (
            b"BM" + struct.pack("<IIIIiiHHII", 54, 0, 54, 40, 8, -HUGE, 1, 24, 0, 0) + bytes(16)
        ),
        lambda: b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0) + content,
        lambda: b"II*\0\x08\0\0\0" + struct.pack("<H", 65535) + bytes(12) * 99,
        lambda: b"RIFF\xff\xff\xff\x7fWEBPVP8X\n\0\0\0\x02\0\0\0\xff\xff\xff\xff\xff\xff",
    )
    return random.choice(made)()


def header_number(random: Random, content: bytes) -> bytes:
    """A number near the start, where formats keep sizes, is another one."""
    at = random.randrange(min(64, len(content)) + 1)
    size = random.choice((1, 2, 4))
    number = random.choice((0, 1, 200, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1)) % (1 << (8 * size))
    order = random.choice(("<", ">"))
    packed = struct.pack(order + {1: "B", 2: "H", 4: "I"}[size], number)
    return content[:at] + packed + content[at + size :]
