"""What an archive holds, read once and kept on disk until the archive changes.

A table of names, places and sizes: to find the members of a tar its headers have to be read one
after the other, to know the sizes of images in Parquet all of it.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ...files.memory import keep_file, kept_file
from ...files.regular import check_regular
from ...files.stamp import Stamp

if TYPE_CHECKING:  # pyarrow is loaded where an archive is read
    import pyarrow as pa

KIND = "4.parquet"
"""Version of the tables, and their files' ending."""
GROUP = 50_000
"""Rows that are read together; names are sorted, so that few groups hold those of one folder."""
_FACTS = b"robustbench_twicing"


def stamp_now(path: Path) -> Stamp:
    """The stamp of an archive.

    Raises:
        UserError: it is no regular file, or cannot be read.
    """
    return Stamp.of(check_regular(path))


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
    facts = json.dumps([str(path), *stamp_now(path).on_any_mount]).encode()
    table = _read(path, facts, filters)
    if table is not None:
        return table
    table = make().replace_schema_metadata({_FACTS: facts})
    keep_file(
        *(str(path), KIND, lambda file: _write(table, file)), f"{path} is read anew every time"
    )
    return table if filters is None else table.filter(pq.filters_to_expression(filters))


def _read(path: Path, facts: bytes, filters: Any) -> "pa.Table | None":
    """The table; None where there is none, of the archive as it was, or a damaged one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = kept_file(str(path), KIND)
        with pq.ParquetFile(file, page_checksum_verification=True) as stored:
            if (stored.schema_arrow.metadata or {}).get(_FACTS) != facts:
                return None
        return pq.read_table(file, filters=filters, page_checksum_verification=True)
    except (UserError, OSError, pa.ArrowException):
        return None


def _write(table: "pa.Table", file: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, row_group_size=GROUP, compression="zstd", write_page_checksum=True)
