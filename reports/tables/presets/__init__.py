"""Tables by name: a preset is one function with `preset` above it, in a module of its name here.

A module anywhere else declares one, too, once it is imported. Nothing here needs pandas, so that
the command line's help can name them all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple

from robustbench_twicing.files.source_code import is_same_place
from robustbench_twicing.registry import unknown

if TYPE_CHECKING:
    import pandas as pd

    from ...merging.runs import Runs
    from ..table import Table


class Choices(NamedTuple):
    """What may be chosen in a preset.

    Attributes:
        budgets: of attacks, in place of the paper's, for presets that show one budget of each.
        scores: `corruption_scores` of the results, in units of AlexNet unless given.
    """

    budgets: Mapping[str, Fraction] = {}
    scores: "pd.DataFrame | None" = None


MakeTables = Callable[["Runs", "pd.DataFrame", Choices], "Iterator[Table]"]


class Preset(NamedTuple):
    """A declared preset.

    Attributes:
        make: makes its tables from merged runs and some rows of their `results`.
        by: columns of results.csv that all numbers of one table have in common.
        has_budgets: whether it shows one budget of each attack, which ``--eps`` chooses.
        on_page: whether the page shows it.
    """

    make: MakeTables
    by: Sequence[str]
    has_budgets: bool
    on_page: bool


PRESETS: dict[str, Preset] = {}
"""Those declared so far; `all_presets` loads the ones of this folder."""


def preset(
    name: str,
    *,
    by: Sequence[str] = ("dataset", "protocol"),
    has_budgets: bool = False,
    on_page: bool = False,
) -> Callable[[MakeTables], MakeTables]:
    """Declare a function as the preset of this name; see `Preset`.

    Raises:
        ValueError: another function is declared under this name.
    """

    def declare(make: MakeTables) -> MakeTables:
        if name in PRESETS and not is_same_place(PRESETS[name].make, make):
            raise ValueError(f"preset {name!r} is declared twice; give one of them another name")
        PRESETS[name] = Preset(make, by, has_budgets, on_page)
        return make

    return declare


def preset_names() -> list[str]:
    """Names of all presets, without loading those of this folder."""
    return sorted({module.name for module in iter_modules(__path__)} | set(PRESETS))


def all_presets() -> dict[str, Preset]:
    """By name, in the order of `preset_names`."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
        if module.name not in PRESETS:
            raise ValueError(f"{module.name}.py of {__name__} declares no @preset({module.name!r})")
    return {name: PRESETS[name] for name in preset_names()}


def preset_tables(
    name: str, runs: "Runs", results: "pd.DataFrame", choices: Choices | None = None
) -> "list[Table]":
    """The tables of a preset, one or several for each group of rows; none that are empty.

    Args:
        name: of `all_presets`.
        runs: merged runs.
        results: their `results`.
        choices: see `Choices`.

    Raises:
        UserError: an unknown name, or a column would mix what cannot be compared.
    """
    presets = all_presets()
    if name not in presets:
        raise unknown("--preset", name, presets)
    groups = results.groupby(list(presets[name].by), sort=False, observed=True)
    tables = [
        table
        for _, rows in groups
        for table in presets[name].make(runs, rows, choices or Choices())
    ]
    return [table for table in tables if len(table.frame) and any(table.about["dataset"])]
