"""Parquet files as Hugging Face writes them: a column of encoded images, and one of labels."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...errors import UserError
from ...files.printable import count, name_some
from .index import remembered, stamp_now
from .parquet_row import BUFFER, ROWS, Shard, leaf

IMAGE_COLUMNS = ("image", "img", "jpg", "png", "jpeg", "webp", "image_bytes", "bytes")
"""Names of columns of images; any other is taken where it is the only one of the right type."""
LABEL_COLUMNS = ("wnid", "synset", "label", "labels", "fine_label", "cls", "class", "target")
"""What is called so, and holds numbers or texts, may be the label; the first is preferred."""


class LabelColumn(NamedTuple):
    """A column that may be the label: its name, and those of the labels 0, 1, ..., where known."""

    name: str
    classes: tuple[str, ...]


class Columns(NamedTuple):
    """Where a file has what is needed.

    Attributes:
        content: path of the column of encoded images, like ``image.bytes``.
        name: path of the column of their names, or empty.
        labels: those that may be the label, in the order of `LABEL_COLUMNS`.
    """

    content: str
    name: str
    labels: tuple[LabelColumn, ...]


Value = int | str | None


class Rows(NamedTuple):
    """The images of one file.

    Attributes:
        shard: the file.
        sizes: bytes of every image.
        names: of every image; empty where the file has none.
        labels: of every column that may be the label: numbers, texts, or None, of every image.
        columns: where they are.
    """

    shard: Shard
    sizes: list[int]
    names: list[str]
    labels: list[list[Value]]
    columns: Columns


def list_rows(path: Path) -> Rows:
    """The rows of a file; read in full the first time.

    Raises:
        UserError: no Parquet file, cut short, without a column of images, or rows without one.
    """
    stamp = stamp_now(path)
    columns = _columns(path)
    table = remembered(path, lambda: _index(path, columns))
    return Rows(
        Shard(path, stamp, columns.content),
        table["size"].to_pylist(),
        table["name"].to_pylist() if "name" in table.column_names else [],
        [table[f"label {column.name}"].to_pylist() for column in columns.labels],
        columns,
    )


def _index(path: Path, columns: Columns) -> pa.Table:
    wanted = {"size": columns.content} | ({"name": columns.name} if columns.name else {})
    wanted |= {f"label {column.name}": column.name for column in columns.labels}
    parts: dict[str, list[Any]] = {key: [] for key in wanted}
    try:
        with pq.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            for batch in file.iter_batches(ROWS, columns=list(wanted.values()), use_threads=False):
                for key, column in wanted.items():
                    values = leaf(batch, column)
                    if pa.types.is_dictionary(values.type):
                        values = values.dictionary_decode()
                    parts[key].append(pc.binary_length(values) if key == "size" else values)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} is damaged or cut short ({error}); download it again") from error
    empty = [pa.nulls(0)]  # a part without rows
    table = pa.table({key: pa.chunked_array(chunks or empty) for key, chunks in parts.items()})
    _check_rows(path, columns, table)
    return table


def _check_rows(path: Path, columns: Columns, table: pa.Table) -> None:
    if number := table["size"].null_count:
        row = pc.index(pc.is_null(table["size"]), pa.scalar(True)).as_py()
        raise UserError(
            f"{path}: {number:,} of {count(table.num_rows, 'row')} without an image, perhaps only "
            f"a path to one, in column {columns.content} (row {row} is the first); write it with "
            "the images embedded"
        )


def _columns(path: Path) -> Columns:
    try:
        schema = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise UserError(
            f"{path} is no Parquet file, damaged or cut short ({error}); download it again"
        ) from error
    twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
    if twice:
        raise UserError(f"{path} has several columns called {name_some(twice)}; write it anew")
    images = {field.name: _content(field) for field in schema if _content(field)}
    named = [name for name in IMAGE_COLUMNS if name in images] or list(images)
    if len(named) != 1 and (not named or named[0] not in IMAGE_COLUMNS):
        raise UserError(
            f"{path} has no column of images (a struct with bytes, as Hugging Face's image, or "
            f"binary), but {', '.join(schema.names) or 'nothing'}"
        )
    content = images[named[0]]
    field = schema.field(named[0]).type
    has_names = pa.types.is_struct(field) and any(part.name == "path" for part in field)
    called = [name for name in LABEL_COLUMNS if name in schema.names]
    if called and not _are_labels(schema.field(called[0]).type):
        called = []  # who calls a column so means it, and no other takes its place
    labels = tuple(
        LabelColumn(name, _class_names(schema, name))
        for name in called
        if _are_labels(schema.field(name).type)
    )
    return Columns(content, f"{named[0]}.path" if has_names else "", labels)


def _content(field: pa.Field) -> str:
    """Path of the encoded images in a column; empty where it holds none."""
    if _is_binary(field.type):
        return str(field.name)
    if pa.types.is_struct(field.type):
        parts = [part for part in field.type if part.name == "bytes" and _is_binary(part.type)]
        return f"{field.name}.bytes" if parts else ""
    return ""


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _are_labels(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(pa.types.is_integer(kind) or is_text)


def _class_names(schema: pa.Schema, label: str) -> tuple[str, ...]:
    """What Hugging Face's metadata say of the labels; nothing where there are none."""
    try:
        facts = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        names = facts["info"]["features"][label]["names"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    right = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return tuple(names) if right else ()


def list_all(paths: Sequence[Path]) -> list[Rows]:
    """The rows of several files, which have to have the same columns.

    Raises:
        UserError: as `list_rows`, or columns that differ.
    """
    every = [list_rows(path) for path in paths]
    for rows in every:
        if rows.columns != every[0].columns:
            raise UserError(
                f"{rows.shard.path} has other columns or classes than {every[0].shard.path}; give "
                "the parts of one data set"
            )
    return every
