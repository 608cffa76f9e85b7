"""A small run folder, and damage to it that its checksums do not show."""

import io
import json
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from robustbench_twicing.records.parts import META, META_HASH
from robustbench_twicing.records.run_folder import RunFolder
from tests.tiny import greys, halfspace, quick_conditions, run

from .textwise import VALUES, change_value


@cache
def good_run() -> dict[str, bytes]:
    """The files of a run of four images under two conditions, with kept images."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        conditions = quick_conditions("clean", "fgsm")
        run(
            halfspace(), greys([9, 99, 130, 200], [0, 0, 1, 1]), conditions, out, save_adversarial=1
        )
        files = [path for path in out.rglob("[!.]*.*") if path.is_file()]
        return {str(path.relative_to(out)): path.read_bytes() for path in files}


def strange_part(random: Random, content: bytes) -> bytes:
    """A sound Parquet file with something strange in it, under true checksums."""
    try:
        table = pq.read_table(io.BytesIO(content))
        meta = json.loads(table.schema.metadata[META])
    except Exception:  # damaged before
        return content
    name = random.choice(table.column_names)
    at = table.column_names.index(name)
    field = table.schema.field(name)
    change = random.choice(("meta", "meta", "null", "value", "type", "drop", "many", "none"))
    if change == "meta":
        meta = json.loads(change_value(random, json.dumps(meta).encode()))
    elif change == "null":
        table = table.set_column(at, field, pa.nulls(len(table), pa.string()).cast(field.type))
    elif change == "value":
        with suppress(Exception):
            column = pa.array([random.choice(VALUES)] * len(table)).cast(field.type)
            table = table.set_column(at, field, column)
    elif change == "type":
        table = table.set_column(
            at, name, pa.array([random.choice(([1], {"a": 1}, 1.5))] * len(table))
        )
    elif change == "drop":
        table = table.drop_columns([name])
    elif change == "many":
        table = pa.concat_tables([table] * 3000)
    else:
        table = table.slice(0, 0)
    return _written(table, meta)


def endless_part(random: Random, content: bytes) -> bytes:
    """A few kilobytes that declare a hundred million equal records."""
    return _endless()


@cache
def _endless() -> bytes:
    file = io.BytesIO()
    numbers = pa.array([0]).take(pa.array([0] * 10_000_000, pa.int8()))
    pq.write_table(pa.table({"index": numbers}), file)
    return file.getvalue()


def _written(table: pa.Table, meta: Any) -> bytes:
    text = json.dumps(meta)
    about = {META: text.encode(), META_HASH: sha256(text.encode()).hexdigest()}
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(about), file, write_page_checksum=True)
    return file.getvalue()


def sign_again(place: Path) -> None:
    """Make the parts belong to a damaged run.json, where that can be read at all."""
    with suppress(Exception):
        folder = RunFolder.open(place)
        for evaluation in folder.manifest.evaluations:
            for number in range(min(3, folder.part_count(evaluation))):
                path = folder.part_path(evaluation, number)
                table = pq.read_table(path)
                meta = json.loads(table.schema.metadata[META])
                meta["belongs_to"] = folder.belongs_to(evaluation, range(number, number + 1))
                path.write_bytes(_written(table, meta))
