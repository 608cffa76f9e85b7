"""No format loses a digit, cuts off a number, or takes a name for markup."""

import html.parser
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len
from rich.console import Console

from reports.metrics.flags import Amount
from reports.tables.formats import FORMATS, write_tables
from reports.tables.formats.as_console import print_table
from reports.tables.formats.as_html import as_html
from reports.tables.formats.as_latex import as_latex, escape
from reports.tables.formats.as_text import as_csv, as_json, as_markdown
from reports.tables.table import ABOUT, Column, Mark, Table

NASTY = (
    "<script>alert('x')</script>",
    r"\input{/etc/passwd} $x^2$ 50% #1 a_b & ~{}",
    "[bold]rich[/bold] [10-12]",
    "*stars* `ticks` | pipes | _lines_",
    "模型 é ü ∆",
    "x" * 200,
    "a\nb\rc",
)
NAN = float("nan")


def sheet(names: tuple[str, ...], values: Any, columns: tuple[Column, ...]) -> Table:
    """A table of these rows."""
    index = pd.Index(names, name="model")
    about = pd.DataFrame("", index=index, columns=list(ABOUT)).assign(dataset="val <&> $")
    frame = pd.DataFrame(values, index=index)
    return Table("name", "Title <b> & $50%$ [x]", frame, columns, about, notes=NASTY)


def nasty(columns: int = 2) -> Table:
    """Names that look like markup of every kind."""
    values = np.arange(len(NASTY) * columns, dtype=float).reshape(-1, columns) / 3
    heads = tuple(
        Column(NASTY[number % len(NASTY)], NASTY[-1 - number % 2]) for number in range(columns)
    )
    return sheet(NASTY, values, heads)


def shown(made: Table, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_table(made, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


NUMBERS = (
    (100 / 3, NAN, 7),
    (1e-300, 2**53 + 0.0, 0),
    (0.1 + 0.2, -0.0, 1),
)


def test_a_csv_reads_back_as_the_same_numbers() -> None:
    columns = (Column("a"), Column("b", "head"), Column("n", digits=None))
    made = sheet(("one", 'two, "quoted"', "NA"), NUMBERS, columns)
    read_back = pd.read_csv(
        io.StringIO(as_csv(made)),
        dtype={"model": str},
        keep_default_na=False,
        na_values={"head b": ""},
    )
    assert read_back.columns.tolist() == ["model", "a", "head b", "n", *ABOUT]
    assert read_back["model"].tolist() == ["one", 'two, "quoted"', "NA"]
    wanted = pd.DataFrame(NUMBERS, columns=["a", "head b", "n"])
    pd.testing.assert_frame_equal(read_back[["a", "head b", "n"]], wanted, check_exact=True)


def test_json_is_json_with_null_and_full_precision() -> None:
    columns = (Column("a"), Column("b"), Column("n", digits=None))
    made = replace(sheet(("one", "two", "three"), NUMBERS, columns), marks={(0, 0): "best"})
    content = json.loads(as_json(made))
    assert [row["values"] for row in content["rows"]] == [
        [100 / 3, None, 7],
        [1e-300, 2.0**53, 0],
        [0.1 + 0.2, 0, 1],
    ]
    assert content["rows"][0]["marks"] == ["best", "", ""]
    assert content["notes"] == list(NASTY)
    assert content["rows"][0]["names"] == {"model": "one"}


def test_rounding_is_only_at_the_edge() -> None:
    made = sheet(
        ("one",), [[2 / 3, 2 / 3, 5.0]], (Column("a"), Column("b", digits=1), Column("c", digits=0))
    )
    assert [made.cell(0, column) for column in range(3)] == ["0.67", "0.7", "5"]
    assert "0.67" not in as_csv(made)
    full = re.findall(r' data-value="([^"]*)"', page := as_html(made))
    assert [float(each) for each in full] == [2 / 3, 2 / 3, 5.0], "scripts sort by all digits"
    read = re.sub(r' data-value="[^"]*"', "", page)
    for text in (as_markdown(made), as_latex(made), read, shown(made)):
        assert "0.67" in text
        assert "0.666" not in text


def test_p_values_have_digits_that_count() -> None:
    made = sheet(("one",), [[1.25e-7, 0.04444]], (Column("p", form="g"), Column("q", form="g")))
    assert [made.cell(0, column) for column in range(2)] == ["1.2e-07", "0.044"]


def test_hints_stand_below_their_cells() -> None:
    page = as_html(
        sheet(("one",), [[1.0, 2.0]], (Column("a"), Column("b"))), hints={(0, 1): "<2–3"}
    )
    assert "2.00<small>&lt;2–3</small></td>" in page
    assert page.count("<small>") == 1


def test_marks_in_every_format_that_can_show_them() -> None:
    plain = sheet(("one", "two"), [[1.0], [2.0]], (Column("a"),))
    made = replace(plain, marks={(1, 0): "best", (0, 0): "second"})
    assert "**2.00**" in as_markdown(made)
    assert r"\textbf{2.00}" in as_latex(made)
    assert r"\underline{1.00}" in as_latex(made)
    assert re.search(r"best[^>]*>\s*<(strong|b)>2\.00", as_html(made))


class Reader(html.parser.HTMLParser):
    """Tags and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_no_name_becomes_an_element_of_a_page() -> None:
    read = Reader(as_html(nasty()))
    assert "script" not in read.tags
    for name in NASTY:
        assert name in "".join(read.texts)
    assert read.tags.count("th") >= len(NASTY)


def test_a_page_breaks_names_between_their_words() -> None:
    text = as_html(sheet(("fmnist_twicing[3-4]", "a b/4"), np.ones((2, 1)), (Column("x"),)))
    assert '<th scope="row">fmnist_<wbr>twicing<wbr>[3-4]</th>' in text
    assert '<th scope="row">a b/4</th>' in text
    assert "1.00</td>" in text


def test_no_name_becomes_markup_in_markdown() -> None:
    lines = as_markdown(nasty()).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + len(NASTY)
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert bars == {4}
    assert "<script>" not in as_markdown(nasty())


STEERING = ("\x1b[31mred", "\x9b31m", "\u202egnp.exe", "a\u200bb", "\x07")
"""Names that colour a terminal, turn the direction of writing, or hide."""


@pytest.mark.parametrize("form", FORMATS)
def test_what_steers_is_shown_as_an_escape(form: str, tmp_path: Path) -> None:
    """But for a CSV, which is read back as it was written."""
    made = sheet(STEERING, np.arange(5.0).reshape(-1, 1), (Column("\u202enumber"),))
    (path,) = write_tables([made], tmp_path, [form])
    text = path.read_text(encoding="utf-8")
    if form == "csv":
        assert all(name in text for name in STEERING)
        return
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    if form == "json":
        content = json.loads(text)
        assert tuple(row["names"]["model"] for row in content["rows"]) == STEERING
        assert content["columns"][0]["name"] == "\u202enumber"
        return
    plain = text.replace(r"\textbackslash{}", "\\").replace("\\\\", "\\")
    for escaped in (r"\x1b", r"\x9b31m", r"\u202egnp.exe", r"\u200b", r"\x07"):
        assert escaped in plain, escaped


def test_a_terminal_has_room_for_the_escapes() -> None:
    made = sheet(STEERING, np.arange(5.0).reshape(-1, 1), (Column("number"),))
    table = [line for line in shown(made).splitlines() if line[0] in "┏┃┡│└"]
    assert len({cell_len(line) for line in table}) == 1
    assert r"\u202egnp.exe" in shown(made)


def test_latex_escapes_every_special_character() -> None:
    assert escape(r"\a{b}$c&d#e%f_g~h^i") == (
        r"\textbackslash{}a\{b\}\$c\&d\#e\%f\_g\textasciitilde{}h\textasciicircum{}i"
    )
    assert escape("a\n\n b") == "a b"
    assert escape("[10-12]") == "{[}10-12]"


def test_latex_has_the_notes_that_are_asked_for_and_the_others_as_comments() -> None:
    made = replace(nasty(), notes=("a flag", "50 % of \n it"), remarks=frozenset(["50 % of \n it"]))
    hidden = "% 50 % of it"
    texts: dict[Amount, str] = {of: as_latex(made, of) for of in ("full", "short", "none")}
    assert as_latex(made) == texts["short"]
    lines = {of: text.splitlines() for of, text in texts.items()}
    assert [hidden in lines[of] for of in texts] == [False, True, True]
    assert ["% a flag" in lines[of] for of in texts] == [False, False, True]
    assert r"\footnotesize a flag.\par}" in texts["short"]
    assert "50 \\% of it." in texts["full"]
    for of in ("short", "none"):
        assert lines[of].index(hidden) < lines[of].index(r"\end{table}")


def test_latex_leaves_out_a_column_without_any_entry() -> None:
    made = nasty()
    frame = made.frame.copy()
    frame[1] = float("nan")
    marks: dict[tuple[int, int], Mark] = {(0, 0): "best", (1, 1): "second"}
    empty = replace(made, frame=frame, marks=marks)
    single = replace(
        made,
        frame=frame[[0]],
        columns=made.columns[:1],
        entries=made.entries[:, :1],
        marks={(0, 0): "best"},
    )
    assert as_latex(empty) == as_latex(single)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex; none is installed")
def test_latex_compiles(tmp_path: Path) -> None:
    made = replace(
        nasty(),
        columns=(Column("é ü", "a_b"), Column("[x]", "[模]")),
        notes=(*NASTY, "naïve", "Ωμέγα, مرحبا, 🤖, e\u0301 (of two letters), „quoted“"),
        groups=("1",) * 3 + ("2",) * 4,
        marks={(0, 0): "best", (1, 1): "second"},
    )
    assert pages_of(as_latex(made), tmp_path) == 1
    many = nasty(40)
    rows = [number % len(NASTY) for number in range(60)]
    long = replace(many, frame=many.frame.iloc[rows], about=many.about.iloc[rows], notes=NASTY * 9)
    assert pages_of(as_latex(long), tmp_path) > 10


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex; none is installed")
def test_latex_needs_booktabs_alone(tmp_path: Path) -> None:
    made = replace(nasty(), notes=(*NASTY, "naïve é ü ß ø", 'a "quoted" word'))
    assert pages_of(as_latex(made), tmp_path, encoding="") == 1


def pages_of(latex: str, tmp_path: Path, encoding: str = r"\usepackage[T1]{fontenc}") -> int:
    """Pages of an article with these tables, on none of which anything is cut off."""
    head = rf"\documentclass{{article}}{encoding}\usepackage{{booktabs}}\extrafloats{{200}}"
    page = f"{head}\\begin{{document}}{latex}\\end{{document}}"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",  # it writes letters in the encodings of its fonts
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Float too large" not in done.stdout
    too_wide = [float(width) for width in re.findall(r"Overfull .hbox \(([0-9.]+)pt", done.stdout)]
    assert max(too_wide, default=0) < 30
    (pages,) = re.findall(r"page\.pdf \((\d+) page", done.stdout)
    return int(pages)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 2, 7, 40])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_console_never_cuts_off_a_number(columns: int, width: int) -> None:
    """Nor a name: folded, it is still there letter by letter."""
    made = nasty(columns)
    text = shown(made, width)
    assert "…" not in text
    lines = text.split("- <script>")[0].splitlines()
    assert all(cell_len(line) <= width for line in lines if line[:1] in "┏┃┡│└├")
    for row in range(len(NASTY)):
        for column in range(columns):
            assert f" {made.cell(row, column)} " in text
    assert text.count("x") >= 200
    assert "[bold]rich" in text.replace("\n", "")


def test_forty_models_are_forty_rows_or_pieces_with_forty_columns() -> None:
    names = tuple(f"deit_tiny_patch16_224_variant_{number}" for number in range(40))
    values = np.arange(40.0)
    rows = shown(sheet(names, values[:, None], (Column("top-1"),)))
    assert sum(line.startswith("│") for line in rows.splitlines()) == 40
    across = sheet(("clean",), values[None, :], tuple(Column(name) for name in names))
    text = shown(across)
    assert all(f" {value:.2f} " in text for value in values)
    assert text.count("clean") > 1


@pytest.mark.parametrize("form", FORMATS)
def test_a_table_without_rows_has_every_format(form: str) -> None:
    made = sheet((), np.empty((0, 1)), (Column("top-1"),))
    assert FORMATS[form].render(made)
    assert shown(made)


def test_what_does_not_fit_together_is_a_bug() -> None:
    with pytest.raises(ValueError, match="must be described one by one"):
        sheet(("a",), [[1.0, 2.0]], (Column("a"),))


def test_files_are_named_after_table_and_format(tmp_path: Path) -> None:
    made = nasty()
    paths = write_tables([made], tmp_path / "new", list(FORMATS))
    assert [path.name for path in paths] == [
        "name.csv",
        "name.md",
        "name.tex",
        "name.json",
        "name.html",
    ]
    for path, form in zip(paths, FORMATS.values(), strict=True):
        assert path.read_bytes().decode() == form.render(made)
    again = write_tables([made, made, replace(made, name="NAME")], tmp_path, ["csv"])
    assert [path.name for path in again] == ["name.csv", "name-2.csv", "NAME-3.csv"]
