"""A comparison as tables."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.threat_model import NORM_NAMES
from robustbench_twicing.files.printable import count

from ..metrics.flags import by_weight, explain_flag
from ..metrics.notes import flags_of, where
from ..statistics.comparison import ALL_IMAGES, Comparison
from ..statistics.paired import DRAWS
from ..text.condition_names import with_short_names
from ..text.file_names import file_name
from .table import ABOUT, Column, Table

LOW, HIGH = "difference_ci_low", "difference_ci_high"
SHOWN = {
    "baseline_top1": Column("base", "top-1"),
    "top1": Column("model", "top-1"),
    "difference": Column("diff."),
    LOW: Column("from", key=LOW),
    HIGH: Column("to", key=HIGH),
    "n_only_baseline": Column("base", "only", 0),
    "n_only_label": Column("model", "only", 0),
    "p": Column("p", form="g"),
    "p_holm": Column("Holm", form="g"),
    "verdict": Column("verdict", digits=None),
}
"""Columns of the comparison, and what they are called here."""
IN_BRIEF = {
    **{name: SHOWN[name] for name in ("baseline_top1", "top1", "difference", "verdict")},
    LOW: Column("from", digits=1),
    HIGH: Column("to", digits=1),
    "p_holm": SHOWN["p_holm"],
}
"""Those from which the verdict can be read, the verdict beside the difference."""
MORE_COLUMNS = "p by itself, and images that only one has right: --notes full."
NO_TEST = (
    "no test: a budget of 0 shows the clean images once more, and random noise is a control; they "
    "are none of the comparisons that are corrected for."
)
TITLE = "{0}: accuracy on the same images, percent"


def comparison_tables(comparison: Comparison) -> list[Table]:
    """One table for each data set and protocol, all models in it."""
    rows = _in_words(comparison.rows)
    groups = rows.groupby(["dataset", "protocol"], sort=False)
    title = TITLE.format(f"Models against {comparison.baseline}")
    below = comparison_notes(comparison)
    keys = ["label", "condition"]
    return [_table(part, keys, title, SHOWN, below) for _, part in groups]


def tables_by_model(comparison: Comparison, *, every_column: bool = True) -> list[Table]:
    """One narrow table for each data set, protocol and model; `comparison_notes` go below all.

    Args:
        comparison: of models with one of them.
        every_column: all of `SHOWN`; else those of `IN_BRIEF`, which fit into 80 columns.
    """
    first = {name: SHOWN[name] for name in IN_BRIEF if name not in (LOW, HIGH, "p_holm")}
    shown = {**first, **SHOWN} if every_column else IN_BRIEF
    rows = _in_words(comparison.rows)
    groups = rows.groupby(["dataset", "protocol", "label"], sort=False)
    return [
        _table(part, ["condition"], TITLE.format(f"{label} against {comparison.baseline}"), shown)
        for (_, _, label), part in groups
    ]


def comparison_notes(comparison: Comparison, *, every_column: bool = True) -> tuple[str, ...]:
    """What the columns are, and what was compared on some images only, or not at all.

    Args:
        comparison: of models with one of them.
        every_column: as for `tables_by_model`.
    """
    rows = comparison.rows
    partly = rows[rows["images"] != ALL_IMAGES]
    only = " only: images that only one of the two has right."
    test = "p: McNemar's exact test; Holm:" if every_column else "Holm: McNemar's exact test,"
    return (
        "diff.: model minus base, percentage points; from, to: its 95 % bootstrap interval over "
        f"images ({DRAWS:,} seeded samples).{only if every_column else ''}",
        f"{test} corrected over {corrected_over(comparison)}. "
        "better, worse: Holm below 0.05; not shown: these images show no difference.",
        *(() if every_column else (MORE_COLUMNS,)),
        *([NO_TEST] if rows["p_holm"].isna().any() else ()),
        *(
            f"{row['label']} {row['condition']} is compared on {row['images']} images"
            for _, row in partly.iterrows()
        ),
        *_flags(rows),
        *comparison.notes,
    )


def corrected_over(comparison: Comparison) -> str:
    """Over which comparisons Holm corrects, in words."""
    families = comparison.families
    norms: list[Norm] = list(dict.fromkeys(norm for norm, _ in families)) or ["linf"]
    words = []
    for norm in norms:
        of_norm = f" in {NORM_NAMES[norm]}" if len(norms) > 1 else ""
        tests, worst = (families.get((norm, is_worst), 0) for is_worst in (False, True))
        if tests or not worst:
            words.append(f"{'' if tests == 1 else 'all '}{count(tests, 'comparison')}{of_norm}")
        if worst:
            alone = "itself" if worst == 1 else "themselves"
            words.append(f"the {worst} of the worst case{of_norm} by {alone}")
    *before, last = words
    return f"{', over '.join(before)}, and over {last}" if before else last


def _flags(rows: pd.DataFrame) -> Iterator[str]:
    """What must be known of the numbers that were compared, each flag once."""
    sides = (rows["baseline_flags"], rows["baseline"]), (rows["flags"], rows["label"])
    places: dict[str, dict[tuple[str, str], None]] = {}
    for cells, names in sides:
        for cell, name, condition in zip(cells, names, rows["condition"], strict=True):
            for flag in flags_of(cell):
                places.setdefault(flag, {})[name, condition] = None
    labels = list(dict.fromkeys([*rows["baseline"], *rows["label"]]))
    pairs = [rows[[name, "condition"]].set_axis(range(2), axis=1) for name in ("baseline", "label")]
    results = len(pd.concat(pairs).drop_duplicates())
    for flag in sorted(places, key=by_weight):
        on = "all" if len(places[flag]) == results else where(list(places[flag]), labels)
        yield f"! {flag} ({on}): {explain_flag(flag)}"


def _in_words(rows: pd.DataFrame) -> pd.DataFrame:
    """With verdicts, and own attacks under their functions' names."""
    verdict = rows["difference"].gt(0).map({True: "better", False: "worse"})
    verdict = verdict.where(rows["significant"], "not shown")
    named = with_short_names(rows)
    return named.assign(verdict=verdict.where(rows["p_holm"].notna(), "no test"))


def _table(
    rows: pd.DataFrame,
    keys: Sequence[str],
    title: str,
    shown: Mapping[str, Column],
    notes: tuple[str, ...] = (),
) -> Table:
    frame = rows.set_index(list(keys))[list(shown)]
    frame = frame.rename_axis(["model" if key == "label" else key for key in keys])
    first = rows.iloc[0]
    about = rows[list(ABOUT)].astype(str)
    return Table(
        file_name("comparison", first["dataset"], first["protocol"]),
        title,
        frame,
        tuple(shown.values()),
        about.set_axis(frame.index),
        groups=tuple(str(label) for label in rows["label"]),
        notes=notes,
    )
