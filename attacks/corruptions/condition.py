"""A corruption as a condition of an evaluation."""

from pathlib import Path

from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.data.imagenet_c import OTHER_SETS, SIDE, Cell
from robustbench_twicing.errors import UserError

from .generated import GeneratedImages
from .official import CIFAR_C, OfficialImages, open_official

NOTES = {
    "official": (
        "source official: the files of ImageNet-C as they are; a model of another input size gets "
        "them resized from 224 pixels, without a second crop.",
    ),
    CIFAR_C: (
        "source cifar-c: the arrays of CIFAR-10-C or -100-C as they are, matched with the clean "
        "images by position and label.",
    ),
    "generated-jpeg85": (
        "source generated-jpeg85: corrupted by this suite, with the second JPEG of the official "
        "files; not the official files, whose random draws are others.",
    ),
    "generated-memory": (
        "source generated-memory: corrupted by this suite, without the second JPEG of the official "
        "files, which makes the noise corruptions about a quarter stronger than the benchmark's.",
    ),
}
"""What a reader must know of each source."""


def corruption_condition(
    corruption: str,
    severity: int,
    *,
    folder: str | Path | None = None,
    jpeg: bool = True,
    side: int = SIDE,
    frost_dir: str | Path | None = None,
    protocol: str = "pixel",
) -> Condition:
    """The condition ``imagenet-c/CORRUPTION/SEVERITY``, for `evaluate`.

    A corruption that is not one of the benchmark's 19 is ``corruption/CORRUPTION/SEVERITY``;
    those of ImageNet-C-bar and 3DCC are named after these, and read from files alone.

    Args:
        corruption: a key of `CORRUPTIONS`.
        severity: 1 to 5.
        folder: the official files, or those of `corrupt`; None makes the images on the fly.
        jpeg: give generated images the second JPEG (quality 85) of the official files.
        side: pixels a side at which images are corrupted; any but 224 is not ImageNet-C.
        frost_dir: folder of the five frost photographs; None looks for an installed package.
        protocol: whose table the number stands in. It changes nothing: there is no budget.

    Raises:
        UserError: a corruption, severity or size that does not exist, or no such folder.
    """
    cell = Cell(corruption, severity)
    if cell.prefix in OTHER_SETS:
        return _from_files(cell, folder, protocol)
    generated = GeneratedImages(*cell, jpeg, side, None if frost_dir is None else str(frost_dir))
    images: GeneratedImages | OfficialImages = generated
    if folder is not None:
        if generated != GeneratedImages(*cell):
            raise UserError(
                f"{cell.id}: images from files are used as they are; leave jpeg, side and "
                "frost_dir out, or leave folder out to make the images"
            )
        images = open_official(Path(folder), cell)
    facts = images.describe()
    return Condition(
        cell.id,
        cell.prefix,
        protocol=protocol,
        threat=PROTOCOLS[protocol].threat,
        images=images,
        notes=NOTES[facts["source"]],
        flags=() if facts["side"] == SIDE else (f"not-imagenet-c-{facts['side']}px",),
        about=About(group=generated.spec.group),
        code_sha256=images.code_sha256,
    )


def _from_files(cell: Cell, folder: str | Path | None, protocol: str) -> Condition:
    """A condition of a set that is not made here.

    Raises:
        UserError: no folder of its files.
    """
    if folder is None:
        raise UserError(
            f"{cell.id}: {cell.prefix} is read from its files and not made here; give "
            "--imagenet-c DIR, its folder or archive"
        )
    return Condition(
        cell.id,
        cell.prefix,
        protocol=protocol,
        threat=PROTOCOLS[protocol].threat,
        images=open_official(Path(folder), cell),
        notes=(f"source {cell.prefix}: its files as they are; no part of ImageNet-C's mCE.",),
        about=About(group=cell.prefix),
    )
