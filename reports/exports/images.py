"""images.csv: every image under every condition, and what the network made of it."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from robustbench_twicing.files.atomic import write_atomically
from robustbench_twicing.records.schema import Status

from ..merging.runs import Runs
from ..metrics.worst import TOP1_ONLY
from ..text.csv_text import csv_lines, quoted, quoted_cells

IMAGE_COLUMNS = {
    **{name: name for name in ("label", "dataset", "protocol", "condition")},
    "index": '"index"',
    **{name: name for name in ("image", "target", "prediction")},
    "right": "(rank = 0)::INTEGER",
    "right_top5": "CASE WHEN entry IN ({top1_only}) THEN NULL ELSE (rank < 5)::INTEGER END",
    "right_8bit": "(rank_8bit = 0)::INTEGER",
    "draws_right": "bit_count(draws_right)",
    "clean_prediction": "clean_prediction",
    "clean_right": "(clean_rank = 0)::INTEGER",
    "loss": "loss",
    "clean_loss": "clean_loss",
    "linf_255": "255 * linf",
    **{name: name for name in ("l2", "l0", "radius", "goal", "witness", "status", "message")},
}
"""Columns of images.csv, in order, as SQL over records; docs/results.md explains them."""
MOST_LINES = 50_000
"""That are in memory at a time."""


def save_images(runs: Runs, path: Path) -> int:
    """Write one line per image and row of results.csv, in the order of these and of the images.

    Of the lines of a row of results.csv with status ``ok``, the mean of ``right`` is its ``top1``,
    of ``right_top5`` its ``top5``. Lines pass through memory some at a time, whatever their number.

    Args:
        runs: merged runs.
        path: of the file.

    Returns:
        How many images under how many conditions, multiplied: the lines below the heading.

    Raises:
        UserError: a part that was changed meanwhile; the file, or what sorting needs in TMPDIR,
            cannot be written.
    """
    lines = 0

    def write(file: Path) -> None:
        nonlocal lines
        with file.open("wb") as out:
            out.write(f"{quoted(IMAGE_COLUMNS)}\n".encode())
            for batch in _batches(runs):
                cells = [
                    quoted_cells(column) if pa.types.is_string(column.type) else column
                    for column in batch
                ]
                out.write(csv_lines(cells))
                lines += batch.num_rows

    write_atomically(path, write)
    return lines


def _batches(runs: Runs) -> Iterator[pa.RecordBatch]:
    known = [TOP1_ONLY in entry.condition.flags for entry in runs.entries]
    top1_only = ", ".join(["-1", *(str(entry) for entry, is_so in enumerate(known) if is_so)])
    columns = ", ".join(f'{sql} AS "{name}"' for name, sql in IMAGE_COLUMNS.items())
    order = f"ORDER BY entry, \"index\", image, status = '{Status.OK}' DESC"
    sql = f"SELECT {columns.format(top1_only=top1_only)} FROM records {order}"
    return runs.batches(sql, MOST_LINES)
