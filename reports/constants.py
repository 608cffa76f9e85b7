"""The constants of an attack that are not the protocol's, from the flags of its row."""

import re

PROTOCOLS_OWN = "the protocol's constants"
_CONSTANT = re.compile(r"\w+=.+|attack-in-.+")


def constants_in(flags: str) -> str:
    """``steps=5, random_start=False``, or in words that there are none.

    Numbers of other constants or number formats are of another attack under the same name.
    """
    found = [flag for flag in flags.split(";") if _CONSTANT.fullmatch(flag)]
    return ", ".join(found) or PROTOCOLS_OWN
