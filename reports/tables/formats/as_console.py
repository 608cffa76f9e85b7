"""Tables on a terminal: wide ones are cut into pieces that fit, never their numbers."""

from collections.abc import Collection, Mapping, Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ...text.wrapping import wrapped
from ..table import Table
from .layout import Slot, arrange, slots_of

STYLES = {"best": "bold", "second": "underline"}


def print_table(table: Table, console: Console, *, notes: bool = True) -> None:
    """Print a table, in pieces below each other where it is wider than the console."""
    print_title(table.title, console, style="bold")
    if table.place:
        print_title(table.place, console)
    groups, last = table.group_of, len(table.frame) - 1
    print_slots(
        *slots_of(table),
        console,
        styles={place: STYLES[kind] for place, kind in table.marks.items()},
        ends=[row for row in range(last) if groups[row] != groups[row + 1]],
    )
    if notes:
        print_notes(table.notes, console)


def print_slots(
    stub: Sequence[Slot],
    columns: Sequence[Slot],
    console: Console,
    *,
    styles: Mapping[tuple[int, int], str] | None = None,
    ends: Collection[int] = (),
) -> None:
    """Print rows and columns, in pieces where they are wider than the console.

    Args:
        stub: the columns that name the rows.
        columns: the others.
        console: where to.
        styles: of cells, by row and column.
        ends: rows below which there is a line.
    """
    for piece in arrange(stub, columns, console.width):
        grid = RichTable()
        slots = [*stub, *(columns[position] for position in piece.columns)]
        widths = [*piece.stub, *piece.widths]
        for slot, width in zip(slots, widths, strict=True):
            grid.add_column(
                _folded(slot.head, width),
                width=width,
                justify="left" if slot.is_name else "right",
                no_wrap=True,
            )
        for row in range(len(slots[0].texts)):
            looks = [""] * len(stub) + [(styles or {}).get((row, c), "") for c in piece.columns]
            cells = [
                _folded(slot.texts[row], width, style)
                for slot, width, style in zip(slots, widths, looks, strict=True)
            ]
            grid.add_row(*cells, end_section=row in ends)
        console.print(grid)


def print_title(title: str, console: Console, *, style: str = "") -> None:
    """Print a line above a table, in several where it is wider than the console."""
    for line in wrapped(" ".join(title.split()), console.width):
        console.print(line, style=style, markup=False, highlight=False)


def print_notes(notes: Sequence[str], console: Console) -> None:
    """Print sentences as a list."""
    for note in notes:
        console.print(f"- {note}", markup=False, highlight=False)


def _folded(text: str, width: int, style: str = "") -> Text:
    lines = [part for line in text.split("\n") for part in wrapped(" ".join(line.split()), width)]
    return Text("\n".join(lines), style=style)
