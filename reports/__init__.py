"""Reports: from the records of runs to tables that a reader can check."""

from .results import COLUMNS, results, write_results

__all__ = ["COLUMNS", "results", "write_results"]
