"""ILSVRC2012's ground truth: class numbers of the development kit, one a line, in image order.

They count classes in an order of the kit's own, which its ``meta.mat`` tells; the position of a
sorted wnid, which every network means, is another number.
"""

from pathlib import Path

from ...errors import UserError
from ...files.regular import check_regular
from ...files.text import read_text
from ..imagenet import NUM_CLASSES, wnid_to_index

TRUTH, META = "ILSVRC2012_validation_ground_truth.txt", "meta.mat"
LARGEST_META = 64 * 2**20


def ground_truth_in(path: Path) -> Path:
    """The kit's list of classes where its folder is given, else the path itself."""
    places = [folder / TRUTH for folder in (path, path / "data")]
    return next((place for place in places if place.is_file()), path)


def read_ground_truth(path: Path) -> list[tuple[str, int]] | None:
    """Name and class index of every validation image; None where the file is of another form.

    Raises:
        UserError: no ``meta.mat`` beside it, a damaged one, or numbers that it does not have.
    """
    lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if not lines or not all(line.isdecimal() for line in lines):
        return None
    indices = _indices(path.parent / META, path)
    wrong = next((line for line in lines if int(line) not in indices), None)
    if wrong is not None:
        raise UserError(f"{path}: class {wrong} is none of the 1 to 1000 that {META} names")
    return [
        (f"ILSVRC2012_val_{number:08d}", indices[int(line)]) for number, line in enumerate(lines, 1)
    ]


def _indices(meta: Path, truth: Path) -> dict[int, int]:
    """Class index by the kit's number."""
    if not meta.is_file():
        raise UserError(
            f"{truth} counts classes in ILSVRC's own order, which only the development kit's "
            f"{META} tells; keep it beside the file, or give lines like "
            "ILSVRC2012_val_00000001.JPEG,n01751748"
        )
    check_regular(meta, LARGEST_META)
    from scipy.io import loadmat

    try:
        synsets = loadmat(meta, squeeze_me=True)["synsets"]
        wnids = {int(row["ILSVRC2012_ID"]): str(row["WNID"]) for row in synsets.ravel()}
    except Exception as error:  # scipy raises anything on damaged bytes
        raise UserError(
            f"{meta} is not the development kit's ({type(error).__name__}: {error}); take it from "
            "ILSVRC2012_devkit_t12.tar.gz"
        ) from error
    known = wnid_to_index()
    indices = {number: known[wnid] for number, wnid in wnids.items() if wnid in known}
    if set(indices) != set(range(1, NUM_CLASSES + 1)):
        raise UserError(f"{meta} names {len(indices)} of ImageNet-1k's classes, not all 1000")
    return indices
