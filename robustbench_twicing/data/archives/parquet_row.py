"""A row of a Parquet file, read with its neighbours."""

import io
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import UnreadableError
from ...files.stamp import Stamp
from ..stored import LARGEST_FILE

ROWS = 16
"""Images that are read together; ahead of their use, in the order of the file."""
BUFFER = 2**20
"""Bytes by which a column is read, so that a large row group is never in memory whole."""
OPEN = 2
"""Files of which a process keeps a reader."""


@dataclass(frozen=True)
class Shard:
    """A Parquet file as it was when its rows were listed.

    Attributes:
        path: of the file.
        at: its stamp.
        column: path of the column of encoded images.
    """

    path: Path
    at: Stamp
    column: str


class ParquetRow(NamedTuple):
    """An image in a row, as `Stored` describes it."""

    id: str
    shard: Shard
    row: int
    size: int

    def open(self) -> BinaryIO:
        """See `Stored`."""
        if self.size > LARGEST_FILE:
            raise UnreadableError(f"{self} has {self.size:,} bytes; an image has fewer")
        return io.BytesIO(_readers.content(self.shard, self.row))

    def stamp(self) -> Stamp:
        """See `Stored`; the file's times."""
        return Stamp.of(self.shard.path.stat())._replace(size=self.size)

    def __str__(self) -> str:
        return f"{self.shard.path}/{self.id} (row {self.row})"


class _Reader:
    """Reads rows of one file, a few at a time; fast where they are asked for in order."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self._file = pq.ParquetFile(shard.path, buffer_size=BUFFER, pre_buffer=False)
        metadata = self._file.metadata
        ends = [0]
        for group in range(metadata.num_row_groups):
            ends.append(ends[-1] + metadata.row_group(group).num_rows)
        self._starts = ends
        self._group, self._first = -1, 0
        self._batch: list[bytes] = []
        self._rest: Iterator[Any] = iter(())

    def content(self, row: int) -> bytes:
        """The bytes of a row; images before it in its row group are read, too, and not kept."""
        group = next(g for g, end in enumerate(self._starts[1:]) if row < end)
        if group != self._group or row < self._first:
            self._group, self._first, self._batch = group, self._starts[group], []
            self._rest = self._file.iter_batches(
                ROWS, row_groups=[group], columns=[self.shard.column], use_threads=False
            )
        while row >= self._first + len(self._batch):
            self._first += len(self._batch)
            self._batch = leaf(next(self._rest), self.shard.column).to_pylist()
        return self._batch[row - self._first]

    def close(self) -> None:
        self._file.close()


class _Readers:
    """The readers of a process; used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: OrderedDict[Shard, _Reader] = OrderedDict()

    def content(self, shard: Shard, row: int) -> bytes:
        with self._lock:
            try:
                if Stamp.of(shard.path.stat()).on_any_mount != shard.at.on_any_mount:
                    raise UnreadableError(f"{shard.path} was changed after it was opened")
                return self._reader(shard).content(row)
            except BaseException as error:
                self._open.pop(shard, None)  # it may stand between two rows
                if not isinstance(error, OSError | pa.ArrowException | StopIteration):
                    raise
                raise UnreadableError(f"{shard.path} cannot be read: {error}") from error

    def _reader(self, shard: Shard) -> _Reader:
        if shard not in self._open:
            self._open[shard] = _Reader(shard)
            if len(self._open) > OPEN:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(shard)
        return self._open[shard]


_readers = _Readers()


def leaf(batch: Any, column: str) -> Any:
    """A column of a batch by its path, ``image.bytes``; names of columns may have dots, too."""
    if column in batch.schema.names:
        return batch.column(column)
    name, _, part = column.rpartition(".")
    return pc.struct_field(batch.column(name), part)
