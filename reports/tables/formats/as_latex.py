"""Tables as LaTeX, with the rules of the package booktabs."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from robustbench_twicing.files.printable import unbroken

from ...metrics.flags import Amount
from ...text.wrapping import wrapped
from ..table import Column, Table, column_runs
from .layout import Segment, arrange, text_columns

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
}
MARKED = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}
COMFORTABLE, SMALL = 69, 82
"""Digits that a line of LaTeX's articles (345 points) holds in normal and in small letters."""
PADDING, SMALL_PADDING = 2.4, 1.4
"""What stands between columns, in digits."""
LEAST_NAME = 28
"""Cells to which names may be folded; a table of folded names reads worse than two tables."""
MOST_LINES = 34
"""Lines of a page."""
LONGEST_WORD = 16
"""Letters; a longer name may be broken between its words, or there."""
LINE_END = r" \\ "
SMALL_PRINT = r"\footnotesize"
MOST_NOTES = 1500
"""Letters of notes that stay with their table; more may go over pages."""
_ACCENTS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328"
_LATIN = set("ßæœøÆŒØłŁ–—…×±°µ§£©")
"""What pdflatex can set beside ASCII and letters with these accents."""


Part = tuple[Segment, range]
"""Some columns of some rows."""


def as_latex(table: Table, notes: Amount = "short") -> str:
    """A table with title as caption, rules of booktabs, and the notes below in small print.

    Notes that are not asked for are comments inside the float. Columns without any entry are left
    out.

    What is too wide for a page is set in small letters, and in parts below each other where that
    is not enough; what is too long becomes several tables. pdflatex knows Latin letters; of others
    it prints the number, and xelatex and lualatex the letter, where the font has it.
    """
    return "\n".join(_lines(_without_empty_columns(table), notes)) + "\n"


def escape(text: str) -> str:
    """Text in which nothing is a command, on one line; what cannot be printed is an escape."""
    one_line = unicodedata.normalize("NFC", unbroken(text))
    # [ after a line's end would be read as its optional argument.
    escaped = "".join(SPECIAL.get(letter, letter) for letter in one_line).replace("[", "{[}")
    return re.sub(r"[^\x00-\x7f]+", lambda match: _foreign(match[0]), escaped)


def _foreign(letters: str) -> str:
    if all(map(_is_latin, letters)):
        return letters
    numbers = " ".join(f"U+{ord(letter):04X}" for letter in letters)
    return rf"\ifdefined\Umathcode {letters}\else {numbers}\fi{{}}"


def _is_latin(letter: str) -> bool:
    parts = unicodedata.normalize("NFD", letter)
    accents = parts[1:]
    with_accent = parts[0].isascii() and all(accent in _ACCENTS for accent in accents)
    return letter in _LATIN or (with_accent and bool(accents))


def _without_empty_columns(table: Table) -> Table:
    rows = range(len(table.frame))
    filled = [
        position
        for position in range(len(table.columns))
        if any(table.cell(row, position) for row in rows)
    ]
    return table if len(filled) == len(table.columns) else table.of_columns(filled)


def _lines(table: Table, notes: Amount) -> Iterator[str]:
    yield r"% needs \usepackage{booktabs}"
    stub, columns = text_columns(table, least_name=LEAST_NAME)
    wanted = sum(column.natural + PADDING for column in (*stub, *columns))
    segments = arrange(stub, columns, SMALL, padding=SMALL_PADDING)
    pages = _pages(table, segments)
    shown = {"full": list(table.notes), "short": table.short_notes, "none": []}[notes]
    outside = sum(map(len, shown)) > MOST_NOTES
    for number, page in enumerate(pages, start=1):
        yield from (r"\begin{table}", r"\centering")
        yield from _caption(table, number, len(pages))
        if wanted > COMFORTABLE:
            yield rf"{SMALL_PRINT}\setlength{{\tabcolsep}}{{3pt}}"
        for segment, rows in page:
            yield from _tabular(table, segment, rows)
        if number == len(pages):
            yield from () if outside else _notes(shown, r"\par\smallskip\parbox{\linewidth}")
            yield from (f"% {unbroken(note)}" for note in table.notes if note not in shown)
        yield r"\end{table}"
    if outside:
        yield from _notes(shown, r"\par\noindent")


def _caption(table: Table, number: int, pages: int) -> Iterator[str]:
    part = f" (part {number} of {pages})" if pages > 1 else ""
    yield rf"\caption{{{_prose(table.title)}{part}. {_prose(table.place)}.}}"
    yield rf"\label{{tab:{_label(table.name)}{f'-{number}' if part else ''}}}"


def _notes(notes: Sequence[str], place: str) -> Iterator[str]:
    """One paragraph; each sentence on a line of its own in the file."""
    if notes:
        sentences = "\n".join(_sentence(note) for note in notes)
        yield rf"{place}{{{SMALL_PRINT} {sentences}\par}}"


def _sentence(note: str) -> str:
    return _prose(note if note.endswith((".", "?", "!")) else f"{note}.")


def _prose(text: str) -> str:
    """Text whose long words may be broken where names are."""
    return " ".join(
        r"\hspace{0pt}".join(map(escape, wrapped(word, LONGEST_WORD)))
        if len(word) > LONGEST_WORD
        else escape(word)
        for word in unbroken(text).split()
    )


def _pages(table: Table, segments: Sequence[Segment]) -> list[list[Part]]:
    """What stands on a page together: everything, or so many rows of one segment."""
    everything = range(len(table.frame))
    heights = [[_height(table, row, segment) for row in everything] for segment in segments]
    if sum(map(sum, heights)) <= MOST_LINES:
        return [[(segment, everything) for segment in segments]]
    pages: list[list[Part]] = []
    for segment, lines in zip(segments, heights, strict=True):
        start, room = 0, MOST_LINES
        for row, height in enumerate(lines):
            if row > start and height > room:
                pages.append([(segment, range(start, row))])
                start, room = row, MOST_LINES
            room -= height
        pages.append([(segment, range(start, len(lines)))])
    return pages


def _height(table: Table, row: int, segment: Segment) -> int:
    """Lines of a row."""
    names = zip(table.row_names[row], segment.stub, strict=True)
    return max(_stacked(name, width).count(LINE_END) + 1 for name, width in names)


def _tabular(table: Table, segment: Segment, rows: range) -> Iterator[str]:
    columns = [table.columns[position] for position in segment.columns]
    forms = "".join("r" if column.digits is not None else "l" for column in columns)
    yield rf"\begin{{tabular}}{{{'l' * len(segment.stub)}{forms}}}"
    yield r"\toprule"
    yield from _heads(table, columns, segment)
    yield r"\midrule"
    for row in rows:
        if row > rows.start and table.group_of[row] != table.group_of[row - 1]:
            yield r"\midrule"
        names = zip(table.row_names[row], segment.stub, strict=True)
        cells = [
            MARKED[table.marks.get((row, column), "")] % _stacked(table.cell(row, column), width)
            for column, width in zip(segment.columns, segment.widths, strict=True)
        ]
        yield _row([*(_stacked(name, width) for name, width in names), *cells])
    yield r"\bottomrule"
    yield r"\end{tabular}\par\medskip"


def _stacked(text: str, width: int, side: str = "l") -> str:
    """Lines below each other where a name is long; a letter that is a number takes six."""
    text = unbroken(text)
    if not all(letter.isascii() or _is_latin(letter) for letter in text):
        width = max(2, width // 6)
    lines = [escape(line) for line in wrapped(text, width)]
    return lines[0] if len(lines) == 1 else rf"\shortstack[{side}]{{{LINE_END.join(lines)}}}"


def _heads(table: Table, columns: Sequence[Column], segment: Segment) -> Iterator[str]:
    runs = column_runs(tuple(columns))
    start = len(table.stub) + 1
    if any(head for head, _ in runs):
        spans, rules = [], []
        for head, count in runs:
            widths = segment.widths[start - len(table.stub) - 1 :][:count]
            text = _stacked(head, sum(widths) + count - 1, "c")
            spans.append(rf"\multicolumn{{{count}}}{{c}}{{{text}}}")
            rules += [rf"\cmidrule(lr){{{start}-{start + count - 1}}}"] if head else []
            start += count
        yield _row([*("" for _ in table.stub), *spans])
        yield "".join(rules)
    stub = zip(table.stub, segment.stub, strict=True)
    names = zip(columns, segment.widths, strict=True)
    yield _row(
        [
            *(_stacked(name, width) for name, width in stub),
            *(_stacked(column.name, width, "r") for column, width in names),
        ]
    )


def _row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _label(name: str) -> str:
    """A label may hold neither commands nor active letters."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name)
