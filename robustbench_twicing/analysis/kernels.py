"""How much of a spectrum in [0, 1] is left after n layers: eigencapacity of arXiv 2503.00687."""

from math import prod

SHOWN = (1, 2, 6, 12)
"""Numbers of layers of the paper's figure."""


def capacity(n: int) -> float:
    """Integral over [0, 1] of x^n, what n plain averages leave: 1 / (n + 1).

    Args:
        n: number of layers, from 0.
    """
    return 1 / (n + 1)


def twicing_capacity(n: int) -> float:
    """Integral over [0, 1] of (2x - x^2)^n: the product over k = 1..n of 2k / (2k + 1).

    It falls like sqrt(pi / n) / 2, half as steeply as `capacity` on logarithmic axes. Factorials,
    with which it is written too, would overflow.

    Args:
        n: number of layers, from 0.
    """
    return prod(2 * k / (2 * k + 1) for k in range(1, n + 1))
