"""Reports: from the records of runs to tables that a reader can check."""

from .console import print_results
from .results import COLUMNS, results, write_results

__all__ = ["COLUMNS", "print_results", "results", "write_results"]
