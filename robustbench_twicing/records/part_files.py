"""Which files of parts there are.

A file holds one part, as it was evaluated, or a range of them, when all of the range were there:
``part-000007.parquet``, ``part-000000-000017.parquet``. A narrower file goes before a wider one.
"""

import re
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ..files.atomic import asked

Stamp = tuple[int, int, int]


class PartFile(NamedTuple):
    """A file that is there, and the parts that are read from it.

    Attributes:
        path: of the file.
        holds: the parts that are in it.
        parts: those among them that no narrower file holds: after a second attempt at a part, and
            until both are one file, its own file has the records that count.
    """

    path: Path
    holds: range
    parts: range

    def stamp(self) -> Stamp | None:
        """Which file is there now; None where none is.

        Raises:
            UserError: the system does not tell.
        """
        stat = asked(self.path, self.path.stat)
        return stat and (stat.st_ino, stat.st_size, stat.st_mtime_ns)

    @property
    def whole(self) -> bool:
        """Whether all that it holds counts."""
        return self.parts == self.holds

    @property
    def positions(self) -> slice:
        """Where in the file those are that count."""
        return slice(self.parts.start - self.holds.start, self.parts.stop - self.holds.start)


def file_name(parts: range) -> str:
    """Of the file that holds these parts."""
    last = f"-{parts[-1]:06d}" if len(parts) > 1 else ""
    return f"part-{parts[0]:06d}{last}.parquet"


def parts_in(name: str) -> range | None:
    """The parts that a file of this name holds; None for other names."""
    match = re.fullmatch(r"part-(\d{6,7})(?:-(\d{6,7}))?\.parquet", name)
    if match is None:
        return None
    parts = range(int(match[1]), int(match[2] or match[1]) + 1)
    return parts if parts and file_name(parts) == name else None


def part_files(folder: Path, count: int) -> list[PartFile]:
    """The parts that are there and the files that have them, in order.

    Args:
        folder: of the parts of an evaluation, whether it is there or not.
        count: how many parts the evaluation has; files of others are not its own.

    Raises:
        UserError: the folder cannot be looked into.
    """
    names = sorted(path.name for path in asked(folder, lambda: [*folder.iterdir()]) or [])
    files = [(name, parts) for name in names if (parts := parts_in(name))]
    held = dict[int, tuple[str, range]]()
    for name, parts in sorted(files, key=lambda file: -len(file[1])):  # the narrowest is last
        if parts.stop <= count:
            held.update(dict.fromkeys(parts, (name, parts)))
    runs = [list(run) for _, run in groupby(sorted(held), key=held.__getitem__)]
    return [
        PartFile(folder / held[run[0]][0], held[run[0]][1], range(run[0], run[-1] + 1))
        for run in runs
    ]
