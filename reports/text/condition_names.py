"""Names of conditions for readers: a user's own attack goes by its function's name."""

import re
from collections import Counter
from collections.abc import Iterable

import pandas as pd

_OWN = re.compile(r"(?!(?:torchattacks|foolbox):)[^@]+:(?P<function>\w+@.+)")
"""``path/file.py:function@4/255`` and ``module:function@4/255``."""


def by_function(conditions: Iterable[str]) -> dict[str, str]:
    """What each condition is called in a table: ``tilt@4/255`` for ``mine.py:tilt@4/255``.

    Where two would then have one name, both keep their whole ids.
    """
    names = {name: _OWN.fullmatch(name) for name in dict.fromkeys(conditions)}
    short = {name: match["function"] if match else name for name, match in names.items()}
    counts = Counter(short.values())
    return {name: brief if counts[brief] == 1 else name for name, brief in short.items()}


def with_short_names(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of results with their conditions as readers see them."""
    return table.assign(condition=table["condition"].map(by_function(table["condition"])))
