"""Write the corrupted images of a data set into ImageNet-C's folder layout."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from PIL import Image

from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.imagenet_c import SEVERITIES, SIDE, cells
from robustbench_twicing.data.remembered import remember
from robustbench_twicing.data.worker_pool import WorkerPool
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.atomic import is_free, is_there, write_atomically
from robustbench_twicing.files.printable import described

from .generated import OFFICIAL_JPEG_QUALITY, GeneratedImages
from .imaging.pixels import Pixels
from .layout import RECORD, class_and_stem, read_record


@dataclass(frozen=True)
class Recipe:
    """What is written.

    Attributes:
        corruptions: names, in order.
        severities: of 1 to 5.
        seed: of every random draw.
        jpeg: store as JPEG of quality 85, as the official files; False stores PNG.
        side: pixels a side; any but 224 is not ImageNet-C.
        frost_dir: folder of the frost photographs; None looks for an installed package.

    Raises:
        UserError: a corruption, severity or size that does not exist.
    """

    corruptions: tuple[str, ...]
    severities: tuple[int, ...] = SEVERITIES
    seed: int = 0
    jpeg: bool = True
    side: int = SIDE
    frost_dir: str | None = None

    def __post_init__(self) -> None:
        self.sources()

    def check_files(self) -> None:
        """Raise `UserError` where a corruption lacks files that it cannot do without."""
        for reason in filter(None, (source.lacking() for source in self.sources())):
            raise UserError(reason)

    def sources(self) -> list[GeneratedImages]:
        """One source of images for each corruption and severity."""
        return [
            GeneratedImages(*cell, self.jpeg, self.side, self.frost_dir)
            for cell in cells(self.corruptions, self.severities)
        ]


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
        UserError: a folder made with another recipe, other code or from other images, two images of
            one name, or a corruption that fails.
        BadImageError: an image that cannot be decoded.
    """
    names = _file_names(data, ".JPEG" if recipe.jpeg else ".png")
    _check_record(data, out, recipe)
    output = _Output(data, names, out, recipe, recipe.sources())
    if workers == 1:
        yield from (_write_image(output, index) for index in range(len(data)))
        return
    with WorkerPool(workers, output, imports=[__name__]) as pool:
        futures: list[Future[int]] = [
            pool.submit(_write_image, index) for index in range(len(data))
        ]
        yield from (future.result() for future in futures)


@dataclass(frozen=True)
class _Output:
    """What is written where; every process has it."""

    data: Dataset
    names: Sequence[PurePosixPath]
    out: Path
    recipe: Recipe
    sources: Sequence[GeneratedImages]


def _file_names(data: Dataset, ending: str) -> list[PurePosixPath]:
    names = [PurePosixPath(f"{class_and_stem(data, index)}{ending}") for index in range(len(data))]
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise UserError(f"{data.name}: {count} images would be written as {name}; rename them")
    return names


def _check_record(data: Dataset, out: Path, recipe: Recipe) -> None:
    """Continue only what was made of the same images with the same recipe."""
    facts = {
        "fingerprint": data.fingerprint,
        "images": len(data),
        "seed": recipe.seed,
        "jpeg": recipe.jpeg,
        "side": recipe.side,
    }
    record = read_record(out)
    if record is None and not is_free(out):
        raise UserError(f"{out} is not empty and has no {RECORD}; use another --out")
    for key, value in facts.items():
        if record is not None and record.get(key) != value:
            raise UserError(
                f"{out} was made with {key} {record.get(key)}, and this command asks for "
                f"{value}; use another --out"
            )
    before = {} if record is None else record["code_sha256"]
    code = _checked_code(before, out, recipe)
    if record is None or code != before:
        text = json.dumps(facts | ({"code_sha256": code} if code else {}), indent=1) + "\n"
        write_atomically(out / RECORD, lambda path: path.write_text(text, encoding="utf-8"))


def _checked_code(before: Mapping[str, str], out: Path, recipe: Recipe) -> dict[str, str]:
    """The code of users' own corruptions, with those that have no images in the folder yet."""
    code = dict(before)
    for source in recipe.sources():
        name, sha256 = source.corruption, source.code_sha256
        if sha256 and name not in code and not (out / name).exists():
            code[name] = sha256
        if sha256 and code.get(name, sha256) != sha256:
            raise UserError(
                f"{out}: the code of corruption {name} has changed since its images were made; "
                "use another --out"
            )
    return code


def _write_image(output: _Output, index: int) -> int:
    """Write what is missing of one image, which is decoded once."""
    missing = [
        (source, path)
        for source in output.sources
        if not is_there(path := _path(output, source, index))
    ]
    data = remember(output.data, 1)
    for source, path in missing:
        try:
            corrupted = source.corrupted(data, index, seed=output.recipe.seed)
        except (UserError, MemoryError):
            raise
        except Exception as error:
            raise UserError(
                f"corruption {source.corruption} failed at severity {source.severity}: "
                f"{described(error)}"
            ) from error
        write_atomically(path, partial(_save, corrupted, output.recipe.jpeg))
    return len(missing)


def _path(output: _Output, source: GeneratedImages, index: int) -> Path:
    return output.out / source.corruption / str(source.severity) / output.names[index]


def _save(pixels: Pixels, jpeg: bool, path: Path) -> None:
    image = Image.fromarray(pixels)
    with path.open("wb") as file:
        if jpeg:
            image.save(
                file, "JPEG", quality=OFFICIAL_JPEG_QUALITY, subsampling="4:2:0", optimize=True
            )
        else:
            image.save(file, "PNG")
