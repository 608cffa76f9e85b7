"""What was not scored, in sentences."""

import pandas as pd

from robustbench_twicing.files.printable import count, name_some
from robustbench_twicing.records.schema import Status

from ..merging.runs import Runs

MOST_NAMES = 6
"""Conditions that one sentence names."""
MOST_SKIPPED = 3
"""Images that could not be decoded, each with its message, before the others are counted."""
ABSENT = ((Status.ERROR, "failed and is", 3), (Status.MISSING, "lacks images and is", 1))
"""What became of images, in words, and how many of the messages of a condition are shown."""


def not_scored(runs: Runs, table: pd.DataFrame) -> list[str]:
    """Failures, missing files and skipped images; what failed alike is said once.

    Args:
        runs: merged runs.
        table: rows of their `results`.
    """
    records = runs.unscored
    records = records[records["entry"].isin(table.index)]
    absent: dict[tuple[str, str], list[str]] = {}
    for status, what, most in ABSENT:
        rows = records[records["status"] == status]
        keys = ["label", "dataset", "condition"]
        groups = rows.drop_duplicates([*keys, "message"]).groupby(keys, observed=True, sort=False)
        for (label, _, condition), messages in groups["message"]:
            reasons = list(messages[:most])
            if 1 < most < len(messages):
                reasons.append(f"{len(messages) - most} more such messages in the records")
            for reason in reasons:
                key = (f"{label}: ", f" {what} not scored: {reason}")
                absent.setdefault(key, []).append(str(condition))
    skipped = records[records["status"] == Status.SKIPPED]["message"].unique()
    more = len(skipped) - MOST_SKIPPED
    return [
        f"{label}{name_some(list(dict.fromkeys(names)), MOST_NAMES)}{why}"
        for (label, why), names in absent.items()
    ] + [
        *(f"skipped: {message}" for message in skipped[:MOST_SKIPPED]),
        *([f"skipped: {count(more, 'more image')}; --images FILE lists them"] if more > 0 else []),
    ]
