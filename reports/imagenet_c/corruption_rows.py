"""The rows of ImageNet-C in a table of results, as errors by corruption and severity."""

import pandas as pd

from robustbench_twicing.data.imagenet_c import PREFIX, PREFIXES

ATTACK = PREFIX
"""In the ``attack`` column; the condition is ``imagenet-c/CORRUPTION/SEVERITY``."""
CORRUPTED = PREFIXES
"""The same of all corruptions, the benchmark's or not: ``corruption/CORRUPTION/SEVERITY``."""


def corruption_rows(results: pd.DataFrame) -> pd.DataFrame:
    """The rows of all corruptions, tidy: one per label, data set, protocol, source and cell.

    Returns:
        The columns of results.csv, and ``corruption``, ``severity`` (1 to 5) and ``error``: the
        top-1 error, a fraction, NaN where a condition failed or is incomplete.
    """
    rows = results[results["attack"].isin(CORRUPTED)]
    parts = rows["condition"].str.split("/", expand=True).reindex(columns=range(3))
    error = 1 - rows["top1"].astype(float) / 100  # top1 is empty where nothing was scored
    return rows.assign(corruption=parts[1], severity=parts[2].astype(int), error=error)


def corruption_errors(rows: pd.DataFrame) -> dict[tuple[str, int], float]:
    """Top-1 errors as fractions of one label's `corruption_rows`; only what was scored."""
    scored = rows[rows["error"].notna()]
    cells = zip(scored["corruption"], scored["severity"], strict=True)
    return dict(zip(cells, scored["error"].tolist(), strict=True))
