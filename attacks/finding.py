"""From a name on the command line to an attack."""

from .table import ATTACKS, AttackSpec


def find_attack(name: str) -> AttackSpec:
    """The attack of this name.

    Raises:
        UserError: no attack has it; the message names near ones.
    """
    return ATTACKS[name]
