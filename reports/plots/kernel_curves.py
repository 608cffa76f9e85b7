"""What n averages leave of eigenvalues: of the paper's two kernels, and of trained networks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from .lettering import lettering, styled
from .panel import legend_height, outside_legend
from .picture import Picture
from .series import Look, look, looks
from .similarity_curves import flags_shown, images_shown

Floats = NDArray[np.float64]
X = np.linspace(0, 1, 201)
POWERS: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "kappa_p": ("$x^n$ (plain)", lambda x: x),
    "kappa_p_hat": ("$(2x - x^2)^n$ (twicing)", lambda x: 2 * x - x**2),
}
"""Column of kernels.csv to a panel's title, and the polynomial whose powers it shows."""
MOST_PANELS = 4
"""Layers side by side, evenly spread from the first to the last."""
PAPER: dict[str, tuple[Literal["-", "--"], str]] = {
    "kappa_p": ("-", "plain"),
    "kappa_p_hat": ("--", "twicing"),
}
"""Column of kernels.csv to the line of what it says, and the kernel's name."""
GREY = "0.55"


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


def eigenvalue_curves(ax: Axes, curves: pd.DataFrame, look_of: Mapping[str, Look]) -> None:
    """Draw median magnitudes over the rank: solid of A, dashed of the matrix on the values.

    A label whose values are multiplied by A itself has no dashed line.

    Args:
        ax: where to.
        curves: columns of spectrum_curves.csv, one layer of each label.
        look_of: look of each label.
    """
    for number, (label, rows) in enumerate(curves.groupby("label", sort=False)):
        style = look_of[str(label)]
        lines = {"abs": "-", "abs_effective": "--"}
        if np.array_equal(rows["abs"], rows["abs_effective"], equal_nan=True):
            del lines["abs_effective"]
        for place, (column, line) in enumerate(lines.items()):
            ax.plot(
                rows["rank"],
                rows[column],
                line,
                color=style.colour,
                marker=style.marker,
                markerfacecolor=style.face,
                markevery=((3 * number + 8 * place) % 16, 16),
            )
    ax.set(xlim=(0, 1), xlabel="rank / number of tokens")


def capacity_curves(
    ax: Axes,
    spectrum: pd.DataFrame,
    curves: pd.DataFrame,
    look_of: Mapping[str, Look],
    *,
    kernels: pd.DataFrame,
) -> None:
    """Draw the mean n-th power of the magnitudes over n, beside the paper's eigencapacity in grey.

    Dashed where the matrix on the values is not A.

    Args:
        ax: where to; its vertical axis becomes logarithmic.
        spectrum: columns of spectrum.csv, one layer of each label.
        curves: as for `eigenvalue_curves`.
        look_of: look of each label.
        kernels: columns of kernels.csv.
    """
    for column, (line, _) in PAPER.items():
        ax.plot(kernels["n"], kernels[column], line, color=GREY, linewidth=1)
    for row in spectrum.to_dict("records"):
        style = look_of[row["label"]]
        of_label = curves[curves["label"] == row["label"]]
        ax.plot(
            kernels["n"],
            [row[f"capacity_{n}"] for n in kernels["n"]],
            "-" if of_label["abs"].equals(of_label["abs_effective"]) else "--",
            color=style.colour,
            marker=style.marker,
            markerfacecolor=style.face,
        )
    ax.set_yscale("log")
    ax.set_xticks(list(kernels["n"]))
    ax.set_xlabel("layers n")


def spectrum_pictures(
    spectrum: pd.DataFrame, curves: pd.DataFrame, *, kernels: pd.DataFrame
) -> Iterator[Picture]:
    """One picture: a column for each of some layers, eigenvalues above, capacities below.

    Args:
        spectrum: columns of spectrum.csv.
        curves: columns of spectrum_curves.csv.
        kernels: columns of kernels.csv, with the same n as spectrum.csv.
    """
    look_of = looks(list(spectrum["label"]))
    panels = list(_panels(spectrum))
    title = f"Eigenvalues of attention matrices: {images_shown(spectrum)}"
    names = [_name(rows) for _, rows in spectrum.groupby("label", sort=False)]
    with styled():
        height = max(5.4, legend_height(names) + 2.7)
        figure = Figure(figsize=(1.4 + 2.4 * len(panels), height), layout="constrained")
        axes = figure.subplots(2, len(panels), sharey="row", squeeze=False)
        for (top, bottom), (layer, rows) in zip(axes.T, panels, strict=True):
            chosen = curves.merge(rows[["label", "layer"]])
            eigenvalue_curves(top, chosen, look_of)
            capacity_curves(bottom, rows, chosen, look_of, kernels=kernels)
            top.set_title(layer)
        axes[0, 0].set_ylabel("magnitude of the eigenvalue\n(median)")
        axes[0, 0].set_ylim(bottom=0)
        axes[1, 0].set_ylabel("mean n-th power\n(empirical capacity)")
        figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
        _legends(axes[0, -1], axes[1, -1], dict(zip(look_of, names, strict=True)), look_of)
    alt = (
        f"Line plots of sorted magnitudes, and of the mean of their powers. {title}. "
        f"Last layer: {_described(panels[-1][1])}."
    )
    yield Picture("spectrum", title, alt, figure)


def _panels(spectrum: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Titles and rows, one of each label; labels of unlike depth meet at the same share of it."""
    of_label = [rows for _, rows in spectrum.groupby("label", sort=False)]
    count = min(MOST_PANELS, *map(len, of_label))
    for share in np.linspace(0, 1, count):
        rows = pd.concat([rows.iloc[[round(share * (len(rows) - 1))]] for rows in of_label])
        layers = list(dict.fromkeys(map(str, rows["layer"])))
        yield f"layer{'s' * (len(layers) > 1)} {' / '.join(layers)}", rows


def _name(rows: pd.DataFrame) -> str:
    flags = flags_shown(rows)
    name = lettering(str(rows["label"].iloc[0]))
    return f"{name}\n{lettering(f'({flags})')}" if flags else name


def _legends(
    top: Axes, bottom: Axes, names: Mapping[str, str], look_of: Mapping[str, Look]
) -> None:
    """Names, and what solid and dashed lines mean, beside the last column."""
    handles = [
        Line2D(
            *([], []),
            color=look_of[label].colour,
            marker=look_of[label].marker,
            markerfacecolor=look_of[label].face,
            label=name,
        )
        for label, name in names.items()
    ]
    kinds: dict[Literal["-", "--"], str] = {
        "-": "softmax matrix A",
        "--": "matrix on the values,\nwhere it is not A",
    }
    handles += [Line2D([], [], color="black", linestyle=line, label=kinds[line]) for line in kinds]
    _beside(top, handles)
    paper = [
        Line2D([], [], color=GREY, linestyle=line, label=f"eigenvalues evenly\nin [0, 1], {kernel}")
        for line, kernel in PAPER.values()
    ]
    _beside(bottom, paper)


def _beside(ax: Axes, handles: Sequence[Line2D]) -> None:
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0.0)


def _described(last: pd.DataFrame) -> str:
    return "; ".join(
        f"{row['label']} second largest {row['second_abs']:.2f}, "
        f"{row['second_abs_effective']:.2f} on the values"
        for row in last.to_dict("records")
    )
