"""How wide the columns of a table are on a terminal, and into which pieces it is cut to fit."""

from collections.abc import Sequence
from typing import NamedTuple

from pandas.api.types import is_numeric_dtype
from rich.cells import cell_len

from ..wrapping import longest_piece
from .sheet import Sheet

PADDING = 3
"""A border and a space on each side of a column's text."""
LEAST_NAME = 12
"""Cells to which names may always be folded."""
LEAST_LETTERS = 2
"""Cells below which nothing is folded, not even on the narrowest terminal."""
WIDEST_WORD = 28
"""Cells beyond which even a word may be broken."""


class Slot(NamedTuple):
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


class Piece(NamedTuple):
    """A table that fits.

    Attributes:
        columns: positions of those that it shows.
        stub: widths of the columns that name the rows, in cells.
        widths: of ``columns``.
    """

    columns: list[int]
    stub: list[int]
    widths: list[int]


def slots_of(sheet: Sheet, *, least_name: int = LEAST_NAME) -> tuple[list[Slot], list[Slot]]:
    """The columns that name a table's rows, and the others."""
    names = [
        Slot(name, [row[level] for row in sheet.row_names], True, least_name)
        for level, name in enumerate(sheet.stub)
    ]
    return names, [_slot(sheet, column) for column in range(len(sheet.columns))]


def _slot(sheet: Sheet, column: int) -> Slot:
    found = sheet.columns[column]
    head = f"{found.head}\n{found.name}" if found.head else found.name
    texts = [sheet.cell(row, column) for row in range(len(sheet.frame))]
    is_name = found.digits is None and not is_numeric_dtype(sheet.frame.iloc[:, column])
    return Slot(head, texts, is_name=is_name)


def arrange(stub: Sequence[Slot], columns: Sequence[Slot], width: int) -> list[Piece]:
    """Cut a table into as few pieces as possible, and fold names as little as possible.

    Args:
        stub: the columns that name the rows; every piece has them.
        columns: the others, at least one of which is in every piece.
        width: of the terminal, in cells.
    """
    widest = max((slot.least for slot in columns), default=0) + PADDING
    least = _narrowed([slot.least for slot in stub], width - widest)
    fewest = len(_cut(columns, width - _needed(least)))
    spare = min(sum(slot.natural for slot in stub) - sum(least), width - widest - _needed(least))
    while spare > 0 and len(_cut(columns, width - _needed(least) - spare)) > fewest:
        spare -= 1
    names = _widened(stub, least, spare)
    parts = _cut(columns, width - _needed(names))
    return [_piece(stub, columns, part, names, width) for part in parts]


def _narrowed(widths: list[int], room: int) -> list[int]:
    """Names folded further where the terminal is too narrow even for one column beside them."""
    found = list(widths)
    while _needed(found) > room and max(found) > LEAST_LETTERS:
        found[found.index(max(found))] -= 1
    return found


def _needed(widths: Sequence[int]) -> int:
    """Cells with borders; the last border of the table is the one too many."""
    return sum(widths) + PADDING * len(widths) + 1


def _cut(columns: Sequence[Slot], room: int) -> list[list[int]]:
    parts: list[list[int]] = [[]]
    left = room
    for position, slot in enumerate(columns):
        need = slot.least + PADDING
        if parts[-1] and left < need:
            parts.append([])
            left = room
        parts[-1].append(position)
        left -= need
    return parts


def _piece(
    stub: Sequence[Slot], columns: Sequence[Slot], part: list[int], names: list[int], width: int
) -> Piece:
    """What room is left goes to names first, then to words and heads."""
    own = [columns[position] for position in part]
    least = [slot.least for slot in own]
    wider = _widened(stub, names, max(0, width - _needed([*names, *least])))
    rest = max(0, width - _needed([*wider, *least]))
    return Piece(part, wider, _widened(own, least, rest))


def _widened(slots: Sequence[Slot], widths: Sequence[int], room: int) -> list[int]:
    """Widths with the room shared out evenly, to no slot more than it has use for."""
    found = list(widths)
    while room > 0:
        narrow = [at for at, slot in enumerate(slots) if found[at] < slot.natural]
        if not narrow:
            break
        for at in narrow[:room]:
            found[at] += 1
            room -= 1
    return found
