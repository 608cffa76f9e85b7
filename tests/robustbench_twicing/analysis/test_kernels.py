"""Eigencapacity against quadrature, and against what it tends to."""

import math

import numpy as np
import pytest

from robustbench_twicing.analysis.kernels import capacity, twicing_capacity


@pytest.mark.parametrize("n", [0, 1, 2, 6, 12, 30])
def test_it_is_the_area_below_the_kernel(n: int) -> None:
    nodes, weights = np.polynomial.legendre.leggauss(40)  # exact for polynomials up to degree 79
    x = (nodes + 1) / 2
    assert capacity(n) == pytest.approx(float(weights @ x**n) / 2, abs=1e-12)
    assert twicing_capacity(n) == pytest.approx(
        float(weights @ (2 * x - x * x) ** n) / 2, abs=1e-12
    )


def test_it_falls_like_one_over_the_root() -> None:
    for n in (100, 10_000):
        assert twicing_capacity(n) == pytest.approx(math.sqrt(math.pi / n) / 2, rel=1 / n)
