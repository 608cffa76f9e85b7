"""The comparison with a baseline, as a section of the page."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup

from robustbench_twicing.files.printable import name_some

from ...merging.runs import Runs
from ...plots import forest_pictures
from ...statistics.comparison import Comparison, compare_if_possible
from ...tables.comparing import comparison_tables, corrected_over
from ..drawing.embedding import Embedded, embed_pictures
from .tables import embed_table

MOST_VERDICTS = 10
"""Models whose differences are said in words."""
MOST_NAMES = 8
"""Models or conditions that one sentence names."""
MOST_FORESTS = 4
MOST_ROWS = 60
"""Comparisons that are shown unfolded."""


class Section(NamedTuple):
    """A comparison on the page.

    Attributes:
        baseline: its label; empty where there is no comparison.
        verdicts: sentences.
        tests: how many differences were tested.
        better: how many of them are significant and above 0.
        worse: the same below 0.
        forests: pictures of the differences.
        tables: as HTML.
        is_long: whether the tables are folded at first.
        notes: why there is no comparison.
    """

    baseline: str = ""
    verdicts: tuple[str, ...] = ()
    tests: int = 0
    better: int = 0
    worse: int = 0
    forests: tuple[Embedded, ...] = ()
    tables: tuple[Markup, ...] = ()
    is_long: bool = False
    notes: tuple[str, ...] = ()


def comparison_section(runs: Runs, results: pd.DataFrame, baseline: str | None) -> Section:
    """All models against the baseline; nothing for one model.

    Args:
        runs: merged runs.
        results: `results` of them.
        baseline: a label; the first unless given.

    Raises:
        UserError: an unknown baseline.
    """
    compared = compare_if_possible(runs, results, baseline=baseline)
    if isinstance(compared, str):
        several = results["label"].nunique() > 1
        return Section(notes=(f"There is no comparison: {compared}.",) if several else ())
    pictures, _ = embed_pictures(forest_pictures(compared.rows, compared.baseline), MOST_FORESTS)
    tables = tuple(embed_table(table, results) for table in comparison_tables(compared))
    is_long = len(compared.rows) > MOST_ROWS
    sure = compared.rows.loc[compared.rows["significant"], "difference"]
    return Section(
        compared.baseline,
        tuple(verdicts(compared)),
        int(compared.rows["p_holm"].count()),
        int((sure > 0).sum()),
        int((sure < 0).sum()),
        pictures,
        tables,
        is_long,
    )


def verdicts(compared: Comparison) -> Iterator[str]:
    """Under what each model is better or worse than the baseline, and how sure that is."""
    groups = list(compared.rows.groupby("label", sort=False))
    differing = [(label, rows) for label, rows in groups if rows["significant"].any()]
    for label, rows in differing[:MOST_VERDICTS]:
        yield f"{label} against {compared.baseline}: {_verdict(rows)}."
    if len(differing) > MOST_VERDICTS:
        yield f"{len(differing) - MOST_VERDICTS} more models differ from it; see the tables."
    alike = [str(label) for label, rows in groups if not rows["significant"].any()]
    if alike:
        names = name_some(alike, MOST_NAMES)
        yield f"No difference to {compared.baseline} is shown under any condition for {names}."
    yield (
        f"Significance: McNemar's exact test on the same images, corrected by Holm over "
        f"{corrected_over(compared)}, level 5 %."
    )


def _verdict(rows: pd.DataFrame) -> str:
    sure = rows[rows["significant"]]
    words = {
        "better": sure.loc[sure["difference"] > 0, "condition"],
        "worse": sure.loc[sure["difference"] < 0, "condition"],
    }
    parts = [
        f"{word} under {name_some(names, MOST_NAMES)}"
        for word, names in words.items()
        if len(names)
    ]
    tests = rows["p_holm"].count()
    rest = tests - len(sure)
    if rest:
        parts.append(f"otherwise no difference is shown ({rest} of {tests} conditions)")
    return "; ".join(parts)
