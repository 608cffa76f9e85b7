"""A thousand damaged image files: each is decoded or refused in one line, within bounds."""

from pathlib import Path

from robustbench_twicing.data.decoding import read_header, read_rgb
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.data.summary import survey
from robustbench_twicing.errors import UserError

from .bytewise import BYTEWISE
from .pictures import bomb, good_images, header_number
from .rounds import Kind, fuzz

MIB = 1024
"""Pillow's limit of 89 million pixels, decoded, as RGB and as an array."""
PREPROCESSING = Preprocessing(crop=8, resize=8)


def read(_: Path, damaged: Path) -> None:
    """Header, pixels, and the pixels that a network is given."""
    try:
        header = read_header(damaged)
    except UserError:
        header = None
    image = read_rgb(damaged)
    assert header is not None, "the header was refused and the pixels were not"
    pixels = PREPROCESSING.pixels(image)
    assert pixels.shape == (8, 8, 3)


def look(folder: Path, _: Path) -> None:
    """As the command ``data --full`` does."""
    (folder / "0").mkdir()
    for file in [each for each in folder.iterdir() if each.is_file()]:
        file.rename(folder / "0" / file.name)
    survey(open_dataset(folder), full=True, advance=lambda: None)


MUTATIONS = {"": (*BYTEWISE, header_number, header_number, header_number, bomb)}


def test_damaged_images_are_decoded_or_refused_in_one_line(tmp_path: Path) -> None:
    counts = fuzz("image", Kind(good_images(), MUTATIONS, read, mib=MIB), tmp_path)
    assert counts["refused"]


def test_a_folder_with_damaged_images_can_be_looked_at(tmp_path: Path) -> None:
    kind = Kind(good_images(), MUTATIONS, look, names_folder=True, mib=MIB)
    assert fuzz("look", kind, tmp_path)["accepted"]
