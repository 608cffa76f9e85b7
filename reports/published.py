"""Published numbers beside ours, and whether they agree, as far as that can be said."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

import pandas as pd

from robustbench_twicing.data.imagenet_c import OFFICIAL
from robustbench_twicing.files.printable import count

from .imagenet_c.corruption_rows import ATTACK
from .merging.entry import Entry
from .statistics.intervals import Interval, wilson

IMAGES = {"imagenet-a": 7_500, "imagenet-r": 30_000}
"""Images of the published test sets, by condition; all others are of ImageNet's validation set."""
IMAGENET = 50_000
ROUNDING = 0.005
"""Half a unit of the last digit that is printed."""
NOT_JUDGED = "not judged"
"""The verdict where ours and theirs are not of the same thing."""


class Published(NamedTuple):
    """A number that a paper prints.

    Attributes:
        name: the model, as printed.
        table: label of the table that prints it.
        protocol: under which it was made; empty where nothing is attacked.
        value: percent.
        remark: why no number of ours is of the same thing; empty where one may be.
    """

    name: str
    table: str
    protocol: str
    value: float
    remark: str


@lru_cache(maxsize=1)
def published_numbers() -> dict[tuple[str, str, str], Published]:
    """By model, condition and metric; source: the head of `data/published.csv`."""
    path = files("reports") / "data" / "published.csv"
    with path.open(encoding="utf-8") as file:
        table = pd.read_csv(file, comment="#", keep_default_na=False)
    return {
        (row["model"], row["condition"], row["metric"]): Published(
            row["name"], row["table"], row["protocol"], float(row["value"]), row["remark"]
        )
        for row in table.to_dict("records")
    }


def own_interval(value: float, n_images: int) -> Interval:
    """95 % Wilson interval of an accuracy in percent."""
    low, high = wilson(round(value * n_images / 100), n_images)
    return Interval(100 * low, 100 * high)


def differences(entry: Entry, number: Published, n_images: int) -> Iterator[str]:
    """Why a number of ours is not of the same thing as the published one; none where it is.

    Args:
        entry: that ours is from; for corruption errors, one of its entries.
        number: the published one.
        n_images: that were scored.
    """
    record, condition = entry.evaluation.record, entry.condition
    expected = IMAGES.get(condition.id, IMAGENET)
    if n_images != expected:
        yield f"{count(n_images, 'image')} rather than {expected:,}"
    if number.protocol and condition.protocol != number.protocol:
        yield f"protocol {condition.protocol} rather than {number.protocol}"
    for name in condition.changed:
        yield f"{name} is {condition.settings[name]}, not the protocol's"
    for flag, words in (
        ("random-weights", "the weights are random"),
        ("arch-override", "the file names another architecture"),
        ("several-labels", "any of several labels is right"),
    ):
        if flag in (*record.flags, *entry.evaluation.dataset.flags):
            yield words
    source = OFFICIAL if condition.images is None else condition.images.describe()["source"]
    if condition.attack == ATTACK and source != OFFICIAL:
        yield f"corrupted images are {source} rather than the official files"
    if number.remark:
        yield number.remark


def verdict(reasons: Sequence[str], interval: Interval | None, published: float) -> str:
    """In a word or two: agrees, differs, or `NOT_JUDGED`.

    Args:
        reasons: `differences`.
        interval: of ours; None where there is none, so that nothing can be said.
        published: the published value.
    """
    if reasons or interval is None:
        return NOT_JUDGED
    low, high = interval
    agrees = low - ROUNDING <= published <= high + ROUNDING
    return "agrees" if agrees else "differs"
