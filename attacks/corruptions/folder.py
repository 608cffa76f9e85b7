"""Write the corrupted images of a data set into ImageNet-C's folder layout."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from robustbench_twicing.data import Dataset, wnids
from robustbench_twicing.errors import UserError
from robustbench_twicing.preprocessing import Preprocessing
from robustbench_twicing.records.atomic import write_atomically

from .severity import SEVERITIES
from .streams import image_rng
from .table import CORRUPTIONS, EXTRA, MAIN, OFFICIAL_JPEG_QUALITY, corrupt

OFFICIAL = Preprocessing(crop=224, resize=256, interpolation="bilinear")
"""How the official files were cut, whatever the model's own preprocessing is."""
RECORD = "corrupted.json"


@dataclass(frozen=True)
class Recipe:
    """What is written.

    Attributes:
        corruptions: names, in order.
        severities: of 1 to 5.
        seed: of every random draw.
        jpeg: store as JPEG of quality 85, as the official files; False stores PNG.
        frost_dir: folder of the frost photographs; None looks for an installed package.
    """

    corruptions: tuple[str, ...]
    severities: tuple[int, ...] = SEVERITIES
    seed: int = 0
    jpeg: bool = True
    frost_dir: str | None = None

    def __post_init__(self) -> None:
        for name in self.corruptions:
            CORRUPTIONS[name]  # explains an unknown name
        for severity in self.severities:
            if severity not in SEVERITIES:
                raise UserError(f"severity {severity} does not exist; it is 1 to 5")


def named_corruptions(text: str) -> tuple[str, ...]:
    """Names from a comma list, in which ``main``, ``extra`` and ``all`` stand for many.

    Raises:
        UserError: an unknown name.
    """
    groups = {"main": MAIN, "extra": EXTRA, "all": (*MAIN, *EXTRA)}
    found: dict[str, None] = {}
    for name in (part.strip() for part in text.split(",")):
        found.update(dict.fromkeys(groups.get(name, [name])))
    return Recipe(tuple(found)).corruptions


def write_folder(data: Dataset, out: Path, recipe: Recipe, *, workers: int = 1) -> Iterator[int]:
    """Write ``<out>/<corruption>/<severity>/<class>/<image>``; files that are there are kept.

    Args:
        data: clean images; resized to 256 (bilinear) and cropped to 224, as the official files.
        out: the folder; what it was made of is noted in ``corrupted.json``.
        recipe: see `Recipe`.
        workers: processes.

    Yields:
        The number of files that each image added.

    Raises:
        UserError: a folder made with another recipe or from other images, two images of one name.
        BadImageError: an image that cannot be decoded.
    """
    names = _file_names(data, ".JPEG" if recipe.jpeg else ".png")
    _check_record(data, out, recipe)
    work = partial(_write_image, data, names, out, recipe)
    if workers == 1:
        yield from map(work, range(len(data)))
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, range(len(data)), chunksize=4)


def _file_names(data: Dataset, ending: str) -> list[PurePosixPath]:
    """``class/stem.ending`` of every image; a flat folder's classes are their wnids."""
    found = []
    for identity, label in zip(data.ids, data.labels, strict=True):
        path = PurePosixPath(identity)
        own = path.parts[0] if len(path.parts) > 1 else None
        number = wnids()[label] if data.num_classes == len(wnids()) else str(label)
        found.append(PurePosixPath(own or number, path.stem + ending))
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise UserError(f"{data.name}: two images would be written as {twice}; rename one of them")
    return found


def _check_record(data: Dataset, out: Path, recipe: Recipe) -> None:
    """Continue only what was made of the same images with the same recipe."""
    recipe_facts = {key: value for key, value in asdict(recipe).items() if key in ("seed", "jpeg")}
    facts = {"fingerprint": data.fingerprint, "images": len(data), **recipe_facts}
    file = out / RECORD
    if file.exists():
        found = json.loads(file.read_text(encoding="utf-8"))
        for key, value in facts.items():
            if found.get(key) != value:
                raise UserError(
                    f"{out} was made with {key} {found.get(key)}, asked for is {value}; "
                    "use another --out"
                )
        return
    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty and has no {RECORD}; use another --out")
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(facts, indent=1) + "\n"
    write_atomically(file, lambda path: _write_text(path, text))


def _write_image(
    data: Dataset, names: Sequence[PurePosixPath], out: Path, recipe: Recipe, index: int
) -> int:
    missing = [
        (name, severity, out / name / str(severity) / names[index])
        for name in recipe.corruptions
        for severity in recipe.severities
    ]
    missing = [each for each in missing if not each[2].exists()]
    if not missing:
        return 0
    clean = data.pixels(index, OFFICIAL)
    for name, severity, path in missing:
        rng = image_rng(recipe.seed, name, severity, data.ids[index])
        corrupted = corrupt(
            clean, name, severity, rng, jpeg_quality=None, frost_dir=recipe.frost_dir
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, partial(_save, corrupted, recipe.jpeg))
    return len(missing)


def _save(pixels: Any, jpeg: bool, path: Path) -> None:
    image = Image.fromarray(np.asarray(pixels))
    with path.open("wb") as file:
        if jpeg:
            image.save(file, "JPEG", quality=OFFICIAL_JPEG_QUALITY, optimize=True)
        else:
            image.save(file, "PNG")


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
