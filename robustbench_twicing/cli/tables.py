"""From report's options to tables."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from reports.tables.beside import beside_published
from reports.tables.efficiency import efficiency_beside_published, efficiency_tables
from reports.tables.marks import MARKINGS, mark
from reports.tables.pivot import pivot_tables
from reports.tables.presets import Choices, all_presets, preset_tables
from reports.tables.presets.table1 import PAPER_BUDGETS
from reports.tables.table import Table

from ..conditions.budgets import parse_budget
from ..errors import UserError
from ..registry import in_any_case, unknown
from .run_folders import Results

EFFICIENCY = "efficiency"
"""The preset whose numbers are not from run folders."""


class TableOptions(NamedTuple):
    """What report is asked to show, as typed.

    Attributes:
        preset: name of a preset; None for a free table, or for all results.
        rows: columns of results.csv, separated by commas; empty: no free table.
        columns: the same.
        values: the same.
        eps: budgets, like ``1/255`` or ``spsa=0.5/255``.
        mark: what is marked.
        published: whether published numbers stand beside ours.
    """

    preset: str | None = None
    rows: str = ""
    columns: str = ""
    values: str = ""
    eps: Sequence[str] = ()
    mark: str = "best"
    published: bool = False

    @property
    def free(self) -> bool:
        """Whether a free table is asked for."""
        return bool(self.rows or self.columns or self.values)

    @property
    def named(self) -> bool:
        """Whether anything but all results is asked for."""
        return self.free or self.preset is not None or self.published


def check_options(options: TableOptions) -> None:
    """Refuse what contradicts itself, before anything is read.

    Raises:
        UserError: unknown names, or options that do nothing together.
    """
    presets = all_presets()
    known = (*presets, EFFICIENCY)
    if options.preset is not None and options.preset not in known:
        raise unknown("--preset", options.preset, known)
    if options.preset is not None and options.free:
        raise UserError("--preset is a whole table; leave out --rows, --columns and --values")
    if options.mark not in MARKINGS:
        raise unknown("--mark", options.mark, MARKINGS)
    with_budgets = [name for name, preset in presets.items() if preset.has_budgets]
    if options.eps and options.preset not in with_budgets:
        names = " or ".join(with_budgets)
        raise UserError(f"--eps chooses the budgets of --preset {names}; leave it out")
    if options.preset == EFFICIENCY and options.mark == "significant":
        raise UserError("--mark significant needs records per image; efficiency has none")
    parse_budgets_of(options.eps)


def parse_budgets_of(texts: Sequence[str]) -> dict[str, Fraction]:
    """Budgets by attack: those of the paper, with others in their place.

    Args:
        texts: ``1/255`` for FGSM and PGD, ``spsa=0.5/255`` for one attack.

    Raises:
        UserError: not a budget, or an attack that the table has not.
    """
    budgets = dict(PAPER_BUDGETS)
    alike = [name for name, budget in budgets.items() if budget == PAPER_BUDGETS["pgd"]]
    for text in texts:
        attack, equals, budget = text.rpartition("=")
        attack = in_any_case(attack, budgets)
        if equals and attack not in budgets:
            raise UserError(f"--eps {text}: the table has {', '.join(budgets)}, not {attack!r}")
        for name in [attack] if equals else alike:
            budgets[name] = parse_budget(budget)
    return budgets


def make_tables(results: Results, options: TableOptions) -> list[Table]:
    """The tables that are asked for, marked, with the published numbers where they are wanted.

    Args:
        results: what the runs came to.
        options: what is asked for.

    Raises:
        UserError: nothing of what is asked for is there, or a cell or column would mix numbers.
    """
    runs, table, scores = results
    if options.free:
        names = {name: getattr(options, name) for name in ("rows", "columns", "values")}
        lists = {
            name: [part.strip() for part in text.split(",") if part.strip()]
            for name, text in names.items()
        }
        tables = pivot_tables(runs, table, **lists)
    else:
        choices = Choices(parse_budgets_of(options.eps), scores)
        tables = preset_tables(options.preset or "results", runs, table, choices)
    if not tables:
        raise UserError(
            f"these runs have nothing for --preset {options.preset}; their conditions are "
            f"{', '.join(dict.fromkeys(table['condition']))}"
        )
    marking = next(marking for marking in MARKINGS if marking == options.mark)
    made = []
    for one in tables:
        made.append(mark(one, marking, runs))
        beside = beside_published(one, runs, table) if options.published else None
        made += [] if beside is None else [beside]
    return made


def make_efficiency_tables(paths: Sequence[Path], options: TableOptions) -> list[Table]:
    """The tables of the command efficiency.

    Raises:
        UserError: no such file, or not of that command.
    """
    made = []
    for table in efficiency_tables(paths):
        made.append(mark(table, "none" if options.mark == "none" else "best"))
        beside = efficiency_beside_published(table) if options.published else None
        made += [] if beside is None else [beside]
    return made
