"""From a name on the command line to an attack."""

from robustbench_twicing.user_code import is_user_code

from .spec import AttackSpec
from .table import ATTACKS


def find_attack(name: str) -> AttackSpec:
    """An own attack, ``autoattack``, ``torchattacks:NAME``, ``foolbox:NAME``, or a user's function.

    Raises:
        UserError: no attack has this name; the message names near ones.
    """
    from .libraries import AUTOATTACK, foolbox_attack, own_attack, torchattacks_attack

    library, _, kind = name.partition(":")
    if name == AUTOATTACK:
        return torchattacks_attack("AutoAttack", alias=AUTOATTACK)
    if library == "torchattacks":
        return torchattacks_attack(kind)
    if library == "foolbox":
        return foolbox_attack(kind)
    if is_user_code(name):
        return own_attack(name)
    return ATTACKS[name]
