"""Records as arrays, of one row a condition and one column an image."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.records.schema import Status

Array = NDArray[Any]
Columns = dict[str, Array]
"""By name, as `columns_of` makes them."""
Positions = NDArray[np.int64]
"""Of records or rows, -1 for none."""
Marks = NDArray[np.bool_]

STATUSES = tuple(Status)
OK = STATUSES.index(Status.OK)
ABSENT = len(STATUSES)
"""The status where there is no record."""
WHOLE = (
    *("index", "target", "clean_prediction", "clean_rank", "prediction", "rank", "rank_8bit", "l0"),
    "goal",
)
REAL = ("clean_loss", "loss", "gradient", "linf", "l2", "radius")
TEXTS = ("image", "pixels_sha256")
DRAWS = "draws_right"
"""A column that few runs fill."""
NEEDED = (*WHOLE, *REAL, *TEXTS, "status", "message", DRAWS)
"""Columns of the records that are read."""
SQL_OF_NEEDED = ", ".join(f'"{name}"' for name in (*NEEDED, "entry"))
"""Them, and the entry of each record."""


class Grid(NamedTuple):
    """Images under conditions.

    Attributes:
        indices: position of each image in the data set (n,).
        at: the record of each condition and image (C, n).
        columns: of `columns_of`, each (C, n).
    """

    indices: NDArray[np.int32]
    at: Positions
    columns: Columns


def grid_of(records: pa.Table, codes: NDArray[np.integer[Any]], conditions: int) -> Grid:
    """Records by condition and image.

    Args:
        records: columns `NEEDED`, in any order.
        codes: of the condition of each.
        conditions: how many there are.
    """
    columns = columns_of(records)
    index, image = _numbered(columns["index"])
    at = _placed(codes, image, (conditions, len(index)))
    if (at >= 0).sum() < len(records):  # several images have one position
        image += len(index) * _occurrence(codes * len(index) + image)
        index = np.tile(index, image.max() // len(index) + 1)
        at = _placed(codes, image, (conditions, len(index)))
    are_there = (at >= 0).any(axis=0)
    if not are_there.all():
        index, at = index[are_there], at[:, are_there]
    if np.array_equal(at.ravel(), np.arange(len(records))):
        return Grid(index, at, {name: of.reshape(at.shape) for name, of in columns.items()})
    return Grid(index, at, {name: _and_none(name, of)[at] for name, of in columns.items()})


def _numbered(values: NDArray[np.int32]) -> tuple[NDArray[np.int32], Positions]:
    """Candidates for the different values, ascending, and of each value which one it is."""
    low, high = int(values.min(initial=2**31 - 1)), int(values.max(initial=-(2**31)))
    if high - low > len(values):  # far between
        different, which = np.unique(values, return_inverse=True)
        return different, which
    return np.arange(low, high + 1, dtype=np.int32), (values - low).astype(int)


def _placed(codes: NDArray[np.integer[Any]], image: Positions, shape: tuple[int, int]) -> Positions:
    at = np.full(shape, -1)
    at[codes, image] = np.arange(len(image))
    return at


def _occurrence(keys: Positions) -> Positions:
    """Of each key how many equal ones stand before it."""
    order = np.argsort(keys, kind="stable")
    begins = np.flatnonzero(np.diff(keys[order], prepend=-1))
    lengths = np.diff(begins, append=len(keys))
    occurrence = np.empty(len(keys), int)
    occurrence[order] = np.arange(len(keys)) - np.repeat(begins, lengths)
    return occurrence


def columns_of(records: pa.Table) -> Columns:
    """Columns of the records as arrays: of `NEEDED` those that are there, but ``message``.

    Args:
        records: ``status`` and others.

    Returns:
        Whole numbers with -1 where there is none, others with NaN; hashes of texts, with 0 where
        there is none; ``status`` as a position in `STATUSES`, `ABSENT` for none of these; `DRAWS`
        where any record has it.
    """
    columns: Columns = {}
    for kinds, array_of in ((WHOLE, _whole), (REAL, _real), (TEXTS, _hashed)):
        are_there = [name for name in kinds if name in records.column_names]
        columns |= {name: array_of(records[name]) for name in are_there}
    if DRAWS in records.column_names and records[DRAWS].null_count < len(records):
        columns[DRAWS] = _whole(records[DRAWS])
    codes, names = coded(records["status"])
    known = {str(status): code for code, status in enumerate(STATUSES)}
    lookup = np.array([known.get(name, ABSENT) for name in names], np.int8)
    columns["status"] = lookup[codes]
    return columns


def none_of(name: str) -> float:
    """What stands in a column where there is no record."""
    if name in REAL:
        return np.nan
    return ABSENT if name == "status" else 0 if name in TEXTS else -1


def _and_none(name: str, values: Array) -> Array:
    """With such a value at the end, which the position -1 gives."""
    return np.append(values, np.array([none_of(name)]).astype(values.dtype))


def coded(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], list[Any]]:
    """Of every record the position of its text among the different ones, None being one of them."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    texts = column.unify_dictionaries().combine_chunks()
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.chunk(0) if texts.num_chunks else pa.DictionaryArray.from_arrays([], [])
    names = [*texts.dictionary.to_pylist(), None]
    indices = texts.indices.fill_null(len(names) - 1) if texts.null_count else texts.indices
    return indices.to_numpy(), names


def _whole(column: pa.ChunkedArray) -> NDArray[np.integer[Any]]:
    if column.null_count == len(column):
        return np.full(len(column), -1, np.int32)
    values: NDArray[np.integer[Any]] = (
        column.fill_null(-1) if column.null_count else column
    ).to_numpy()
    return values


def _real(column: pa.ChunkedArray) -> NDArray[np.float64]:
    if column.null_count == len(column):
        return np.full(len(column), np.nan)
    values: NDArray[np.float64] = column.to_numpy()
    return values


def _hashed(column: pa.ChunkedArray) -> NDArray[np.int64]:
    codes, names = coded(column)
    hashes = np.fromiter((0 if name is None else hash(name) for name in names), np.int64)
    return hashes[codes]
