"""What an archive holds, read once and kept on disk until the archive changes.

A table of names, places and sizes: to find the members of a tar its headers have to be read one
after the other, to know the sizes of images in Parquet all of it.
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UnreadableError, UserError
from ...files.atomic import write_atomically
from ...files.memory import cache_folder
from ...files.regular import check_regular
from ..stored import Stamp, stamp_of

if TYPE_CHECKING:  # pyarrow is loaded where an archive is read
    import pyarrow as pa

log = logging.getLogger(__name__)
FORMAT = 4
"""Version of the tables; part of the files' names."""
GROUP = 50_000
"""Rows that are read together; names are sorted, so that few groups hold those of one folder."""
_FACTS = b"robustbench_twicing"


def stamp_now(path: Path) -> Stamp:
    """The stamp of an archive.

    Raises:
        UserError: it is no regular file, or cannot be read.
    """
    check_regular(path)
    try:
        return stamp_of(path.stat())
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read: {error.strerror}") from error


def remembered(path: Path, make: "Callable[[], pa.Table]", filters: Any = None) -> "pa.Table":
    """The table of an archive: that of before, where the archive has not changed, else a new one.

    Args:
        path: the archive.
        make: reads the archive.
        filters: which rows, as `pyarrow.parquet.read_table` takes them.

    Raises:
        UserError: what ``make`` raises.
    """
    import pyarrow.parquet as pq

    path = path.resolve()
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:24]
    file = cache_folder() / f"{name}-{FORMAT}.parquet"
    facts = json.dumps([str(path), *stamp_now(path)]).encode()
    table = _read(file, facts, filters)
    if table is not None:
        return table
    table = make().replace_schema_metadata({_FACTS: facts})
    try:
        write_atomically(file, lambda temporary: _write(table, temporary))
    except UserError as error:
        log.warning("%s; %s is read anew every time", error, path)
    return table if filters is None else table.filter(pq.filters_to_expression(filters))


def _read(file: Path, facts: bytes, filters: Any) -> "pa.Table | None":
    """The table; None where there is none, of the archive as it was, or a damaged one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as stored:
            if (stored.schema_arrow.metadata or {}).get(_FACTS) != facts:
                return None
        return pq.read_table(file, filters=filters, page_checksum_verification=True)
    except (OSError, pa.ArrowException):
        return None


def _write(table: "pa.Table", file: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, row_group_size=GROUP, compression="zstd", write_page_checksum=True)
