"""Parts read back: checked for damage and schema before anything is made of them."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..cost import Cost
from ..errors import UserError
from .schema import RECORD_SCHEMA, check_version

META = b"robustbench_twicing"
META_HASH = b"robustbench_twicing.sha256"
"""Parquet has checksums for its columns, and none for what stands beside them."""


class Parts(NamedTuple):
    """The parts of one evaluation that are there, in order of image.

    Attributes:
        table: columns of `RECORD_SCHEMA`, one row per condition and image.
        costs: condition key to cost, summed over parts and processes.
        flags: what happened on the way (``batch-halved``).
    """

    table: pa.Table
    costs: dict[str, Cost]
    flags: tuple[str, ...]


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


def read_part(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """One part and what stands beside it.

    Raises:
        UserError: a damaged file, or one of another schema.
    """
    try:
        # Half the time of pq.read_table, which matters with thousands of parts.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(use_threads=False)
            stored = file.schema_arrow.metadata or {}
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _damaged(path, str(error)) from error
    text = stored.get(META, b"{}").decode(errors="replace")
    if stored.get(META_HASH, b"").decode(errors="replace") != digest(text) and META in stored:
        raise _damaged(path, "its costs and flags are not what was written")
    meta: dict[str, Any] = json.loads(text)
    check_version(meta.get("schema"), str(path))
    if not table.schema.equals(RECORD_SCHEMA):
        raise _damaged(path, "its columns are not those of a record")
    return table.replace_schema_metadata(None), meta


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode()).hexdigest()


def _damaged(path: Path, reason: str) -> UserError:
    line = " ".join(reason.split())[:200]
    return UserError(f"{path} is damaged ({line}); delete it and run eval again")
