"""``models``: the names that --model takes, and what each costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..options.printed import Json

if TYPE_CHECKING:
    from rich.table import Table

    from ...models.spec import ModelSpec

WIDTH_IN_FILES = 200
"""Columns where the output is not a terminal, so that names can be searched for unbroken."""


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("models")(models)


def models(
    pattern: Annotated[
        str | None, typer.Argument(help="Part of a name, or a pattern like 'fan_*_twicing'.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Count parameters and multiply-adds too.")
    ] = False,
    json: Json = False,
) -> None:
    """List the models by name; timm's, Hugging Face's and your own can be had besides."""
    from ...models.resolve import resolve_model
    from ...models.table import MODELS
    from ..terminal import Console, print_records

    names = _matching(pattern)
    chosen = [spec for spec in MODELS.values() if spec.name in names]
    if not chosen:
        # A name from timm, or a placement: anything --model takes; otherwise this explains.
        chosen = [resolve_model(pattern or "")]
    if json:
        print_records(_record(spec, verbose=verbose) for spec in chosen)
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_IN_FILES)
    table = _counted(chosen) if verbose else _named(chosen)
    console.print(table)
    if pattern is None:
        console.print(
            "Besides: timm:NAME; hf:FOLDER, hf:OWNER/NAME of Hugging Face; path/file.py:function",
            markup=False,
        )
    if any(spec.twicing for spec in chosen):
        console.print(
            "Twicing models take a layer placement, 1-based and inclusive: NAME[10-12]",
            markup=False,
        )


def _matching(pattern: str | None) -> set[str]:
    from ...models.resolve import resolve_model
    from ...models.table import list_models

    return {resolve_model(name).name for name in list_models(pattern)}


def _named(specs: list[ModelSpec]) -> Table:
    from rich.table import Column, Table

    columns = ("family", "also called", "input", "weights", "source")
    table = Table(Column("model", no_wrap=True), *columns)
    for spec in specs:
        crop, resize = spec.preprocessing.crop, spec.preprocessing.resize
        pixels = f"{resize} -> {crop}" if resize != crop else f"{crop}"
        also = ", ".join(spec.aliases)
        table.add_row(spec.name, spec.family, also, pixels, _weights(spec), spec.source)
    return table


def _record(spec: ModelSpec, *, verbose: bool) -> dict[str, object]:
    record: dict[str, object] = {
        "model": spec.name,
        "family": spec.family,
        "also_called": list(spec.aliases),
        "preprocessing": spec.preprocessing.as_dict(),
        "weights": _weights(spec),
        "source": spec.source,
    }
    if verbose:
        from ...models.facts import model_facts

        facts = model_facts(spec.name)
        record |= {
            "parameters": facts.parameters,
            "keys": facts.state_keys,
            "gmacs": facts.gmacs,
        }
    return record


def _weights(spec: ModelSpec) -> str:
    """What --checkpoint can be beside a file."""
    from ...checkpoints.bundled import ZOO

    placed = [name for name in ZOO if name.split("[")[0] == spec.name.split("[")[0]]
    if spec.name in ZOO:
        others = "".join(f", {name[len(spec.name) :]}" for name in placed if name != spec.name)
        return f"bundled{others}"
    return "pretrained" if spec.timm_name else ""


def _counted(specs: list[ModelSpec]) -> Table:
    from rich.table import Column, Table

    from ...models.facts import model_facts

    table = Table(
        Column("model", no_wrap=True),
        "family",
        *(Column(name, justify="right") for name in ("parameters", "keys", "GMACs")),
        caption="GMACs: multiply-adds of one image at native size, in 10^9",
    )
    for spec in specs:
        facts = model_facts(spec.name)
        counts = (f"{facts.parameters:,}", str(facts.state_keys), f"{facts.gmacs:.4g}")
        table.add_row(spec.name, spec.family, *counts)
    return table
