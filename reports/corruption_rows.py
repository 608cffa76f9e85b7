"""The rows of ImageNet-C in a table of results, as errors by corruption and severity."""

import pandas as pd

ATTACK = "imagenet-c"
"""In the ``attack`` column; the condition is ``imagenet-c/CORRUPTION/SEVERITY``."""


def corruption_rows(results: pd.DataFrame) -> pd.DataFrame:
    """The rows of ImageNet-C, with columns ``corruption`` and ``severity`` added."""
    rows = results[results["attack"] == ATTACK]
    parts = rows["condition"].str.split("/", expand=True).reindex(columns=range(3))
    return rows.assign(corruption=parts[1], severity=parts[2].astype(int))


def corruption_errors(rows: pd.DataFrame) -> dict[tuple[str, int], float]:
    """Top-1 errors as fractions of one label's `corruption_rows`; only what was scored."""
    scored = rows[rows["status"] == "ok"]
    errors = 1 - scored["top1"].astype(float) / 100
    cells = zip(scored["corruption"], scored["severity"], strict=True)
    return dict(zip(cells, errors, strict=True))
