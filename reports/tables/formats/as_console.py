"""Tables on a terminal: wide ones are cut into segments that fit, never their numbers."""

from collections.abc import Collection, Mapping, Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from robustbench_twicing.files.printable import printable

from ...metrics.flags import Amount
from ...metrics.notes import how_many_more
from ...text.wrapping import wrapped
from ..table import Table
from .layout import TextColumn, arrange, text_columns

STYLES = {"best": "bold", "second": "underline"}


def print_table(table: Table, console: Console, *, notes: Amount = "full") -> None:
    """Print a table, in segments below each other where it is wider than the console.

    Args:
        table: any.
        console: where to.
        notes: how many of the table's.
    """
    print_title(table.title, console, style="bold")
    if table.place:
        print_title(table.place, console)
    for group in dict.fromkeys(table.group_of) if table.stacked else ():
        print_title(group, console, style="italic")
        _print_rows(table.of_group(group), console)
    if not table.stacked:
        _print_rows(table, console)
    if notes == "full":
        print_notes(table.notes, console)
    elif notes == "short":
        hidden = len(table.notes) - len(table.short_notes)
        print_notes([*table.short_notes, *([how_many_more(hidden)] if hidden else [])], console)


def _print_rows(table: Table, console: Console) -> None:
    groups, last = table.group_of, len(table.frame) - 1
    print_columns(
        *text_columns(table),
        console,
        styles={place: STYLES[kind] for place, kind in table.marks.items()},
        ends=[row for row in range(last) if groups[row] != groups[row + 1]],
    )


def print_columns(
    stub: Sequence[TextColumn],
    columns: Sequence[TextColumn],
    console: Console,
    *,
    styles: Mapping[tuple[int, int], str] | None = None,
    ends: Collection[int] = (),
) -> None:
    """Print rows and columns, in segments where they are wider than the console.

    Args:
        stub: the columns that name the rows.
        columns: the others.
        console: where to.
        styles: of cells, by row and column.
        ends: rows below which there is a line.
    """
    for segment in arrange(stub, columns, console.width):
        grid = RichTable()
        shown = [*stub, *(columns[position] for position in segment.columns)]
        widths = [*segment.stub, *segment.widths]
        for column, width in zip(shown, widths, strict=True):
            grid.add_column(
                _folded(column.head, width),
                width=width,
                justify="left" if column.is_name else "right",
                no_wrap=True,
            )
        for row in range(len(shown[0].texts)):
            looks = [""] * len(stub) + [(styles or {}).get((row, c), "") for c in segment.columns]
            cells = [
                _folded(column.texts[row], width, style)
                for column, width, style in zip(shown, widths, looks, strict=True)
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
        console.print(f"- {printable(note)}", markup=False, highlight=False)


def _folded(text: str, width: int, style: str = "") -> Text:
    lines = [part for line in text.split("\n") for part in wrapped(" ".join(line.split()), width)]
    return Text("\n".join(lines), style=style)
