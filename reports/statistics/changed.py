"""Images that only one of two entries has right."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.files.atomic import write_atomically
from robustbench_twicing.records.schema import Status

from ..merging.columns import OK, Grid, Marks, Positions, grid_of
from ..merging.ensembles import attacks_of, ensembles
from ..merging.runs import Runs
from ..merging.strongest import Ensemble, clean_pixels, strongest
from ..text.csv_text import csv_lines, quoted, quoted_cells

Pairs = Sequence[tuple[int, int]]
CHANGES = ("lost", "won")
ABOUT = ("dataset", "protocol", "condition", "baseline", "label")
COLUMNS = ("target", "baseline_prediction", "prediction")
CHANGED = (*ABOUT, "image", *COLUMNS, "change")
"""Columns of changed.csv."""
SELECTED = (
    *("index", "target", "clean_prediction", "clean_rank", "clean_loss"),
    *("prediction", "rank", "loss", "radius", "status", "entry"),
)
MOST_RECORDS = 1_000_000
"""That are in memory at a time."""
MOST_LINES = 200_000
"""That are written at a time."""


class Changed(NamedTuple):
    """Images by pair, and then by position in the data set; N in all.

    Attributes:
        pair: which pair (N,).
        image: their ids (N,), as a dictionary.
        numbers: of `COLUMNS` (3, N).
        is_won: whether only the second of the pair is right (N,), not the first.
    """

    pair: NDArray[np.int32]
    image: pa.DictionaryArray
    numbers: NDArray[np.int32]
    is_won: Marks

    def frame(self) -> pd.DataFrame:
        """With ``pair``, ``image``, `COLUMNS` and ``change``."""
        numbers = dict(zip(COLUMNS, self.numbers.astype(np.int64), strict=True))
        change = np.array(CHANGES, object)[self.is_won.astype(int)]
        image = self.image.cast(pa.string()).to_pandas()
        return pd.DataFrame({"pair": self.pair, "image": image, **numbers, "change": change})


def changed_images(runs: Runs, pairs: Pairs) -> Changed:
    """Images of pairs of entries that only one of the two has right.

    Images are paired by their position where both entries have the same ones, else by their id.
    """
    by_dataset: dict[str, list[int]] = {}
    for number, entries in enumerate(pairs):
        if not _have_same_images(runs, *entries):
            return _queried(runs, pairs)
        by_dataset.setdefault(runs.entries[entries[0]].key[1], []).append(number)
    blocks, names = list[tuple[Any, ...]](), list[str | None]()
    for numbers in by_dataset.values():
        search = _Search(runs, [pairs[number] for number in numbers])
        for pair, position, *others in search.blocks():
            blocks.append((np.array(numbers, np.int32)[pair], len(names) + position, *others))
        names += search.names()
    pair, image, values, is_won = (np.concatenate(of, axis=-1) for of in zip(*blocks, strict=True))
    order = np.argsort(pair, kind="stable")
    images = pa.DictionaryArray.from_arrays(
        pa.array(image[order], pa.int32()), pa.array(names, pa.string())
    )
    return Changed(pair[order].astype(np.int32), images, values[:, order], is_won[order])


def save_changed(changed: Changed, about: pd.DataFrame, path: Path) -> Path:
    """Write images that changed as CSV, in the form of `csv_text`; the path.

    Args:
        changed: they.
        about: columns `ABOUT` and others, a row for each pair.
        path: of the file.

    Raises:
        UserError: it cannot be written.
    """
    rows = about[list(ABOUT)].itertuples(index=False)
    begins = pa.array([quoted(row) for row in rows], pa.string())
    images = quoted_cells(changed.image.dictionary)

    def write(file: Path) -> None:
        with file.open("wb") as out:
            out.write(f"{quoted(CHANGED)}\n".encode())
            for start in range(0, len(changed.pair), MOST_LINES):
                lines = slice(start, start + MOST_LINES)
                cells = [
                    begins.take(pa.array(changed.pair[lines])),
                    images.take(changed.image.indices[lines]),
                    *(pa.array(column[lines]) for column in changed.numbers),
                    pa.array(CHANGES).take(pa.array(changed.is_won[lines].astype(np.int8))),
                ]
                out.write(csv_lines(cells))

    write_atomically(path, write)
    return path


def _have_same_images(runs: Runs, first: int, second: int) -> bool:
    counts = runs.counts[first], runs.counts[second]
    names = [runs.entries[entry].key[1] for entry in (first, second)]
    return (
        names[0] == names[1]
        and counts[0].images == counts[1].images
        and counts[0].scored == counts[1].scored
        and {first, second} <= runs.rights.keys()
    )


class _Search:
    """Looks for changed images of one data set, some images at a time."""

    def __init__(self, runs: Runs, pairs: Pairs) -> None:
        self.runs, self.pairs = runs, pairs
        entries = {entry: runs.entries[entry] for of_pair in pairs for entry in of_pair}
        places = {entry: of.key[:3] for entry, of in entries.items() if of.condition.is_worst}
        groups = ensembles(runs)
        attacks = {place: attacks_of(runs, groups[place]) for place in set(places.values())}
        read = [entry for entry in entries if entry not in places]
        read += [entry for of in attacks.values() for entry in of.entries]
        self.rows = {entry: row for row, entry in enumerate(dict.fromkeys(read))}
        self.ensembles = {
            place: Ensemble(
                {self.rows[entry]: condition for entry, condition in of.members.items()},
                tuple(self.rows[entry] for entry in of.clean),
            )
            for place, of in attacks.items()
        }
        self.worst = {
            entry: (place, self.ensembles[place].budgets.index(entries[entry].condition.eps))
            for entry, place in places.items()
        }

    def blocks(self) -> Iterator[tuple[Positions, NDArray[np.int32], NDArray[np.int32], Marks]]:
        """Columns of `Changed`, with positions of images, some of which follow the others."""
        entries = list(self.rows)
        row_of = np.empty(max(entries) + 1, int)
        row_of[entries] = np.arange(len(entries))
        step = max(1, MOST_RECORDS // len(entries))
        columns = ", ".join(f'"{name}"' for name in SELECTED)
        n_images = max(self.runs.entries[entry].evaluation.dataset.n_images for entry in entries)
        for start in range(0, n_images, step):
            records = self.runs.arrow_of(
                f"""SELECT {columns} FROM records
                WHERE "index" >= {start} AND "index" < {start + step}""",
                entries,
            )
            grid = grid_of(records, row_of[records["entry"].to_numpy()], len(entries))
            pair, at, numbers, is_won = self._changed(grid)
            yield pair, grid.indices[at], numbers, is_won

    def names(self) -> list[str | None]:
        """Image ids by position."""
        label = self.runs.entries[self.pairs[0][0]].key[0]
        records = self.runs.arrow_of(
            'SELECT "index", any_value(image) AS image FROM records GROUP BY "index"',
            [entry for entry in self.rows if self.runs.entries[entry].key[0] == label],
        )
        index = records["index"].to_numpy()
        names = np.full(index.max(initial=-1) + 1, None, object)
        names[index] = records["image"].to_pylist()
        return list(names)

    def _changed(self, grid: Grid) -> tuple[Positions, Positions, NDArray[np.int32], Marks]:
        """Pair and image of what changed, the numbers, and whether it was won."""
        images, count = np.arange(len(grid.indices)), len(self.rows)
        columns, picked = grid.columns, dict[tuple[str, ...], Positions]()
        for number, (place, ensemble) in enumerate(self.ensembles.items()):
            scored = ensemble.scored(grid)
            picked[place] = strongest(ensemble, grid.columns, scored, count + number).rows
            before = clean_pixels(grid, scored)
            columns = {name: np.vstack([of, before[name]]) for name, of in columns.items()}
        rows = [
            np.array([self._row(entry, picked, images) for entry in of])
            for of in zip(*self.pairs, strict=True)
        ]
        status, rank = columns["status"], columns["rank"]
        ok = [(status[row, images] == OK) & (row >= 0) for row in rows]
        right = [rank[row, images] == 0 for row in rows]
        pair, at = np.nonzero(ok[0] & ok[1] & (right[0] != right[1]))
        first, second = (row[pair, at] for row in rows)
        numbers = [
            columns["target"][first, at],
            columns["prediction"][first, at],
            columns["prediction"][second, at],
        ]
        return pair, at, np.array(numbers), right[1][pair, at]

    def _row(
        self, entry: int, picked: Mapping[tuple[str, ...], Positions], images: Positions
    ) -> Positions:
        """Of each image the row that holds its record."""
        if entry in self.rows:
            return np.full(len(images), self.rows[entry])
        place, budget = self.worst[entry]
        rows: Positions = picked[place][budget]
        return rows


def _queried(runs: Runs, pairs: Pairs) -> Changed:
    """Pairs of entries whose images are not all the same, by the id of the image."""
    values = ", ".join(str((number, *entries)) for number, entries in enumerate(pairs))
    changed = runs.arrow_of(
        f"""SELECT pair::INTEGER AS pair, base.image, base.target,
            base.prediction AS baseline_prediction, other.prediction AS prediction,
            other.rank = 0 AS is_won
        FROM (VALUES {values}) AS pairs(pair, first, second)
        JOIN records AS base ON base.entry = first
        JOIN records AS other ON other.entry = second AND other.image = base.image
        WHERE base.status = '{Status.OK}' AND other.status = '{Status.OK}'
            AND (base.rank = 0) <> (other.rank = 0)
        ORDER BY pair, base.index""",
        {entry for entries in pairs for entry in entries},
    )
    return Changed(
        changed["pair"].to_numpy(),
        changed["image"].dictionary_encode().combine_chunks(),
        np.array([changed[name].to_numpy() for name in COLUMNS]),
        changed["is_won"].to_numpy(),
    )
