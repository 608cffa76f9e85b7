"""Decoding equals torchvision's loader; what is no image is refused by name."""

import io
import pickle
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile, features
from PIL.PngImagePlugin import PngInfo
from torchvision.datasets.folder import pil_loader

from robustbench_twicing.data.decoding import BadImageError, read_header, read_rgb
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.data.summary import survey
from robustbench_twicing.errors import UserError


def noise(shape: tuple[int, ...], dtype: type = np.uint8) -> np.ndarray:
    top = np.iinfo(dtype).max
    return np.random.default_rng(0).integers(0, top, shape, endpoint=True).astype(dtype)


def picture(mode: str) -> Image.Image:
    """A noisy 40 x 30 picture of that mode."""
    if mode in ("1", "P"):
        return Image.fromarray(noise((30, 40, 3))).convert(mode)
    if mode == "LA":
        return Image.fromarray(noise((30, 40, 4))).convert("LA")
    channels = {"L": (), "RGB": (3,), "RGBA": (4,), "CMYK": (4,)}[mode]
    shape = (30, 40, *channels)
    return Image.frombytes(mode, (40, 30), noise(shape).tobytes())


MODES = [
    ("RGB", "png"),
    ("RGB", "jpeg"),
    ("RGB", "bmp"),
    ("RGB", "ppm"),
    ("RGB", "webp"),
    ("RGB", "tiff"),
    ("L", "png"),
    ("L", "jpeg"),
    ("LA", "png"),
    ("RGBA", "png"),
    ("RGBA", "webp"),
    ("P", "png"),
    ("CMYK", "jpeg"),
    ("CMYK", "tiff"),
    ("1", "png"),
]


@pytest.mark.parametrize(("mode", "ending"), MODES)
def test_every_mode_decodes_as_torchvision_does(mode: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{ending}"
    picture(mode).save(path)
    image = read_rgb(path)
    assert image.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(image), np.asarray(pil_loader(path)))


def test_palette_with_transparency_keeps_its_colours(tmp_path: Path) -> None:
    path = tmp_path / "palette.png"
    image = picture("P")
    opaque = np.asarray(image.convert("RGB"))
    image.save(path, transparency=bytes(range(256)))
    np.testing.assert_array_equal(np.asarray(read_rgb(path)), opaque)


@pytest.mark.parametrize(
    ("ending", "turned"),
    [("jpeg", False), ("png", False), ("webp", False), ("avif", False), ("tiff", True)],
)
def test_an_orientation_is_applied_to_tiff_alone_as_in_torchvision(
    ending: str, turned: bool, tmp_path: Path
) -> None:
    if ending == "avif" and not features.check("avif"):
        pytest.skip("this Pillow reads no AVIF")
    path = tmp_path / f"rotated.{ending}"
    exif = Image.Exif()
    exif[0x0112] = 6
    picture("RGB").save(path, **({"tiffinfo": dict(exif)} if ending == "tiff" else {"exif": exif}))
    header = read_header(path)
    assert (header.orientation, header.turned) == (6, turned)
    assert (header.width, header.height) == ((30, 40) if turned else (40, 30))
    image = read_rgb(path)
    assert image.size == (header.width, header.height)
    np.testing.assert_array_equal(np.asarray(image), np.asarray(pil_loader(path)))


def test_an_orientation_said_by_xmp_counts_and_a_senseless_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "rotated.png"
    said = PngInfo()
    said.add_itxt("XML:com.adobe.xmp", '<rdf tiff:Orientation="8"/>')
    picture("RGB").save(path, pnginfo=said)
    assert read_header(path).orientation == 8
    exif = Image.Exif()
    exif[0x0112] = 90
    picture("RGB").save(path, exif=exif)
    assert read_header(path).orientation == 1


@pytest.mark.slow
def test_large_jpegs_are_not_decoded_in_draft_mode(tmp_path: Path) -> None:
    path = tmp_path / "large.jpeg"
    Image.fromarray(noise((900, 1200, 3))).save(path, quality=95)
    image = read_rgb(path)
    assert image.size == (1200, 900)
    np.testing.assert_array_equal(np.asarray(image), np.asarray(pil_loader(path)))


@pytest.mark.parametrize("ending", ["png", "tiff"])
def test_sixteen_bit_grey_is_scaled_not_clipped(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"deep.{ending}"
    values = np.array([[0, 128, 129, 257, 32767, 32896, 65406, 65407, 65535]], dtype=np.uint16)
    Image.fromarray(values).save(path)
    expected = [0, 0, 1, 1, 127, 128, 254, 255, 255]
    np.testing.assert_array_equal(
        np.asarray(read_rgb(path)), np.array([[[v] * 3 for v in expected]])
    )


@pytest.mark.parametrize("mode", ["I", "F"])
def test_grey_of_unknown_range_is_refused(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.tiff"
    Image.new(mode, (4, 4), 70000).save(path)
    with pytest.raises(BadImageError, match="32-bit grey"):
        read_rgb(path)


def encoded(format_: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(noise((224, 224, 3))).save(buffer, format_, **options)
    return buffer.getvalue()


def png_of(width: int, height: int) -> bytes:
    """A PNG that claims a size, without pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


JPEG, PNG, PROGRESSIVE = encoded("JPEG"), encoded("PNG"), encoded("JPEG", progressive=True)
BROKEN_PNG = PNG[:5000] + bytes(byte ^ 255 for byte in PNG[5000:5100]) + PNG[5100:]
BAD = {
    "empty": (b"", "is empty"),
    "html": (b"<html><body>404 not found</body></html>\n", "is an HTML page"),
    "doctype": (b"\n<!DOCTYPE HTML>", "is an HTML page"),
    "xml": (b'<?xml version="1.0"?><Error>AccessDenied</Error>', "is an XML document"),
    "json": (b'{"message": "not found"}', "is text"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
    "annex": (b"/annex/objects/SHA256E-s1--0.JPEG", "git-annex pointer"),
    "zeros": (bytes(5000), "nothing but zero bytes"),
    "zip": (b"PK\x03\x04rest", "is a zip archive"),
    "text": (b"not found", "is text"),
    "binary": (b"\x01\x02\xfe\xff" * 20, "is not an image that can be read"),
    "third of a jpeg": (JPEG[: len(JPEG) // 3], "truncated or damaged JPEG"),
    "jpeg but ten bytes": (JPEG[:-10], "truncated or damaged JPEG"),
    "third of a progressive jpeg": (PROGRESSIVE[: len(JPEG) // 3], "truncated or damaged JPEG"),
    "two bytes of a jpeg": (JPEG[:2], "header is damaged"),
    "half a png": (PNG[: len(PNG) // 2], "truncated or damaged PNG"),
    "flipped bytes in a png": (BROKEN_PNG, "truncated or damaged PNG"),
    "eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "is text"),
    "bomb, warned of": (png_of(10_000, 9_000), "more than 89,478,485 pixels"),
    "bomb, refused": (png_of(60_000, 60_000), "more than 89,478,485 pixels"),
    "strip": (png_of(60_000, 1), "is 60000 x 1 pixels"),
}

SEEN_IN_HEADER = ("empty", "html", "lfs", "zeros", "text", "bomb", "strip", "two bytes")


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("lenient", [False, True])
def test_what_is_no_image_is_refused_with_path_and_reason(
    name: str, lenient: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", lenient)
    content, reason = BAD[name]
    path = tmp_path / "picture.JPEG"
    path.write_bytes(content)
    with pytest.raises(BadImageError) as caught:
        read_rgb(path)
    if any(word in name for word in SEEN_IN_HEADER):
        with pytest.raises(BadImageError, match=re.escape(caught.value.what)):
            read_header(path)
    assert isinstance(caught.value, UserError)
    assert caught.value.path == path
    assert reason in caught.value.what
    assert str(caught.value).startswith(f"{path} {caught.value.what}")
    assert "\n" not in str(caught.value)
    assert ImageFile.LOAD_TRUNCATED_IMAGES is lenient, "the caller's setting was changed"


@pytest.mark.filterwarnings("ignore")
def test_bombs_are_refused_where_warnings_are_no_errors(tmp_path: Path) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_of(10_000, 9_000))
    for read in (read_rgb, read_header):
        with pytest.raises(BadImageError, match="more than 89,478,485 pixels"):
            read(path)


def test_headers_are_read_without_decoding(tmp_path: Path) -> None:
    path = tmp_path / "picture.JPEG"
    path.write_bytes(JPEG[: len(JPEG) // 3])
    assert read_header(path) == (224, 224, "RGB", "JPEG", 1, False)


@pytest.mark.parametrize("read", [read_rgb, read_header])
def test_a_missing_file_is_no_bad_image(read: object, tmp_path: Path) -> None:
    assert callable(read)
    with pytest.raises(UserError, match=r"gone\.png cannot be read: No such file") as caught:
        read(tmp_path / "gone.png")
    assert not isinstance(caught.value, BadImageError)


def test_the_error_survives_pickling() -> None:
    error = BadImageError("/data/a.png", "is empty (0 bytes)")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.path, copy.what) == (str(error), error.path, error.what)


def test_a_larger_picture_is_decoded_by_request(tmp_path: Path) -> None:
    path = tmp_path / "n01440764" / "large.png"
    path.parent.mkdir()
    Image.new("1", (60, 50)).save(path)
    with pytest.raises(BadImageError, match=r"is 60 x 50, more than 2,999 pixels; .* 3000, or"):
        read_rgb(path, 2999)
    assert read_rgb(path, 3000).size == read_header(path, 3000)[:2] == (60, 50)
    dataset = open_dataset(tmp_path, max_pixels=2999)
    with pytest.raises(BadImageError, match="--max-pixels 3000"):
        dataset.pixels(0, Preprocessing(8, 10))
    assert [error.what for error in survey(dataset).bad] == ["is 60 x 50, more than 2,999 pixels"]
    with pytest.raises(UserError, match="--max-pixels 0 decodes nothing"):
        open_dataset(tmp_path, max_pixels=0)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        *(("jfif", "JPEG"), ("jpe", "JPEG"), ("gif", "GIF"), ("jp2", "JPEG2000"), ("avif", "AVIF")),
        *(("webp", "WEBP"), ("tiff", "TIFF"), ("bmp", "BMP"), ("ppm", "PPM")),
    ],
)
def test_common_endings_are_images(ending: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "n01440764" / f"a.{ending}"
    path.parent.mkdir()
    if not features.check({"JPEG2000": "jpg_2000", "AVIF": "avif"}.get(kind, "webp")):
        pytest.skip(f"this Pillow cannot write {kind}")
    Image.new("RGB", (16, 16), (200, 100, 0)).save(path, kind)
    dataset = open_dataset(tmp_path)
    red, green, blue = dataset.pixels(0, Preprocessing(16, 16))[8, 8].tolist()
    assert (abs(red - 200) < 9, abs(green - 100) < 9, blue < 9) == (True, True, True)


def test_what_this_pillow_cannot_read_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(features, "check", lambda library: library != "avif")
    (tmp_path / "n01440764").mkdir()
    for name in ("a.avif", "b.webp"):
        (tmp_path / "n01440764" / name).write_bytes(b"1")
    (skipped,) = open_dataset(tmp_path).skipped
    assert skipped.reason == "this Pillow cannot read .avif"
