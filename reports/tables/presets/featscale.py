"""The paper's table beside FeatScale and AttnScale: clean images only."""

from collections.abc import Iterator

import pandas as pd

from robustbench_twicing.conditions.condition import CLEAN

from ...merging.runs import Runs
from ..cells import fill
from ..table import Table
from . import Choices, preset
from .table1 import both_accuracies


@preset("featscale", on_page=True)
def featscale(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """Clean top-1 and top-5."""
    del choices
    title = "Accuracy on clean images, percent"
    yield fill("featscale", title, runs, rows, both_accuracies(CLEAN))
