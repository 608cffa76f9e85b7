"""Suites: ordered lists of conditions, as YAML files."""

from .reading import Suite, SuiteItem, list_suites, load_suite

__all__ = ["Suite", "SuiteItem", "list_suites", "load_suite"]
