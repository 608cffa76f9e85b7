"""The comparison on the page: against whom, in which words, with which numbers."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from reports import Runs, merge, results
from reports.page.sections.comparing import MOST_NAMES, MOST_VERDICTS, Section, comparison_section
from robustbench_twicing.errors import UserError
from tests.reports.made import Outcomes, write_run
from tests.reports.page.read_page import Read

pytestmark = pytest.mark.slow

RIGHT, WRONG = 0, 1
MANY = 40
SAME: Outcomes = {"clean": [RIGHT] * MANY, "pgd@1/255": [WRONG] * MANY}
BETTER: Outcomes = {"clean": [RIGHT] * MANY, "pgd@1/255": [RIGHT] * MANY}
WORSE: Outcomes = {"clean": [WRONG] * MANY, "pgd@1/255": [WRONG] * MANY}


def section(
    tmp_path: Path, outcomes: Mapping[str, Outcomes], *, baseline: str | None = None
) -> Section:
    runs: Runs = merge([write_run(tmp_path / "run", outcomes, part_size=MANY)])
    return comparison_section(runs, results(runs), baseline)


def test_verdicts_are_of_significant_differences(tmp_path: Path) -> None:
    comparison = section(tmp_path, {"A": SAME, "B": BETTER, "C": WORSE, "D": SAME})
    assert comparison.baseline == "A"
    assert comparison.verdicts[:3] == (
        "B against A: better under pgd@1/255; otherwise no difference is shown "
        "(1 of 2 conditions).",
        "C against A: worse under clean; otherwise no difference is shown (1 of 2 conditions).",
        "No difference to A is shown under any condition for D.",
    )
    assert "over all 6 comparisons" in comparison.verdicts[3]


def test_verdicts_count_the_tests_alone(tmp_path: Path) -> None:
    also = {"pgd@0/255": [RIGHT] * MANY, "noise@4/255": [RIGHT] * MANY}
    comparison = section(tmp_path, {"A": {**SAME, **also}, "B": {**BETTER, **also}})
    assert comparison.verdicts[0].endswith("otherwise no difference is shown (1 of 2 conditions).")
    assert "over all 2 comparisons" in comparison.verdicts[1]


def test_few_images_show_nothing(tmp_path: Path) -> None:
    """Five images on which one is right and the other wrong: p is 1/16."""
    few: Outcomes = {"clean": [RIGHT] * 5}
    comparison = section(tmp_path, {"A": few, "B": {"clean": [WRONG] * 5}})
    assert comparison.verdicts[0] == "No difference to A is shown under any condition for B."


def test_any_label_can_be_the_baseline(tmp_path: Path) -> None:
    comparison = section(tmp_path, {"A": SAME, "B": BETTER}, baseline="B")
    assert comparison.baseline == "B"
    assert comparison.verdicts[0].startswith("A against B: worse under pgd@1/255")


def test_an_unknown_baseline_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'C' is unknown"):
        section(tmp_path, {"A": SAME, "B": BETTER}, baseline="C")


def test_one_model_has_nothing_to_compare_with(tmp_path: Path) -> None:
    assert section(tmp_path, {"A": SAME}) == Section()


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / label, {label: SAME}, part_size=MANY, seed=seed)
        for label, seed in (("A", 0), ("B", 1))
    ]
    runs = merge(folders)
    found = comparison_section(runs, results(runs), None)
    assert found.tables == ()
    (note,) = found.notes
    assert note.startswith("There is no comparison: B cannot be compared with A")
    assert "seed" in note


def test_numbers_keep_full_precision_and_p_values_too(tmp_path: Path) -> None:
    one: Outcomes = {"clean": [RIGHT] * 7 + [WRONG] * 4}
    other: Outcomes = {"clean": [WRONG] * 7 + [RIGHT] * 4}
    comparison = section(tmp_path, {"A": one, "B": other})
    (fragment,) = comparison.tables
    page = tmp_path / "fragment.html"
    page.write_text(fragment, encoding="utf-8")
    cells = [cell.attributes for cell in Read(page).all("td")]
    shown = [float(cell["data-value"]) for cell in cells if "data-value" in cell]
    assert any(value == pytest.approx(-300 / 11, rel=1e-12) for value in shown)
    p = 2 * sum(k for k in (1, 11, 55, 165, 330)) / 2**11
    assert any(value == pytest.approx(p, rel=1e-12) for value in shown)


def test_of_many_models_some_are_said(tmp_path: Path) -> None:
    better = {f"b{number:02d}": BETTER for number in range(MOST_VERDICTS + 2)}
    same = {f"s{number}": SAME for number in range(MOST_NAMES + 3)}
    sentences = section(tmp_path, {"A": SAME, **better, **same}).verdicts
    assert len(sentences) == MOST_VERDICTS + 3
    assert sentences[-3] == "2 more models differ from it; see the tables."
    assert sentences[-2].endswith("for s0, s1, s2, s3, s4, s5, s6, s7 and 3 more.")


def test_names_are_escaped(tmp_path: Path) -> None:
    comparison = section(tmp_path, {"<i>A</i>": SAME, "<b>B</b>": BETTER})
    assert "<b>" not in comparison.tables[0]
    assert "&lt;b&gt;B&lt;/b&gt;" in comparison.tables[0].replace("<wbr>", "")
