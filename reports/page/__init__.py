"""The report as one HTML page."""

from .render import spoken_size, write_page

__all__ = ["spoken_size", "write_page"]
