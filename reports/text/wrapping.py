"""Names in lines of a given width, broken where a reader would break them."""

import re

from rich.cells import cell_len, chop_cells

_PIECE = re.compile(r"[\[(]?(?:[^\s_#@=:\[(/-]|[/-](?=\d))*(?:[\s_#@=:]|[/-](?!\d))*")
"""What stays together: up to and with a space or a mark between words, but ``4/255`` and ``10-12``
as they are; brackets begin anew."""


def pieces(text: str) -> list[str]:
    """The parts between which a line may end."""
    return [piece for piece in _PIECE.findall(text) if piece]


def longest_piece(text: str) -> int:
    """Width of the widest part that would have to be broken within a word, in cells."""
    return max((cell_len(piece.rstrip()) for piece in pieces(text)), default=0)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` cells; a word is broken only where it alone is wider.

    Args:
        text: on one line.
        width: in cells of a terminal, of which a Chinese letter takes two; at least 2.
    """
    lines = [""]
    for piece in pieces(text):
        for part in chop_cells(piece, width) if cell_len(piece.rstrip()) > width else [piece]:
            if cell_len((lines[-1] + part).rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return [line.rstrip() for line in lines if line.strip()] or [""]
