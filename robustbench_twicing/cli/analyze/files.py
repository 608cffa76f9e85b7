"""What analyze makes of what was measured: tables, pictures, and lines on the terminal."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from reports.plots import save_pictures
from reports.plots.attention_pictures import attention_pictures, paper_layers
from reports.plots.kernel_curves import kernel_pictures, spectrum_pictures
from reports.plots.similarity_curves import paper_similarity, similarity_pictures
from reports.representations.attention import NUMBERS, attention_table
from reports.representations.similarity import (
    KEYS,
    by_image_table,
    difference_table,
    similarity_table,
)
from reports.representations.spectrum import spectrum_curves, spectrum_table
from reports.representations.subject import Subject
from reports.tables.formats.as_console import print_columns
from reports.tables.formats.layout import TextColumn
from reports.text.csv_text import save_csv

from ...analysis.kernels import SHOWN, capacity, twicing_capacity
from ..terminal import Console

SPECTRUM_HEADS = {
    "mean": "mean_abs",
    "second": "second_abs",
    "mean on values": "mean_abs_effective",
    "second on values": "second_abs_effective",
}
"""On the terminal, and in spectrum.csv."""


def write_kernels(folder: Path, console: Console) -> None:
    """Write and draw what n averages leave of a spectrum in [0, 1], and print it.

    Args:
        folder: where to.
        console: where to print.

    Raises:
        UserError: the folder cannot be written to.
    """
    table = _kernels()
    save_csv(table, folder / "kernels.csv")
    save_pictures(kernel_pictures(table), folder)
    heads = {"plain": "kappa_p", "twicing": "kappa_p_hat"}
    columns = [
        TextColumn(head, [f"{value:.4f}" for value in table[name]]) for head, name in heads.items()
    ]
    print_columns([TextColumn("n", [str(n) for n in SHOWN], is_name=True)], columns, console)
    console.say("Eigencapacity: the integral over [0, 1] of x^n, and of (2x - x^2)^n.")


def _kernels() -> pd.DataFrame:
    """Rows of kernels.csv."""
    return pd.DataFrame(
        {
            "n": SHOWN,
            "kappa_p": [capacity(n) for n in SHOWN],
            "kappa_p_hat": [twicing_capacity(n) for n in SHOWN],
        }
    )


def write_spectrum(
    subjects: Sequence[Subject], folder: Path, console: Console, *, n_images: int
) -> list[Path]:
    """Write tables and the picture of eigenvalues, and print each model's last layer.

    Args:
        subjects: models, with eigenvalues of some of their images.
        folder: where to.
        console: where to print.
        n_images: how many images the other analyses are of.

    Returns:
        Files of the picture.

    Raises:
        UserError: the folder cannot be written to.
    """
    table, curves = spectrum_table(subjects), spectrum_curves(subjects)
    save_csv(table, folder / "spectrum.csv")
    save_csv(curves, folder / "spectrum_curves.csv")
    clean, clean_curves = (rows[rows["under"] == ""] for rows in (table, curves))
    pictures = save_pictures(spectrum_pictures(clean, clean_curves, kernels=_kernels()), folder)
    last = table.groupby(["label", "under"], sort=False).tail(1)
    columns = [TextColumn("layer", list(last["layer"]))]
    columns += [
        TextColumn(head, [f"{value:.3f}" for value in last[name]])
        for head, name in SPECTRUM_HEADS.items()
    ]
    print_columns(_names(last), columns, console)
    console.say(
        "Eigenvalues at the last layer, of the softmax matrix A and of the matrix on the values: "
        f"means over heads and {table['n_images'].max()} of {n_images} images; --spectrum-images N "
        "takes more.",
        "The paper's argument takes all of them to be in [0, 1]. Here, by model and layer, "
        f"{_percent(table['share_complex'])} of those above 0.01 are complex, and "
        f"{_percent(table['share_negative'])} have a negative real part.",
    )
    return pictures


def _percent(shares: "pd.Series[float]") -> str:
    """The range of some shares, like ``18 to 83 %``."""
    return f"{100 * shares.min():.0f} to {100 * shares.max():.0f} %"


def write_attention(
    subjects: Sequence[Subject], folder: Path, console: Console, *, scale: str, style: str
) -> list[Path]:
    """Write the table and the maps of attention, and print each model's last layer.

    Args:
        subjects: models, with maps or without.
        folder: where to.
        console: where to print.
        scale: of the maps, ``shared`` by those of an image, or ``each`` its own.
        style: of the pictures, ``ours`` or ``paper``.

    Returns:
        Files of the maps.

    Raises:
        UserError: the folder cannot be written to.
    """
    table = attention_table(subjects)
    save_csv(table, folder / "attention.csv")
    in_paper = style == "paper"
    maps = paper_layers(subjects) if in_paper else attention_pictures(subjects, scale=scale)
    pictures = save_pictures(maps, folder)
    means = table[table["head"] == "mean"]
    last = means.groupby(["label", "under"], sort=False).tail(1)
    columns = [TextColumn("layer", list(last["layer"]))]
    columns += [
        TextColumn(
            name.replace("_", " "),
            ["" if pd.isna(value) else f"{value:.4g}" for value in last[name]],
        )
        for name in NUMBERS
    ]
    print_columns(_names(last), columns, console)
    console.say(
        "Attention at the last layer, means over heads and images: entropy (nats) and weights of "
        "the class token's row, entropy and participation of all rows.",
    )
    return pictures


def write_similarity(
    subjects: Sequence[Subject],
    folder: Path,
    console: Console,
    *,
    drawn: Sequence[str],
    tokens: str,
    seed: int,
    style: str,
) -> list[Path]:
    """Write tables and the picture of token similarity, and print each model's last layer.

    Args:
        subjects: models, the first of which the others are compared with.
        folder: where to.
        console: where to print.
        drawn: tensors, from left to right.
        tokens: which are drawn and printed, ``all`` or ``patches``.
        seed: of the bootstrap over images.
        style: of the picture, ``ours`` or ``paper``, which has the first tensor alone.

    Returns:
        Files of the picture.

    Raises:
        UserError: the folder cannot be written to.
    """
    table = similarity_table(subjects, seed=seed)
    differences = difference_table(subjects, seed=seed)
    save_csv(table, folder / "similarity.csv")
    save_csv(by_image_table(subjects), folder / "similarity_by_image.csv")
    if len(subjects) > 1:
        save_csv(differences, folder / "similarity_differences.csv")
    if style == "paper":
        figures = paper_similarity(table, tensor=drawn[0], tokens=tokens)
    else:
        figures = similarity_pictures(table, tensors=drawn, tokens=tokens)
    pictures = save_pictures(figures, folder)
    last = _last_layers(table[table["tokens"] == tokens], drawn)
    _print(last, differences, console)
    shown = "all tokens" if tokens == "all" else "patch tokens"
    console.say(
        f"Mean cosine of pairs of {shown} at the last layer, with 95 % intervals over images.",
        *_of_other_depth(last),
    )
    return pictures


def _last_layers(table: pd.DataFrame, tensors: Sequence[str]) -> pd.DataFrame:
    """Rows of the last numbered layer, tensor by tensor, label by label."""
    rows = table[table["layer"].str.isdigit()]
    last = rows.groupby(["tensor", "label", "under"], sort=False).tail(1).set_index("tensor")
    return pd.concat([last.loc[[tensor]] for tensor in tensors]).reset_index()


def _print(last: pd.DataFrame, differences: pd.DataFrame, console: Console) -> None:
    names = [*_names(last), TextColumn("tensor", list(last["tensor"]), is_name=True)]
    columns = [TextColumn("layer", list(last["layer"]))]
    rows = last.to_dict("records")
    columns.append(TextColumn("similarity", [_interval(row, "similarity") for row in rows]))
    is_to_clean = differences["under"] != differences["baseline_under"]
    for head, chosen in {"to the first": ~is_to_clean, "to clean": is_to_clean}.items():
        if chosen.any():
            compared = differences[chosen].set_index(["label", "under", *KEYS]).to_dict("index")
            keys = [(row["label"], row["under"], *(row[name] for name in KEYS)) for row in rows]
            texts = [
                _interval(compared[key], "difference") if key in compared else "" for key in keys
            ]
            columns.append(TextColumn(head, texts))
    print_columns(names, columns, console)


def _of_other_depth(last: pd.DataFrame) -> Iterator[str]:
    """Why a model is not compared with the first one, whose last layer has another number."""
    first, *others = last.drop_duplicates("label")[["label", "layer"]].itertuples(index=False)
    for label, layer in others:
        if layer != first.layer:
            yield (
                f"{label}: its last layer is {layer}, and {first.label}'s {first.layer}, so no "
                "difference is shown; layers that both have are in similarity_differences.csv."
            )


def _names(rows: pd.DataFrame) -> list[TextColumn]:
    """Of rows: the model, and where there is any the condition."""
    heads = {"model": "label", "under": "under"} if rows["under"].any() else {"model": "label"}
    return [TextColumn(head, list(rows[name]), is_name=True) for head, name in heads.items()]


def _interval(row: Mapping[Hashable, Any], name: str) -> str:
    low, high = row[f"{name}_ci_low"], row[f"{name}_ci_high"]
    interval = "" if pd.isna(low) else f" [{low:.3f}, {high:.3f}]"  # none of a single image
    return f"{row[name]:.3f}{interval}"
