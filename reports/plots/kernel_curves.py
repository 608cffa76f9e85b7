"""What n averages leave of an eigenvalue in [0, 1], plain and twicing: the paper's two kernels."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .lettering import styled
from .panel import outside_legend
from .picture import Picture
from .series import look

Floats = NDArray[np.float64]
X = np.linspace(0, 1, 201)
POWERS: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "kappa_p": ("$x^n$ (plain)", lambda x: x),
    "kappa_p_hat": ("$(2x - x^2)^n$ (twicing)", lambda x: 2 * x - x**2),
}
"""Column of kernels.csv to a panel's title, and the polynomial whose powers it shows."""


def kernel_curves(ax: Axes, kernels: pd.DataFrame, *, column: str) -> None:
    """Draw the powers of one polynomial, a line for each n; the area below is its eigencapacity.

    Args:
        ax: where to.
        kernels: columns of kernels.csv.
        column: ``kappa_p`` or ``kappa_p_hat``.
    """
    title, polynomial = POWERS[column]
    for number, n in enumerate(kernels["n"]):
        style = look(number)
        ax.plot(
            X,
            polynomial(X) ** n,
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markevery=(10 * number, 40),
            label=f"n = {n}",
        )
    ax.set_title(title)
    ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="eigenvalue x of the attention matrix")


def kernel_pictures(kernels: pd.DataFrame) -> Iterator[Picture]:
    """One picture with both kernels.

    Args:
        kernels: columns of kernels.csv.
    """
    with styled():
        figure = Figure(figsize=(7.6, 3.4))
        axes = figure.subplots(1, 2, sharey=True)
        for ax, column in zip(axes, POWERS, strict=True):
            kernel_curves(ax, kernels, column=column)
        axes[0].set_ylabel("what n averages leave of it")
        outside_legend(axes[-1])
    areas = " ".join(
        f"n = {row.n}: {row.kappa_p:.3f} plain, {row.kappa_p_hat:.3f} twicing."
        for row in kernels.itertuples()
    )
    title = "What n averages leave of an eigenvalue, plain and twicing"
    alt = f"Two line plots, powers of x and of 2x - x^2 over x. {title}. Areas below: {areas}"
    yield Picture("kernels", title, alt, figure)
