"""The report as one HTML page."""

from .render import write_page

__all__ = ["write_page"]
