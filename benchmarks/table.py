"""The table that every benchmark gives: on the console and on the page of `make bench`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """What one benchmark measured.

    Attributes:
        title: heading, in a few words.
        columns: their names; the first is of the rows' names.
        rows: cells, as many as columns.
        about: what was measured and how, or why it was not, in Markdown.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    about: str = ""

    def markdown(self) -> str:
        """Heading, explanation, and the rows with their columns lined up."""
        parts = [f"## {self.title}", self.about, "\n".join(self._lines())]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _lines(self) -> list[str]:
        if not self.rows:
            return []
        lines = [self.columns, *self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        return [_line(row, widths) for row in (self.columns, rule, *self.rows)]


def show(tables: Iterable[Table]) -> None:
    """Print each as soon as it is there."""
    for table in tables:
        print(table.markdown(), flush=True)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return f"| {' | '.join([first, *rest])} |"
