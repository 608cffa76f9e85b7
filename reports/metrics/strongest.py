"""Of each image, the record of the attack that did most to it, for one budget after another."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.conditions.threat_model import TOLERANCE
from robustbench_twicing.records.schema import Status

Positions = NDArray[np.int64]
"""Of records, -1 for none."""
Marks = NDArray[np.bool_]

NUMBERS = f"""
SELECT entry, "index", coalesce(rank, -1) AS rank, coalesce(loss, '-inf') AS loss,
    coalesce(clean_rank, -1) AS clean_rank, coalesce(clean_loss, '-inf') AS clean_loss,
    coalesce(radius, '-inf') AS radius, status = '{Status.OK}' AS ok,
    status = '{Status.ERROR}' AS failed, status = '{Status.SKIPPED}' AS skipped
FROM records
"""
"""SQL of what `strongest` needs of the records."""
WITNESSES = """
SELECT records.* REPLACE (
        picked.entry AS entry,
        if(clean, clean_rank, rank) AS rank,
        if(clean, clean_rank, rank_8bit) AS rank_8bit,
        if(clean, clean_prediction, prediction) AS prediction,
        if(clean, clean_loss, loss) AS loss,
        if(clean, NULL, linf) AS linf,
        if(clean, NULL, l2) AS l2,
        if(clean, NULL, l0) AS l0,
        if(clean, NULL, goal) AS goal,
        NULL AS radius,
        if(status = 'ok', if(clean, 'clean', condition), NULL) AS witness
    ), budgets
FROM records JOIN given AS picked ON records.entry = source AND records."index" = picked."index"
"""
"""SQL of the records of the worst case, from `strongest`'s table in the place of ``given``."""


def strongest(
    records: pa.Table,
    members: Mapping[int, Condition],
    budgets: Sequence[Fraction],
    first: int,
) -> tuple[pa.Table, Marks]:
    """Which records are the worst case of some images.

    Args:
        records: columns of `NUMBERS`: of the attacked conditions, and of the clean images where
            there are any; in any order.
        members: attacked conditions by entry, in the order that decides between equals.
        budgets: ascending.
        first: the entry of the worst case at the smallest budget; the others follow it.

    Returns:
        ``source`` (an entry) and ``index`` of records, whether it is their ``clean`` pixels that
        count, the first ``entry`` of the worst case in which they stand, and in how many
        ``budgets`` one after the other. And for each budget whether a broken image lacks an
        attack, so that its rank might have been larger. Of an image that none broke, and that
        lacks an attack, there is an error where the attack failed, else no record.
    """
    search = _Search(records, list(members))
    picked = np.full((len(budgets), search.n_images), -1)
    clean, partly = np.zeros(picked.shape, bool), np.zeros(len(budgets), bool)
    for number, eps in enumerate(budgets):
        below = budgets[number - 1] if number else Fraction(-1)
        for column, condition in enumerate(members.values()):
            if not condition.is_sweep or below < condition.eps <= eps:
                search.add(column, float(eps) + TOLERANCE)
        picked[number], clean[number] = search.pick()
        partly[number] = search.is_partly_known()
    begins = np.ones(picked.shape, bool)
    begins[1:] = (picked[1:] != picked[:-1]) | (clean[1:] != clean[:-1])
    image, place = np.nonzero(begins.T)  # by image, then by budget
    ends = np.append(place[1:], len(budgets))
    ends[ends == 0] = len(budgets)
    at = picked[place, image]
    columns = {
        "source": records["entry"].to_numpy()[at],
        "index": records["index"].to_numpy()[at],
        "clean": clean[place, image],
        "entry": first + place,
        "budgets": ends - place,
    }
    return pa.table({name: values[at >= 0] for name, values in columns.items()}), partly


class _Search:
    """The worst of every image so far, as the budget grows. Arrays have one value per image."""

    def __init__(self, records: pa.Table, members: Sequence[int]) -> None:
        """Begin with the clean images, of which every scored record knows the rank."""
        columns = {name: records[name].to_numpy() for name in records.column_names}
        self._columns = columns
        image = columns["index"] - columns["index"].min(initial=2**31 - 1)
        self.n_images, position = int(image.max(initial=-1)) + 1, np.arange(len(records))
        self._at = np.full((len(members) + 1, self.n_images), -1)  # the last: of the clean images
        self._at[_places(columns["entry"], members), image] = position
        self._worst = np.full(self.n_images, -1)
        ok = columns["ok"]
        self._worst[image[ok]] = position[ok]
        self._is_clean = self._worst >= 0
        self._highest, self._loss_there = (
            np.where(self._is_clean, columns[name][self._worst], columns[name].dtype.type(-1))
            for name in ("clean_rank", "clean_loss")
        )
        self._first_failed = np.full(self.n_images, -1)
        self._first_skipped = np.full(self.n_images, -1)
        self._lacks = np.zeros(self.n_images, bool)

    def add(self, column: int, reach: float) -> None:
        """Let an attack count.

        Args:
            column: which of the members.
            reach: the largest radius that counts, if it finds radii.
        """
        at = self._at[column]
        recorded = at >= 0
        scored = recorded & self._columns["ok"][at]
        rank, loss = self._columns["rank"][at], self._columns["loss"][at]
        larger = (rank > self._highest) | ((rank == self._highest) & (loss > self._loss_there))
        larger &= scored & (self._columns["radius"][at] <= reach)
        self._worst[larger], self._is_clean[larger] = at[larger], False
        self._highest[larger], self._loss_there[larger] = rank[larger], loss[larger]
        for name, first in (("failed", self._first_failed), ("skipped", self._first_skipped)):
            is_first = (first < 0) & recorded & self._columns[name][at]
            first[is_first] = at[is_first]
        self._lacks |= ~scored

    def pick(self) -> tuple[Positions, Marks]:
        """The record that stands for each image now, and whether it is that of its clean pixels."""
        skipped, failed = self._first_skipped >= 0, self._first_failed >= 0
        broken = self._highest > 0
        picked = np.select(
            [skipped, broken, failed, self._lacks],
            [self._first_skipped, self._worst, self._first_failed, np.int64(-1)],
            self._worst,
        )
        return picked, self._is_clean & ~skipped & (broken | ~failed)

    def is_partly_known(self) -> bool:
        """Whether a broken image lacks an attack."""
        return bool((self._lacks & (self._highest > 0) & (self._first_skipped < 0)).any())


def _places(entry: Positions, members: Sequence[int]) -> Positions:
    """Of every record, the place of its entry among the members; -1 for the clean images."""
    place = np.full(max([*members, entry.max(initial=0)]) + 1, -1)
    place[list(members)] = np.arange(len(members))
    places: Positions = place[entry]
    return places
