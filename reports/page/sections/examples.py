"""Adversarial images that were kept, for the page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from robustbench_twicing.data.imagenet import NUM_CLASSES, SUBSETS, subset_indices
from robustbench_twicing.records.adversarial import FOLDER, AdversarialStore, read_adversarial
from robustbench_twicing.records.manifest import Evaluation

from ...merging.entry import Entry
from ...merging.runs import Runs
from ...metrics.sweeps import budget_curves
from ..drawing.embedding import MIB, Pixels, embed_pixels

MOST_IMAGES = 4
MOST_BUDGETS = 3
MOST_LABELS = 6
MOST_BYTES = 4 * MIB
MAGNIFIED = 10
"""Factor of the perturbation, around middle grey."""

_Value = TypeVar("_Value")
IMAGENET_WORDS = ("wnid", "imagenet")
"""Words in the description of the labels that tell ImageNet's classes from other thousands."""


@dataclass(frozen=True)
class Attacked:
    """One image under one condition.

    Attributes:
        condition: its id.
        prediction: class name.
        is_right: whether that is the true class.
        change: the perturbation, `MAGNIFIED`, as a data URI.
        picture: the adversarial image, as a data URI.
    """

    condition: str
    prediction: str
    is_right: bool
    change: str
    picture: str


@dataclass(frozen=True)
class Example:
    """One image and what became of it.

    Attributes:
        label: of the model.
        place: data set and protocol.
        image: id.
        target: name of the true class.
        prediction: class name before the attack.
        is_right: whether that is the true class.
        picture: the clean image, as a data URI.
        attacked: under some budgets of one attack, ascending.
    """

    label: str
    place: str
    image: str
    target: str
    prediction: str
    is_right: bool
    picture: str
    attacked: tuple[Attacked, ...]

    @cached_property
    def size(self) -> int:
        """Bytes in the page."""
        pictures = [self.picture, *(shown.change + shown.picture for shown in self.attacked)]
        return sum(map(len, pictures))


class Examples(NamedTuple):
    """Examples, and how many there could be.

    Attributes:
        shown: in order of image, then of label.
        available: images times labels for which files are there.
    """

    shown: tuple[Example, ...]
    available: int


def find_examples(runs: Runs, table: pd.DataFrame) -> Examples:
    """The first images of the data sets, under the strongest attack of which images were kept.

    Bounded by `MOST_IMAGES`, `MOST_LABELS`, `MOST_BUDGETS` and `MOST_BYTES`.

    Args:
        runs: merged runs.
        table: `results` of them.

    Raises:
        UserError: a damaged file.
    """
    places = []
    for _, rows in table.groupby(["label", "dataset", "protocol"], sort=False):
        files = _kept(runs, rows)
        if files:
            places.append(_by_image(files))
    shown: list[Example] = []
    for image in _in_turns(places[:MOST_LABELS]):
        example = _example(runs, image)
        if sum(earlier.size for earlier in shown) + example.size > MOST_BYTES:
            break
        shown.append(example)
    return Examples(tuple(shown), sum(map(len, places)))


Files = Mapping[int, Path]
"""Of one image by entry, or of one entry by position of the image."""


def _in_turns(places: Sequence[Sequence[Files]]) -> Iterator[Files]:
    """The first image of every place, then the second, ..."""
    for number in range(MOST_IMAGES):
        yield from (images[number] for images in places if number < len(images))


def _by_image(entries: Mapping[int, Files]) -> list[Files]:
    """From files by entry and image to files by image, of images that all entries have."""
    indices = sorted(set.intersection(*(set(files) for files in entries.values())))
    return [{entry: files[index] for entry, files in entries.items()} for index in indices]


def _kept(runs: Runs, rows: pd.DataFrame) -> dict[int, Files]:
    """By entry, the files of the strongest attack that has any, at some of its budgets."""
    curves = budget_curves(rows)
    curves = curves[(curves["budget"] > 0) & (curves["status"] == "ok")]
    curves = curves.assign(entry=rows.index.to_numpy()[curves["entry"].to_numpy(dtype=int)])
    strength = curves.groupby("attack", sort=False)["top1"].mean().sort_values(kind="stable")
    for attack in strength.index:
        entries = curves.loc[curves["attack"] == attack, "entry"].astype(int)
        files = {entry: _files(runs.entries[entry]) for entry in entries}
        with_files = [entry for entry in files if files[entry]]
        if with_files:
            return {entry: files[entry] for entry in spread(with_files, MOST_BUDGETS)}
    return {}


def spread(values: Sequence[_Value], most: int) -> list[_Value]:
    """At most so many of the values, evenly, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[round(place * (len(values) - 1) / (most - 1))] for place in range(most)]


def _files(entry: Entry) -> Files:
    files: dict[int, Path] = {}
    for folder in entry.folders:
        place = (entry.evaluation.label, entry.evaluation.dataset.name, *entry.key[2:])
        files |= AdversarialStore(folder / FOLDER).files(place)
    return files


def _example(runs: Runs, files: Files) -> Example:
    attacked = [_attacked(runs, entry, path) for entry, path in files.items()]
    first, path = next(iter(files.items()))
    entry, row, images = runs.entries[first], _record(runs, first, path), read_adversarial(path)
    label, dataset, protocol, _ = entry.key
    return Example(
        label,
        f"{dataset}, protocol {protocol}",
        images.image,
        class_name(int(row["target"]), entry.evaluation),
        class_name(int(row["clean_prediction"]), entry.evaluation),
        bool(row["clean_rank"] == 0),
        embed_pixels(images.x),
        tuple(attacked),
    )


def _attacked(runs: Runs, position: int, path: Path) -> Attacked:
    entry, row, images = (
        runs.entries[position],
        _record(runs, position, path),
        read_adversarial(path),
    )
    return Attacked(
        entry.key[-1],
        class_name(int(row["prediction"]), entry.evaluation),
        bool(row["rank"] == 0),
        embed_pixels(magnified(images.x, images.x_adv)),
        embed_pixels(images.x_adv),
    )


def _record(runs: Runs, position: int, path: Path) -> "pd.Series[Any]":
    records = runs.of(position)
    return records[records["index"] == int(path.stem)].iloc[0]


def magnified(x: Pixels, x_adv: Pixels) -> Pixels:
    """The perturbation times `MAGNIFIED`, around middle grey."""
    return 0.5 + MAGNIFIED * (x_adv - x)


def class_name(index: int, evaluation: Evaluation) -> str:
    """``tabby (281)`` for classes of ImageNet-1k, ``class 3`` otherwise.

    Args:
        index: as in the records: a position among the logits that are scored.
        evaluation: tells which classes the logits are.
    """
    space = evaluation.dataset.space
    chosen: Sequence[int] | None = evaluation.record.details.get("classes")
    if space is not None and space.name in SUBSETS:
        chosen = subset_indices(space.name)
    if chosen and not 0 <= index < len(chosen):
        return f"class {index}"
    if chosen:
        index = int(chosen[index])
    labelling = evaluation.dataset.labelling.lower()
    of_imagenet = any(mark in labelling for mark in IMAGENET_WORDS)
    has_all = chosen is not None or evaluation.dataset.num_classes == NUM_CLASSES
    if of_imagenet and has_all and 0 <= index < NUM_CLASSES:
        return f"{_names()[index]} ({index})"
    return f"class {index}"


@cache
def _names() -> tuple[str, ...]:
    """The first name of each class, as in timm's copy of WordNet's."""
    from timm.data.imagenet_info import ImageNetInfo

    info = ImageNetInfo()
    described = (info.index_to_description(index) for index in range(NUM_CLASSES))
    return tuple(text.partition(",")[0] for text in described)
