"""The command line: the one place where models, attacks and reports meet."""

from .app import main

__all__ = ["main"]
