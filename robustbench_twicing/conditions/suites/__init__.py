"""Suites: ordered lists of conditions, as YAML files."""

from .items import Suite, SuiteItem
from .reading import list_suites, load_suite

__all__ = ["Suite", "SuiteItem", "list_suites", "load_suite"]
