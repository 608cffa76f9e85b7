"""From a name on the command line to an attack."""

from collections.abc import Callable
from functools import partial

from robustbench_twicing.classifiers.user_code import is_user_code
from robustbench_twicing.conditions.condition import CLEAN
from robustbench_twicing.data.imagenet_c import id_meant
from robustbench_twicing.errors import UserError
from robustbench_twicing.registry import Registry, in_any_case

from .spec import ATTACKS, AttackSpec


def attack_name(name: str) -> str:
    """A name as condition ids have it, in whatever case it is given: ``PGD`` is ``pgd``.

    Args:
        name: as `find_attack` takes it, or ``clean``; a user's function stays as it is.
    """
    from .libraries import FOOLBOX, PRESETS, TORCHATTACKS

    library, colon, kind = name.partition(":")
    if not colon:
        return in_any_case(name, (CLEAN, *ATTACKS, *PRESETS))
    listed = {"torchattacks": TORCHATTACKS, "foolbox": FOOLBOX}
    library = in_any_case(library, listed)
    return f"{library}:{in_any_case(kind, listed[library])}" if library in listed else name


def find_attack(name: str, *, needs_budget: bool = False) -> AttackSpec:
    """An own attack, a preset (``autoattack``, ``apgd``), a library's, or a user's function.

    Args:
        name: ``pgd``, ``autoattack``, ``torchattacks:NAME``, ``foolbox:NAME``,
            ``path/file.py:function`` or ``module:function``. But for the last two in any case.
        needs_budget: whether a message leaves out attacks that have none.

    Raises:
        UserError: no attack has this name; the message names near ones, or the id of a corruption.
    """
    from .libraries import (
        PRESETS,
        foolbox_attack,
        own_attack,
        torchattacks_attack,
    )

    name = attack_name(name)
    library, _, kind = name.partition(":")
    if library == "torchattacks":
        return torchattacks_attack(kind)
    if library == "foolbox":
        return foolbox_attack(kind)
    if is_user_code(name):
        return own_attack(name)
    if name not in ATTACKS and (meant := id_meant(name)):
        raise UserError(f"{name!r} is a corruption, not an attack; write it like {meant}")
    known: Registry[Callable[[], AttackSpec]] = Registry("attack")
    for declared, spec in ATTACKS.items():
        if needs_budget and spec.about.finds_radius and declared != name:
            continue
        known[declared] = partial(ATTACKS.__getitem__, declared)
    known.update(PRESETS)
    return known[name]()
