"""Tables on a terminal: wide ones are cut into pieces that fit, never their numbers."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .sheet import Sheet

MARKED = {"best": "[bold]{}[/bold]", "second": "[underline]{}[/underline]", "": "{}"}
PADDING = 3
"""A border and a space on each side of a column's text."""
LEAST_STUB = 12
"""Characters to which a row's name may be folded."""
WIDEST_WORDS = 28
"""Characters to which a column of words may be folded."""


def print_sheet(sheet: Sheet, console: Console, *, notes: bool = True) -> None:
    """Print a table, in pieces below each other where it is wider than the console."""
    console.print(sheet.title, style="bold", markup=False, highlight=False)
    if sheet.place:
        console.print(sheet.place, markup=False, highlight=False)
    for columns in _pieces(sheet, console.width):
        table = Table()
        for name in sheet.stub:
            table.add_column(escape(name), overflow="fold")
        tight = _is_tight(sheet, columns, console.width)
        for column in columns:
            table.add_column(
                _heading(sheet, column),
                justify="left" if sheet.columns[column].digits is None else "right",
                overflow="fold",
                width=_width(sheet, column) if tight else None,
            )
        _add_rows(table, sheet, columns)
        console.print(table)
    if notes:
        print_notes(sheet.notes, console)


def print_notes(notes: Sequence[str], console: Console) -> None:
    """Print sentences as a list."""
    for note in notes:
        console.print(f"- {note}", markup=False, highlight=False)


def _add_rows(table: Table, sheet: Sheet, columns: Sequence[int]) -> None:
    for position, names in enumerate(sheet.row_names):
        cells = [
            MARKED[sheet.marks.get((position, column), "")].format(
                escape(sheet.cell(position, column))
            )
            for column in columns
        ]
        last = position + 1 == len(sheet.frame)
        ends = not last and sheet.group_of[position + 1] != sheet.group_of[position]
        table.add_row(*(escape(name) for name in names), *cells, end_section=ends)


def _heading(sheet: Sheet, column: int) -> str:
    found = sheet.columns[column]
    return escape(f"{found.head}\n{found.name}" if found.head else found.name)


def _texts(sheet: Sheet, column: int) -> list[str]:
    return [sheet.cell(row, column) for row in range(len(sheet.frame))]


def _width(sheet: Sheet, column: int) -> int:
    """What a column needs: its longest number, and the words of its head that are short."""
    found = sheet.columns[column]
    texts = _texts(sheet, column)
    if found.digits is None:
        texts = [word for text in texts for word in text.split()]
    words = [word for word in f"{found.head} {found.name}".split() if len(word) <= LEAST_STUB]
    widest = max(map(cell_len, [*texts, *words]), default=1)
    return min(widest, WIDEST_WORDS) if found.digits is None else widest


def _stub_width(sheet: Sheet, most: int) -> int:
    """Characters of the rows' names with their borders, names folded at ``most``."""
    names = [[row[level] for row in sheet.row_names] for level in range(len(sheet.stub))]
    return sum(
        min(most, max(map(cell_len, [name, *level]))) + PADDING
        for name, level in zip(sheet.stub, names, strict=True)
    )


def _is_tight(sheet: Sheet, columns: Sequence[int], width: int) -> bool:
    """Whether heads or names must be folded."""
    natural = [
        max(map(cell_len, [*_heading(sheet, column).splitlines(), *_texts(sheet, column)]))
        for column in columns
    ]
    return _stub_width(sheet, width) + sum(natural) + PADDING * len(natural) + 1 > width


def _pieces(sheet: Sheet, width: int) -> list[list[int]]:
    """Columns that fit beside the rows' names, at least one a piece."""
    room = width - _stub_width(sheet, LEAST_STUB) - 1
    pieces: list[list[int]] = [[]]
    left = room
    for column in range(len(sheet.columns)):
        need = _width(sheet, column) + PADDING
        if pieces[-1] and left < need:
            pieces.append([])
            left = room
        pieces[-1].append(column)
        left -= need
    return pieces
