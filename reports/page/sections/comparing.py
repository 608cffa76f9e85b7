"""The comparison with a baseline, as a section of the page."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup

from robustbench_twicing.files.printable import count, name_some

from ...merging.runs import Runs
from ...statistics.comparison import Comparison, compare_if_possible
from ...tables.comparing import comparison_tables, corrected_over
from .tables import embed_table

MOST_VERDICTS = 10
"""Models whose differences are said in words."""
MOST_NAMES = 8
"""Models or conditions that one sentence names."""
MOST_PAIRS = 2000
"""Differences that a page holds where each model can be the baseline."""


class Section(NamedTuple):
    """A comparison on the page.

    Attributes:
        baseline: its label; empty where there is no comparison.
        verdicts: sentences.
        tests: how many differences were tested.
        better: how many of them are significant and above 0.
        worse: the same below 0.
        tables: as HTML.
        comparisons: with each baseline that a reader can choose, that of the page first.
        notes: why there is no comparison, or none with others.
    """

    baseline: str = ""
    verdicts: tuple[str, ...] = ()
    tests: int = 0
    better: int = 0
    worse: int = 0
    tables: tuple[Markup, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    notes: tuple[str, ...] = ()


def comparison_section(runs: Runs, results: pd.DataFrame, baseline: str | None) -> Section:
    """All models against the baseline, and against each other; nothing for one model.

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
    others, notes = _other_baselines(runs, results, compared)
    sure = compared.rows.loc[compared.rows["significant"], "difference"]
    return Section(
        compared.baseline,
        tuple(verdicts(compared)),
        int(compared.rows["p_holm"].count()),
        int((sure > 0).sum()),
        int((sure < 0).sum()),
        tuple(embed_table(table, results) for table in comparison_tables(compared)),
        (compared, *others),
        notes,
    )


def _other_baselines(
    runs: Runs, results: pd.DataFrame, compared: Comparison
) -> tuple[list[Comparison], tuple[str, ...]]:
    """The comparisons with all other models where they are few, and what is left out."""
    labels = [str(label) for label in results["label"].unique()]
    pairs = len(labels) * len(compared.rows)
    if pairs > MOST_PAIRS:
        reason = (
            f"The comparison is with {compared.baseline} alone, since that of all {len(labels)} "
            f"models with each other would be {pairs:,} differences; report --baseline LABEL "
            "makes a page with another."
        )
        return [], (reason,)
    others, notes = list[Comparison](), list[str]()
    for label in labels:
        if label != compared.baseline:
            other = compare_if_possible(runs, results, baseline=label)
            if isinstance(other, str):
                notes.append(f"There is no comparison with {label}: {other}.")
            else:
                others.append(other)
    return others, tuple(notes)


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
        parts.append(f"otherwise no difference is shown ({rest} of {count(tests, 'condition')})")
    return "; ".join(parts)
