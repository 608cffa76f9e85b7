"""Files of parts: written, and read back checked for damage and schema."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass as strict_dataclass
from pydantic_core import from_json

from ..errors import UserError
from ..files.regular import check_regular
from .cost import Cost
from .schema import EARLIER_SCHEMAS, RECORD_SCHEMA, SCHEMA_VERSION, check_version

META = b"robustbench_twicing"
META_HASH = b"robustbench_twicing.sha256"
"""Parquet has checksums for its columns, and none for what stands beside them."""
REPAIR = "run the same eval again: it renames this file and evaluates its images once more"
NEVER_EMPTY = ("label", "dataset", "protocol", "condition", "index", "image", "status")
MOST_ROWS = 5_000_000
"""Records of one file: a thousand images under five thousand conditions."""
LARGEST_PART = 2**30
"""Bytes of a file, unpacked."""


class DamagedPartError(UserError):
    """A part that is not what was written: cut off, changed, or of something else."""


class PartRecords(NamedTuple):
    """The records of one part, or of all finished parts of an evaluation in order of image.

    Attributes:
        table: columns of `RECORD_SCHEMA`, one row per condition and image.
        costs: condition key to cost, summed over parts and processes.
        flags: what happened on the way (``batch-halved``).
    """

    table: pa.Table
    costs: dict[str, Cost]
    flags: tuple[str, ...] = ()


class Records(NamedTuple):
    """Records of one evaluation.

    Attributes:
        frame: columns of `RECORD_SCHEMA`, one row per condition and image.
        costs: condition key to cost, summed over parts and processes.
        flags: what happened on the way (``batch-halved``).
    """

    frame: pd.DataFrame
    costs: dict[str, Cost]
    flags: tuple[str, ...]


class FileRecords(NamedTuple):
    """What is read from a file.

    Attributes:
        table: columns of `RECORD_SCHEMA`, one part after the other.
        metas: what stands beside the records, of each part.
        columns: how many the file has.
        belongs_to: hash of run, model, data set and range of images.
    """

    table: pa.Table
    metas: "Sequence[PartMeta]"
    columns: int
    belongs_to: Any

    def split(self) -> Iterator[PartRecords]:
        """Part by part."""
        begins = accumulate((meta.rows or 0 for meta in self.metas), initial=0)
        for start, meta in zip(begins, self.metas, strict=False):
            table = self.table.slice(start, meta.rows)
            yield PartRecords(table, {**meta.costs}, tuple(meta.flags))

    def some(self, positions: slice) -> "FileRecords":
        """Of some of the parts, which follow one another."""
        tables = [part.table for part in self.split()][positions]
        return self._replace(table=pa.concat_tables(tables), metas=self.metas[positions])


@strict_dataclass(config=ConfigDict(strict=True, extra="forbid"))
class WrittenCost(Cost):
    """A cost as it is read: all of it, and nothing else."""

    n_forward: int = Field(...)
    n_backward: int = Field(...)
    seconds: float = Field(..., allow_inf_nan=False)


class PartMeta(BaseModel):
    """What stands beside the records of a part.

    Attributes:
        costs: condition key to cost.
        flags: what happened on the way.
        rows: how many records there are; early files, which hold one part, do not say it.
    """

    model_config = ConfigDict(strict=True)

    costs: dict[str, WrittenCost]
    flags: list[str]
    rows: int | None = Field(None, ge=0)


class _FileMeta(BaseModel):
    """What stands beside the records of a file; a single part says its own beside the rest."""

    belongs_to: Any = None
    parts: list[PartMeta] = Field(min_length=1)


def write_parts(path: Path, parts: Sequence[PartRecords], belongs_to: str) -> None:
    """Write a file of one part or more; ``belongs_to`` is that of `FileRecords`."""
    metas = [
        {
            "rows": part.table.num_rows,
            "costs": {name: asdict(cost) for name, cost in part.costs.items()},
            "flags": part.flags,
        }
        for part in parts
    ]
    about = metas[0] if len(metas) == 1 else {"parts": metas}
    text = json.dumps({"schema": SCHEMA_VERSION, "belongs_to": belongs_to} | about)
    meta = {META: text, META_HASH: digest(text)}
    with pq.ParquetWriter(
        path,
        # Arrow keeps a second copy of what its schema says, which of many parts is much.
        RECORD_SCHEMA.with_metadata(meta if len(parts) == 1 else None),
        write_page_checksum=True,
        use_dictionary=[name for name in RECORD_SCHEMA.names if name != "loss"],  # all differ
        use_byte_stream_split=["loss"],
    ) as file:
        file.write_table(pa.concat_tables(part.table for part in parts).unify_dictionaries())
        if len(parts) > 1:
            file.add_key_value_metadata(meta)


def read_parts(path: Path, coded: Sequence[str] = ()) -> FileRecords:
    """The parts of a file.

    Args:
        path: of the file.
        coded: columns of texts that come as dictionaries, in half the time where texts are few.

    Raises:
        DamagedPartError: it is not what was written.
        UserError: the system cannot read it, or it is of another schema.
    """
    check_regular(path)
    try:
        # Half the time of pq.read_table, which matters with thousands of parts.
        with pq.ParquetFile(
            path, page_checksum_verification=True, read_dictionary=list(coded)
        ) as file:
            _check_size(path, file.metadata)
            table = file.read(use_threads=False)
            stored = file.metadata.metadata or {}
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:  # no column of that name
        if isinstance(error, OSError) and error.errno:  # Arrow's own say nothing of the system
            raise UserError(f"{path} cannot be read: {os.strerror(error.errno)}") from error
        raise _damaged(path, str(error)) from error
    version, meta = _meta(path, stored)
    columns, names = table.num_columns, tuple(coded)
    if table.schema.equals(_with_coded(EARLIER_SCHEMAS[version], names)):
        table = _with_new_columns(table)
    if not table.schema.equals(_with_coded(RECORD_SCHEMA, names)):
        raise _damaged(path, "its columns are not those of a record")
    empty = [name for name in NEVER_EMPTY if table[name].null_count]
    if empty:
        raise _damaged(path, f"it has records without {empty[0]}")
    if len(meta.parts) == 1 and meta.parts[0].rows is None:
        meta.parts[0].rows = table.num_rows
    rows = sum(part.rows or 0 for part in meta.parts)
    if rows != table.num_rows:
        raise _damaged(path, f"it has {table.num_rows} rows of {rows}")
    table = table.replace_schema_metadata(None)
    return FileRecords(table, meta.parts, columns, meta.belongs_to)


def _with_new_columns(table: pa.Table) -> pa.Table:
    """Earlier records with the columns that they lack, empty."""
    new = [field for field in RECORD_SCHEMA if field.name not in table.column_names]
    for field in new:
        table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


@cache
def _with_coded(schema: pa.Schema, names: tuple[str, ...]) -> pa.Schema:
    for name in names:
        field = pa.field(name, pa.dictionary(pa.int32(), pa.string()))
        schema = schema.set(schema.get_field_index(name), field)
    return schema


def _check_size(path: Path, about: pq.FileMetaData) -> None:
    """Few bytes can stand for very many equal values."""
    unpacked = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    if about.num_rows > MOST_ROWS or unpacked > LARGEST_PART:
        raise _damaged(path, f"it declares {about.num_rows:,} records of {unpacked:,} bytes")


def _meta(path: Path, stored: Mapping[bytes, bytes]) -> tuple[int, _FileMeta]:
    if META not in stored:
        raise _damaged(path, "it has no costs and flags, which every part has")
    text = stored[META].decode(errors="replace")
    if stored.get(META_HASH, b"").decode(errors="replace") != digest(text):
        raise _damaged(path, "its costs and flags are not what was written")
    try:
        values = from_json(text)
        version = values["schema"]
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path, "its costs and flags have another form") from error
    check_version(version, str(path))  # before the form: a newer one may well have another
    try:
        if "parts" in values:
            return version, _FileMeta.model_validate_json(text)
        part = PartMeta.model_validate_json(text)
        return version, _FileMeta(belongs_to=values.get("belongs_to"), parts=[part])
    except ValueError as error:
        raise _damaged(path, "its costs and flags have another form") from error


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def _damaged(path: Path, reason: str) -> DamagedPartError:
    line = " ".join(reason.split())[:200]
    return DamagedPartError(f"{path} is damaged ({line}); {REPAIR}")
