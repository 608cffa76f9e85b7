"""Error rows of finished parts, which the same command computes again."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..files.atomic import asked
from .manifest import Evaluation
from .parts import DamagedPartError
from .run_folder import RunFolder
from .schema import Status

Stamp = tuple[int, int, int]
Positions = Mapping[str, frozenset[int]]
"""By the key of a condition, positions of images in the data set."""


class FailedPart(NamedTuple):
    """A finished part with error rows.

    Attributes:
        stamp: of its file, by which one that another process has replaced since is known.
        failed: the images that ended in an error, by condition.
    """

    stamp: Stamp
    failed: Positions


def failed_parts(
    folder: RunFolder, evaluation: Evaluation, parts: Iterable[int]
) -> dict[int, FailedPart]:
    """Those parts that are there and have error rows; damaged ones are no matter here.

    Raises:
        UserError: the system cannot read a part.
    """
    failures: dict[int, FailedPart] = {}
    for part in parts:
        path = folder.part_path(evaluation, part)
        stamp = stamp_of(path)
        if stamp is None or not _may_have_errors(path):
            continue
        try:
            failed = failed_rows(folder.part(evaluation, part).table)
        except DamagedPartError:
            continue
        if failed:
            failures[part] = FailedPart(stamp, failed)
    return failures


def stamp_of(path: Path) -> Stamp | None:
    """Which file is there now; None where there is none."""
    stat = asked(path, path.stat)
    return None if stat is None else (stat.st_ino, stat.st_size, stat.st_mtime_ns)


def failed_rows(table: pa.Table) -> Positions:
    """The images that ended in an error, among some records."""
    errors = table.filter(pc.equal(table["status"], Status.ERROR.value))
    positions: dict[str, set[int]] = {}
    for key, position in keys_and_positions(errors):
        positions.setdefault(key, set()).add(position)
    return {key: frozenset(images) for key, images in positions.items()}


def keys_and_positions(table: pa.Table) -> Iterator[tuple[str, int]]:
    """Of every record the key of its condition and the position of its image."""
    names = (table[name].to_pylist() for name in ("protocol", "condition", "index"))
    for protocol, condition, position in zip(*names, strict=True):
        yield f"{protocol}:{condition}", position


def _may_have_errors(path: Path) -> bool:
    """What the footer says of a part alone, for few have any: their statuses from first to last."""
    try:
        with pq.ParquetFile(path) as file:
            column = file.schema_arrow.names.index("status")
            groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        ranges = [group.column(column).statistics for group in groups]
        return any(not _excludes_errors(statistics) for statistics in ranges)
    except (OSError, ValueError, pa.ArrowException):
        return True  # read as a whole it says what is wrong


def _excludes_errors(statistics: "pq.Statistics | None") -> bool:
    if statistics is None or not statistics.has_min_max:
        return False
    low, high = statistics.min, statistics.max
    return not low <= Status.ERROR.value <= high
