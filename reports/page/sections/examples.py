"""Adversarial images that were kept, for the page: for each image, what all models made of it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN
from robustbench_twicing.records.adversarial import FOLDER, AdversarialStore, read_adversarial

from ...merging.entry import Entry
from ...merging.runs import Runs
from ...metrics.sweeps import budget_curves
from ..drawing.curve import Key, Models
from ..drawing.embedding import MIB, Pixels, embed_pixels
from ..drawing.matrix import Head, heads
from ..places import Place
from .class_names import class_name

MOST_IMAGES = 4
"""Of a place."""
MOST_BUDGETS = 3
MOST_BYTES = 4 * MIB
SMALL = 64
"""Pixels a side up to which an image is shown small."""
MAGNIFIED = 10
"""Factor of the perturbation, around middle grey."""

_Value = TypeVar("_Value")
Files = Mapping[int, Path]
"""Of one entry by position of the image."""


class Answer(NamedTuple):
    """What a model made of an image under a condition.

    Attributes:
        text: name of the class, or why there is none.
        full: the same with its index.
        is_right: whether that is the true class.
        picture: the adversarial image as a data URI; empty where the page has none.
        change: the perturbation, `MAGNIFIED`, as a data URI.
        is_kept: whether the run folder has the image.
    """

    text: str = "–"
    full: str = "not scored"
    is_right: bool = True
    picture: str = ""
    change: str = ""
    is_kept: bool = False


class Line(NamedTuple):
    """A model, its answer to the clean image, and those under the attack."""

    row: Key
    clean: Answer
    attacked: Sequence[Answer]


class Example(NamedTuple):
    """One image and what became of it.

    Attributes:
        place: data set and protocol; empty where there is no other.
        image: id.
        target: name of the true class.
        picture: the clean image, as a data URI.
        is_small: whether it has few pixels.
        columns: budgets of one attack, ascending.
        lines: models, in their order.
    """

    place: str
    image: str
    target: str
    picture: str
    is_small: bool
    columns: Sequence[Head]
    lines: Sequence[Line]

    @property
    def answers(self) -> Iterator[Answer]:
        """All under the attack."""
        return (answer for line in self.lines for answer in line.attacked)


class Examples(NamedTuple):
    """Examples, and how many adversarial images they have of those that were kept of them.

    Attributes:
        shown: in order of image.
        attacks: what they were attacked with, in words.
        pictures: adversarial images on the page.
        kept: the same in the run folders, under these budgets.
        answers: all that they could be of.
    """

    shown: Sequence[Example] = ()
    attacks: str = ""
    pictures: int = 0
    kept: int = 0
    answers: int = 0


class _Chosen(NamedTuple):
    """What of a place is shown: columns, files by entry, entries by label and condition, images."""

    place: Place
    columns: Sequence[Head]
    files: Mapping[int, Files]
    entries: Mapping[tuple[str, str], int]
    images: Sequence[int]


def find_examples(runs: Runs, places: Sequence[Place], models: Models) -> Examples:
    """The first images of the data sets, under the strongest attack of which images were kept.

    Every model of the place is asked for the same images. Bounded by `MOST_IMAGES`, `MOST_BUDGETS`
    and `MOST_BYTES`: what does not fit has an answer and no picture.

    Args:
        runs: merged runs.
        places: see `places`.
        models: how they are shown.

    Raises:
        UserError: a damaged file.
    """
    chosen = [choice for place in places if (choice := _choice(runs, place)) is not None]
    turns = zip_longest(*([(choice, image) for image in choice.images] for choice in chosen))
    shown: list[Example] = []
    room = MOST_BYTES
    for choice, image in (pair for turn in turns for pair in turn if pair is not None):
        example, room = _Reader(runs, choice, models, room).example(image)
        if not any(answer.picture for answer in example.answers):
            break
        name = f"{choice.place.dataset}, protocol {choice.place.protocol}"
        shown.append(example._replace(place=name if len(places) > 1 else ""))
    answers = [answer for example in shown for answer in example.answers]
    attacks = dict.fromkeys(choice.columns[0].group for choice in chosen)
    return Examples(
        shown,
        " and ".join(attacks),
        sum(bool(answer.picture) for answer in answers),
        sum(answer.is_kept for answer in answers),
        len(answers),
    )


def _choice(runs: Runs, place: Place) -> _Chosen | None:
    """The strongest attack of which images were kept, some of its budgets, the first images."""
    rows = place.rows
    curves = budget_curves(rows)
    curves = curves[(curves["budget"] > 0) & (curves["status"] == "ok")]
    positions = rows.index.to_numpy()[curves["entry"].to_numpy(dtype=int)]
    curves = curves.assign(entry=positions, condition=rows.loc[positions, "condition"].to_numpy())
    strength = curves.groupby("attack", sort=False)["top1"].mean().sort_values(kind="stable")
    for attack in strength.index:
        points = curves[curves["attack"] == attack]
        files = {int(entry): _files(runs.entries[int(entry)]) for entry in points["entry"]}
        kept = {entry: of for entry, of in files.items() if of}
        names = dict.fromkeys(points.loc[points["entry"].isin(list(kept)), "condition"])
        if names:
            wanted = spread(list(names), MOST_BUDGETS)
            return _Chosen(
                place,
                [head for head in heads(place, runs.attacks) if head.condition in wanted],
                kept,
                {runs.entries[at].key[::3]: at for at in rows.index},
                sorted({image for of in kept.values() for image in of})[:MOST_IMAGES],
            )
    return None


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


class _Reader:
    """Reads the answers and pictures of one image, as long as there is room."""

    def __init__(self, runs: Runs, chosen: _Chosen, models: Models, room: int) -> None:
        self.runs, self.chosen, self.models, self.room = runs, chosen, models, room
        self.image, self.target, self.picture, self.is_small = "", "", "", False

    def example(self, image: int) -> tuple[Example, int]:
        """The image at a position of the data set, and how much room is left."""
        labels = set(self.chosen.place.rows["label"])
        lines = [self._line(label, image) for label in self.models.look_of if label in labels]
        about = (self.image, self.target, self.picture, self.is_small)
        return Example("", *about, self.chosen.columns, lines), self.room

    def _line(self, label: str, image: int) -> Line:
        attacked = [self._answer(label, head.condition, image) for head in self.chosen.columns]
        return Line(self.models.key(label), self._answer(label, CLEAN, image), attacked)

    def _answer(self, label: str, condition: str, image: int) -> Answer:
        entry = self.chosen.entries.get((label, condition))
        if entry is None:
            return Answer(full="not run")
        records = self.runs.of(entry)
        records = records[(records["index"] == image) & (records["status"] == "ok")]
        answer = Answer() if records.empty else self._scored(entry, records.iloc[0])
        path = self.chosen.files.get(entry, {}).get(image)
        return answer if path is None else self._with_pictures(answer, path)

    def _scored(self, entry: int, record: "pd.Series[Any]") -> Answer:
        evaluation = self.runs.entries[entry].evaluation
        self.target = self.target or class_name(int(record["target"]), evaluation)
        name = class_name(int(record["prediction"]), evaluation)
        return Answer(name.rpartition(" (")[0] or name, name, bool(record["rank"] == 0))

    def _with_pictures(self, answer: Answer, path: Path) -> Answer:
        kept = answer._replace(is_kept=True)
        if self.room <= 0:
            return kept
        images = read_adversarial(path)
        if not self.picture:
            self.image, self.picture = images.image, embed_pixels(images.x)
            self.is_small = max(images.x.shape) <= SMALL
            self.room -= len(self.picture)
        picture = embed_pixels(images.x_adv)
        change = embed_pixels(magnified(images.x, images.x_adv))
        self.room -= len(picture) + len(change)
        if self.room < 0:
            return kept
        return kept._replace(picture=picture, change=change)


def magnified(x: Pixels, x_adv: Pixels) -> Pixels:
    """The perturbation times `MAGNIFIED`, around middle grey."""
    return 0.5 + MAGNIFIED * (x_adv - x)
