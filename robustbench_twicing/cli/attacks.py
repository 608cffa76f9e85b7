"""attacks: what can be run, with norm, knowledge, source and constants."""

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("attacks", help="List the attacks with their constants and papers.")(run)


def run() -> None:
    """Print the table of attacks."""
    from rich.console import Console
    from rich.table import Table

    from attacks import ATTACKS

    table = Table("attack", "norm", "knowledge", "constants", "source")
    for spec in ATTACKS.values():
        constants = ", ".join(f"{name} {value}" for name, value in spec.settings.items())
        table.add_row(spec.name, spec.norm, spec.knowledge, constants, spec.source)
    Console().print(table)
