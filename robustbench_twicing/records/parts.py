"""Parts read back: checked for damage and schema before anything is made of them."""

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass as strict_dataclass

from ..errors import UserError
from ..files.regular import check_regular
from .cost import Cost
from .schema import EARLIER_SCHEMAS, RECORD_SCHEMA, check_version

META = b"robustbench_twicing"
META_HASH = b"robustbench_twicing.sha256"
"""Parquet has checksums for its columns, and none for what stands beside them."""
REPAIR = "run the same eval again: it renames this file and evaluates its images once more"
NEVER_EMPTY = ("label", "dataset", "protocol", "condition", "index", "image", "status")
MOST_ROWS = 5_000_000
"""Records of one part: a thousand images under five thousand conditions."""
LARGEST_PART = 2**30
"""Bytes of a part, unpacked."""


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
        version: of the schema.
        rows: how many records there are; None in early parts.
        belongs_to: hash of run, model, data set and range of images.
        columns: how many the file has.
    """

    model_config = ConfigDict(strict=True)

    costs: dict[str, WrittenCost]
    flags: list[str]
    version: Any = Field(None, alias="schema")
    rows: Any = None
    belongs_to: Any = None
    columns: int = 0


def read_part(path: Path, coded: Sequence[str] = ()) -> tuple[pa.Table, PartMeta]:
    """One part and what stands beside it.

    Args:
        path: of the file.
        coded: columns of texts that come as dictionaries, in half the time where texts are few.

    Returns:
        Records with all columns of today, and what stands beside them.

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
            stored = file.schema_arrow.metadata or {}
    except (OSError, ValueError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno:  # Arrow's own say nothing of the system
            raise UserError(f"{path} cannot be read: {os.strerror(error.errno)}") from error
        raise _damaged(path, str(error)) from error
    meta = _meta(path, stored).model_copy(update={"columns": table.num_columns})
    names = tuple(coded)
    if table.schema.equals(_with_coded(EARLIER_SCHEMAS[meta.version], names)):
        table = _with_new_columns(table)
    if not table.schema.equals(_with_coded(RECORD_SCHEMA, names)):
        raise _damaged(path, "its columns are not those of a record")
    empty = [name for name in NEVER_EMPTY if table[name].null_count]
    if empty:
        raise _damaged(path, f"it has records without {empty[0]}")
    if meta.rows not in (None, table.num_rows):
        raise _damaged(path, f"it has {table.num_rows} rows of {meta.rows}")
    return table.replace_schema_metadata(None), meta


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


def _meta(path: Path, stored: Mapping[bytes, bytes]) -> PartMeta:
    if META not in stored:
        raise _damaged(path, "it has no costs and flags, which every part has")
    text = stored[META].decode(errors="replace")
    if stored.get(META_HASH, b"").decode(errors="replace") != digest(text):
        raise _damaged(path, "its costs and flags are not what was written")
    try:
        meta = PartMeta.model_validate_json(text)
    except ValueError as error:
        _check_version(text, path)  # a newer one may well have another form
        raise _damaged(path, "its costs and flags have another form") from error
    check_version(meta.version, str(path))
    return meta


def _check_version(text: str, path: Path) -> None:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return
    check_version(values.get("schema") if isinstance(values, dict) else None, str(path))


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def _damaged(path: Path, reason: str) -> DamagedPartError:
    line = " ".join(reason.split())[:200]
    return DamagedPartError(f"{path} is damaged ({line}); {REPAIR}")
