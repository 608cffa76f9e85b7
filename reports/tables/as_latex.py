"""Tables as LaTeX, with the rules of the package booktabs."""

from collections.abc import Iterator

from .sheet import Sheet, column_runs

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
    '"': r"\textquotedbl{}",
}
MARKED = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}


def as_latex(sheet: Sheet) -> str:
    """A table with title as caption, rules of booktabs, and the notes below in small print.

    Letters outside ASCII are left as they are: pdflatex knows the Latin ones, xelatex and lualatex
    all that the font has.
    """
    return "\n".join(_lines(sheet)) + "\n"


def escape(text: str) -> str:
    """Text in which nothing is a command, on one line."""
    one_line = " ".join(text.split())
    # [ after a line's end would be read as its optional argument.
    return "".join(SPECIAL.get(letter, letter) for letter in one_line).replace("[", "{[}")


def _lines(sheet: Sheet) -> Iterator[str]:
    stub = len(sheet.stub)
    yield r"% needs \usepackage{booktabs} and, for quotation marks, \usepackage[T1]{fontenc}"
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\caption{{{escape(sheet.title)}. {escape(sheet.place)}.}}"
    yield rf"\label{{tab:{_label(sheet.name)}}}"
    yield rf"\begin{{tabular}}{{{'l' * stub}{'r' * len(sheet.columns)}}}"
    yield r"\toprule"
    yield from _heads(sheet)
    yield r"\midrule"
    for position, names in enumerate(sheet.row_names):
        if position and sheet.group_of[position] != sheet.group_of[position - 1]:
            yield r"\midrule"
        cells = [
            MARKED[sheet.marks.get((position, column), "")] % escape(sheet.cell(position, column))
            for column in range(len(sheet.columns))
        ]
        yield _row([*(escape(name) for name in names), *cells])
    yield r"\bottomrule"
    yield r"\end{tabular}"
    for note in sheet.notes:
        yield rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize {escape(note)}}}"
    yield r"\end{table}"


def _heads(sheet: Sheet) -> Iterator[str]:
    runs = column_runs(sheet.columns)
    stub = len(sheet.stub)
    if any(head for head, _ in runs):
        spans = [rf"\multicolumn{{{count}}}{{c}}{{{escape(head)}}}" for head, count in runs]
        yield _row([*("" for _ in sheet.stub), *spans])
        start, rules = stub + 1, []
        for head, count in runs:
            if head:
                rules.append(rf"\cmidrule(lr){{{start}-{start + count - 1}}}")
            start += count
        yield "".join(rules)
    yield _row([*map(escape, sheet.stub), *(escape(column.name) for column in sheet.columns)])


def _row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _label(name: str) -> str:
    """A label may hold neither commands nor active letters."""
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in name)
