"""Records where they lie: Parquet parts and added tables as one view of DuckDB."""

import os
import re
import shutil
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.schema import RECORD_SCHEMA

from .entry import Files
from .tally import Tally

MEMORY = "1GB"
"""What DuckDB may take before it writes to the temporary folder."""
MOST_THREADS = 8
"""Each holds groups of its own, so that more of them need more memory."""
FEW_CONDITIONS = 16
"""With more of them, one by one is no faster than all."""
NAMES = ("label", "dataset", "protocol", "condition")
"""Columns that are those of the entry."""
NAMED = pa.schema(
    [("source", pa.int32()), ("entry", pa.int32()), *((name, pa.string()) for name in NAMES)]
)


class Source(NamedTuple):
    """Where records of some entries are from.

    Attributes:
        columns: by position of an entry, its column in the tally; records of other entries are not
            counted.
        tally: what is counted of the records.
        files: Parquet files; or none, and
        table: gives the name of a table in the database, with the columns of `RECORD_SCHEMA` and
            ``entry``.
    """

    columns: Mapping[int, int]
    tally: Tally
    files: Sequence[Files] = ()
    table: Callable[[], str] | None = None


class Database:
    """A database in memory that reads Parquet, and writes what is too large to a temporary folder.

    The folder is removed with the last object that uses the database. It loads no extensions.

    Raises:
        UserError: the temporary folder cannot be made.
    """

    def __init__(self) -> None:
        try:
            folder = Path(mkdtemp(prefix="robustbench-twicing-")).resolve()
        except OSError as error:
            raise UserError(f"no temporary folder can be made: {error}; set TMPDIR") from error
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = folder
        self._links: dict[Path, Path] = {}
        self._tables = 0
        settings: dict[str, Any] = {
            "memory_limit": MEMORY,
            "threads": min(thread_count(), MOST_THREADS),
            "temp_directory": str(folder / "spilled"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "allow_persistent_secrets": False,
            "python_enable_replacements": False,
        }
        self._connection = duckdb.connect(config=settings)

    def connect(self, sources: Sequence[Source], named: pa.Table) -> duckdb.DuckDBPyConnection:
        """A connection with a view ``records`` of its own: `RECORD_SCHEMA`'s columns and ``entry``.

        Args:
            sources: where the records are from.
            named: columns `NAMED`: the entries of each source, by its position, and their names.
        """
        connection = self._connection.cursor()
        connection.register("given", named)
        connection.execute("CREATE TEMP TABLE named AS SELECT * FROM given")
        connection.unregister("given")
        with _in_one_line():
            view = self._select(sources, named.to_pylist())
            connection.execute(f"CREATE TEMP VIEW records AS {view}")
        return connection

    def add_table(
        self,
        connection: duckdb.DuckDBPyConnection,
        records: pa.Table | str,
        given: pa.Table | None = None,
    ) -> str:
        """Keep records, as `Runs.with_entries` takes them, in a table; its name."""
        name = f"added_{self._tables}"
        self._tables += 1
        columns = ", ".join(f'"{field.name}" {_sql_type(field.type)}' for field in RECORD_SCHEMA)
        select, registered = records, given
        if not isinstance(select, str):
            select, registered = "SELECT * FROM given", records
        if registered is not None:
            connection.register("given", registered)
        with _in_one_line():
            connection.execute(
                f"CREATE TABLE main.{name} ({columns}, entry INTEGER, budgets INTEGER DEFAULT 1)"
            )
            connection.execute(f"INSERT INTO main.{name} BY NAME ({select})")
        if registered is not None:
            connection.unregister("given")
        return name

    def _select(self, sources: Sequence[Source], named: Sequence[Mapping[str, Any]]) -> str:
        conditions: dict[int, set[str]] = {}
        for names in named:
            conditions.setdefault(names["source"], set()).add(names["condition"])
        columns = ", ".join(
            f'{"named" if name in NAMES else "part"}."{name}"' for name in RECORD_SCHEMA.names
        )
        branches = [
            f"SELECT {columns}, named.entry FROM {self._part(source, conditions[number])} AS part "
            f"JOIN named ON named.source = {number} AND {_joined(source)}"
            for number, source in enumerate(sources)
        ]
        empty = ", ".join(
            f'NULL::{_sql_type(field.type)} AS "{field.name}"' for field in RECORD_SCHEMA
        )
        return " UNION ALL ".join(branches) or f"SELECT {empty}, 0 AS entry WHERE false"

    def _part(self, source: Source, conditions: Collection[str]) -> str:
        """Records of one source, or of those of its conditions that are wanted."""
        if source.table:
            values = ", ".join(map(_value, RECORD_SCHEMA))
            every = "unnest(range(entry, entry + budgets)) AS entry"
            return f"(SELECT {values}, {every} FROM main.{source.table()})"
        # A condition that stands in the query lets DuckDB pass over all other records unread.
        few = f"condition IN ({', '.join(map(_quoted, sorted(conditions)))})"
        where = few if len(conditions) <= FEW_CONDITIONS else "true"
        return f"({' UNION ALL '.join(self._parts(files, where) for files in source.files)})"

    def _parts(self, of: Files, where: str) -> str:
        """Records of parts, with NULL in columns that their version of the schema does not have."""
        present = pq.read_schema(of.paths[0]).names
        columns = [
            _value(field)
            if field.name in present
            else f'NULL::{_sql_type(field.type)} AS "{field.name}"'
            for field in RECORD_SCHEMA
        ]
        files = ", ".join(_quoted(_no_pattern(self._plain(path))) for path in of.paths)
        if of.images is not None:
            where += f' AND "index" BETWEEN {of.images[0]} AND {of.images[-1]}'
        return (
            f"SELECT {', '.join(columns)} FROM read_parquet([{files}], hive_partitioning = false) "
            f"WHERE {where}"
        )

    def _plain(self, path: Path) -> Path:
        """The same file under a name in which DuckDB sees no pattern, whatever its own is."""
        if path.parent not in self._links:
            link = self.folder / str(len(self._links))
            link.symlink_to(path.parent.resolve(), target_is_directory=True)
            self._links[path.parent] = link
        return self._links[path.parent] / path.name


def thread_count() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fetch(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[Any] = ()
) -> pa.Table:
    """What a query over records gives.

    Raises:
        UserError: a part that was changed after it was checked, or too little memory or disk.
    """
    with _in_one_line():
        return connection.sql(sql, params=list(parameters)).to_arrow_table()


def stream(connection: duckdb.DuckDBPyConnection, sql: str, rows: int) -> Iterator[pa.RecordBatch]:
    """As `fetch`, some rows at a time, of which each is gone when the next is there."""
    with _in_one_line():
        yield from connection.sql(sql).to_arrow_reader(rows)


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        raise UserError(
            f"the records need more than {MEMORY} of memory and the room that is left in the "
            f"temporary folder ({_first_line(error)}); set TMPDIR to a folder with more room"
        ) from error
    except (duckdb.IOException, duckdb.InvalidInputException, OSError, pa.ArrowException) as error:
        raise UserError(
            f"the records cannot be read: {_first_line(error)}; if a part was changed meanwhile, "
            "the same report says which; else look for room in TMPDIR"
        ) from error


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _joined(source: Source) -> str:
    if source.table:
        return "named.entry = part.entry"
    return "named.protocol = part.protocol AND named.condition = part.condition"


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        return "DOUBLE"
    if pa.types.is_int64(kind):
        return "BIGINT"
    return "INTEGER" if pa.types.is_integer(kind) else "VARCHAR"


def _value(field: pa.Field) -> str:
    """A number that is none is no value, as in pandas."""
    if pa.types.is_floating(field.type):
        return f'nullif("{field.name}", \'nan\'::DOUBLE) AS "{field.name}"'
    return f'"{field.name}"'


def _no_pattern(path: Path) -> str:
    """A path as a pattern that it alone matches."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
