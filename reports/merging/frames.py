"""Records as columns: which entry each is of, and all of them as one DataFrame."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.conditions.condition import Condition
from robustbench_twicing.errors import UserError

CATEGORIES = ["image", "pixels_sha256", "message"]


def condition_codes(
    table: pa.Table, conditions: Sequence[Condition], path: Path
) -> NDArray[np.int64]:
    """Of every record, the position of its condition.

    Raises:
        UserError: a condition that is not among them.
    """
    positions = {condition.key: code for code, condition in enumerate(conditions)}
    names = [
        table[name].unify_dictionaries().combine_chunks().to_pandas()
        for name in ("protocol", "condition")
    ]
    lookup = np.array(
        [
            [positions.get(f"{protocol}:{condition}", -1) for condition in names[1].cat.categories]
            for protocol in names[0].cat.categories
        ],
        dtype=np.int64,
    )
    if not len(table):
        return np.empty(0, np.int64)
    codes: NDArray[np.int64] = lookup[names[0].cat.codes, names[1].cat.codes]
    if (codes < 0).any():
        raise UserError(f"{path} has records of a condition that its run.json does not name")
    return codes


def records_frame(
    tables: Sequence[pa.Table],
    entries: NDArray[np.int64],
    datasets: Sequence[str],
    folders: Sequence[Path],
) -> pd.DataFrame:
    """All records, sorted by entry and image.

    Args:
        tables: columns of `RECORD_SCHEMA`.
        entries: of every row, in the same order.
        datasets: the name of each entry's data set.
        folders: where each entry's records are from, for errors.

    Raises:
        UserError: an image counted twice.
    """
    whole = pa.concat_tables(tables).unify_dictionaries()
    frame: pd.DataFrame = whole.to_pandas(categories=CATEGORIES)
    frame["entry"] = entries
    order = np.lexsort((frame["index"].to_numpy(), entries))
    frame = frame.iloc[order].reset_index(drop=True)
    names = list(dict.fromkeys(datasets))
    codes = np.array([names.index(name) for name in datasets], np.int64)
    frame["dataset"] = pd.Categorical.from_codes(codes[frame["entry"]], pd.Index(names))
    _check_counted_once(frame, folders)
    return frame


def _check_counted_once(records: pd.DataFrame, folders: Sequence[Path]) -> None:
    images = records["image"].cat
    pairs = records["entry"] * len(images.categories) + images.codes
    twice = pairs.duplicated()
    if twice.any():
        row = records[twice].iloc[0]
        raise UserError(
            f"{folders[row['entry']]}: image {row['image']} is counted twice under "
            f"{row['condition']} for {row['label']}"
        )
