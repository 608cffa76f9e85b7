"""attacks: what can be run, with norm, knowledge, source and constants."""

from typing import TYPE_CHECKING, Annotated

import typer

from ...data.imagenet_c import GROUPS
from ..options.printed import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attacks import AttackSpec
    from attacks.corruptions import CorruptionSpec

    from ..terminal import Console


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("attacks", help="List the attacks with their constants and papers.")(run)


def run(
    library: Annotated[
        bool, typer.Option("--library", help="Also those of torchattacks and foolbox.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the attacks."""
    from attacks import ATTACKS, find_attack
    from attacks.corruptions import CORRUPTIONS
    from attacks.libraries import FOOLBOX, PRESETS, TORCHATTACKS

    from ..terminal import Console, print_records

    specs = sorted(ATTACKS.values(), key=lambda spec: (spec.about.control, spec.name))
    if library:
        specs += [find_attack(name) for name in PRESETS]
        specs += [find_attack(f"torchattacks:{name}") for name in TORCHATTACKS]
        specs += [find_attack(f"foolbox:{name}") for name in FOOLBOX]
    if json:
        corruptions = [
            {"corruption": spec.name, "group": spec.group} for spec in CORRUPTIONS.values()
        ]
        print_records([*map(_record, specs), *corruptions])
        return
    console = Console()
    for spec in specs:
        _show(spec, console)
    for group, names in _by_group(CORRUPTIONS).items():
        line = f"[bold]corruptions[/bold], {group}: {', '.join(names)}"
        console.print(line, highlight=False, soft_wrap=True)
    if not library:
        console.print(
            f"Also {', '.join(PRESETS)}, torchattacks:NAME ({len(TORCHATTACKS)}), foolbox:NAME "
            f"({len(FOOLBOX)}): --library lists them. Your own: path/file.py:function.",
            highlight=False,
        )


def _by_group(corruptions: "Mapping[str, CorruptionSpec]") -> dict[str, list[str]]:
    """Names by group: ImageNet-C's in its own order, then those of others."""
    ordered = [name for name in GROUPS["all"] if name in corruptions]
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys([*ordered, *corruptions]):
        groups.setdefault(corruptions[name].group, []).append(name)
    return groups


def _record(spec: "AttackSpec") -> dict[str, object]:
    return {
        "attack": spec.name,
        "norms": spec.norms,
        "protocols": list(spec.protocols),
        "knowledge": spec.knowledge,
        "source": spec.source,
        "constants": dict(spec.settings),
        "under": {protocol: dict(settings) for protocol, settings in spec.under.items()},
    }


def _show(spec: "AttackSpec", console: "Console") -> None:
    constants = ", ".join(f"{name} {value}" for name, value in spec.settings.items())
    knows = f"{spec.norms}; knowledge: {spec.knowledge}"
    console.print(f"[bold]{spec.name}[/bold]: {knows}", highlight=False)
    console.print(f"    {constants or 'no constants'}", highlight=False, soft_wrap=True)
    console.print(f"    {spec.source}", highlight=False, soft_wrap=True)
    for protocol, settings in spec.under.items():
        changed = ", ".join(f"{name} {value}" for name, value in settings.items())
        console.print(f"    under protocol {protocol}: {changed}", highlight=False)
