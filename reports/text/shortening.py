"""Names made short: without the start that all of them have, or without their middle."""

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells

from .wrapping import pieces


def common_start(names: Sequence[str]) -> str:
    """The words that several names begin with, and go on after; empty where there are none.

    ``fmnist_`` of ``fmnist_deit`` and ``fmnist_deit_twicing``.
    """
    start = ""
    for words in zip(*(pieces(name)[:-1] for name in names), strict=False):
        if len(names) < 2 or len(set(words)) > 1:
            break
        start += words[0]
    return start


def shortened(name: str, width: int) -> str:
    """The name, or its start and end with ``…`` between them.

    Args:
        name: on one line.
        width: in cells of a terminal, of which a Chinese letter takes two; at least 4.
    """
    if cell_len(name) <= width:
        return name
    start = chop_cells(name, (width - 1) // 2)[0]
    end = chop_cells(name[::-1], width - 1 - (width - 1) // 2)[0][::-1]
    return f"{start}…{end}"
