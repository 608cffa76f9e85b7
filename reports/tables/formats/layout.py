"""How wide the columns of a table are on a terminal, and into which segments it is cut to fit."""

from collections.abc import Sequence
from typing import NamedTuple

from pandas.api.types import is_numeric_dtype
from rich.cells import cell_len

from robustbench_twicing.files.printable import unbroken

from ...text.wrapping import longest_piece
from ..table import Table

PADDING = 3
"""A border and a space on each side of a column's text."""
LEAST_NAME = 12
"""Cells to which names may always be folded."""
LEAST_LETTERS = 2
"""Cells below which nothing is folded, not even on the narrowest terminal."""
WIDEST_WORD = 28
"""Cells beyond which even a word may be broken."""


class TextColumn(NamedTuple):
    """A column before it has a width.

    Attributes:
        head: its name; lines.
        texts: of its cells, on one line each.
        is_name: names and words, which may be folded and stand left; numbers never are.
        least_name: cells to which names may be folded.
    """

    head: str
    texts: Sequence[str]
    is_name: bool = False
    least_name: int = LEAST_NAME

    @property
    def natural(self) -> int:
        """Cells with which nothing is folded."""
        return max(map(cell_len, [*self.head.splitlines(), *self.texts, " "]))

    @property
    def least(self) -> int:
        """Cells that it needs: numbers whole, words whole if they are not too long."""
        words = max(map(longest_piece, self.head.splitlines()), default=1)
        if not self.is_name:
            return max(min(words, LEAST_NAME), *map(cell_len, [*self.texts, " "]))
        words = max([words, *map(longest_piece, self.texts)])
        return min(self.natural, max(self.least_name, min(words, WIDEST_WORD)))


class Segment(NamedTuple):
    """A table that fits.

    Attributes:
        columns: positions of those that it shows.
        stub: widths of the columns that name the rows, in cells.
        widths: of ``columns``.
    """

    columns: list[int]
    stub: list[int]
    widths: list[int]


def text_columns(
    table: Table, *, least_name: int = LEAST_NAME
) -> tuple[list[TextColumn], list[TextColumn]]:
    """The columns that name a table's rows, and the others."""
    names = [
        TextColumn(
            unbroken(name), [unbroken(row[level]) for row in table.row_names], True, least_name
        )
        for level, name in enumerate(table.stub)
    ]
    return names, [_text_column(table, column) for column in range(len(table.columns))]


def _text_column(table: Table, column: int) -> TextColumn:
    described = table.columns[column]
    head = "\n".join(unbroken(part) for part in (described.head, described.name) if part)
    texts = [unbroken(table.cell(row, column)) for row in range(len(table.frame))]
    is_name = described.digits is None and not is_numeric_dtype(table.frame.iloc[:, column])
    return TextColumn(head, texts, is_name=is_name)


def arrange(
    stub: Sequence[TextColumn],
    columns: Sequence[TextColumn],
    width: float,
    *,
    padding: float = PADDING,
) -> list[Segment]:
    """Cut a table into as few segments as possible, and fold names as little as possible.

    Args:
        stub: the columns that name the rows; every segment has them.
        columns: the others, at least one of which is in every segment.
        width: of the terminal or page, in cells.
        padding: what stands beside the text of a column, in cells.
    """
    return _Layout(stub, columns, width, padding).segments()


class _Layout(NamedTuple):
    """See `arrange`."""

    stub: Sequence[TextColumn]
    columns: Sequence[TextColumn]
    width: float
    padding: float

    def segments(self) -> list[Segment]:
        widest = max((column.least for column in self.columns), default=0) + self.padding
        least = self.narrowed([column.least for column in self.stub], self.width - widest)
        fewest = len(self.cut(least))
        spare = sum(column.natural for column in self.stub) - sum(least)
        spare = min(spare, int(self.room(least) - widest))
        while spare > 0 and len(self.cut(_widened(self.stub, least, spare))) > fewest:
            spare -= 1
        names = _widened(self.stub, least, spare)
        return [self.segment(part, names) for part in self.cut(names)]

    def needed(self, widths: Sequence[int]) -> float:
        """Cells with borders; the last border of the table is the one too many."""
        return sum(widths) + self.padding * len(widths) + 1

    def room(self, widths: Sequence[int]) -> float:
        return self.width - self.needed(widths)

    def narrowed(self, widths: list[int], room: float) -> list[int]:
        """Names folded further where there is no room even for one column beside them."""
        narrow = list(widths)
        while self.needed(narrow) > room and max(narrow) > LEAST_LETTERS:
            narrow[narrow.index(max(narrow))] -= 1
        return narrow

    def cut(self, names: Sequence[int]) -> list[list[int]]:
        """Columns that fit beside names of these widths."""
        parts: list[list[int]] = [[]]
        left = self.room(names)
        for position, column in enumerate(self.columns):
            width = column.least + self.padding
            if parts[-1] and left < width:
                parts.append([])
                left = self.room(names)
            parts[-1].append(position)
            left -= width
        return parts

    def segment(self, part: list[int], names: list[int]) -> Segment:
        """What room is left goes to names first, then to words and heads."""
        columns = [self.columns[position] for position in part]
        least = [column.least for column in columns]
        wider = _widened(self.stub, names, int(self.room([*names, *least])))
        return Segment(part, wider, _widened(columns, least, int(self.room([*wider, *least]))))


def _widened(columns: Sequence[TextColumn], widths: Sequence[int], room: int) -> list[int]:
    """Widths with the room shared out evenly, to no column more than it has use for."""
    wide = list(widths)
    while room > 0:
        narrow = [at for at, column in enumerate(columns) if wide[at] < column.natural]
        if not narrow:
            break
        for at in narrow[:room]:
            wide[at] += 1
            room -= 1
    return wide
