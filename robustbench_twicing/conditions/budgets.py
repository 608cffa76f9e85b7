"""L-infinity budgets as exact fractions, so that 4/255 and 8/510 are one condition."""

import re
from decimal import Decimal
from fractions import Fraction

from ..errors import UserError

LARGEST_PLAIN_NUMBER = Fraction(1, 5)
"""A budget without "/255" above this is almost surely meant in 255ths (4 for 4/255)."""
SLIP = re.compile(r"\d55|2\d5|25\d|525|552|25|55|2255|2555")
"""255 with a digit changed, missing, doubled or exchanged: 4/256 is almost surely 4/255."""
LARGEST_SWEEP = 1000
LONGEST_TEXT = 1000
"""Characters of one budget; Python does not print numbers of more than 4300 digits."""
_NUMBER = re.compile(r"\d+(\.\d*)?([eE]-?\d{1,2})?|\.\d+([eE]-?\d{1,2})?")


def parse_budget(text: str) -> Fraction:
    """Read one budget: ``4/255``, ``0.5/255``, ``0``, ``0.0157``.

    Raises:
        UserError: not a number, negative, above 1, a plain number above 0.2, or a denominator that
            is nearly 255.
    """
    if len(text) > LONGEST_TEXT:
        raise UserError(f"budget {text[:20]!r}... has {len(text)} characters; write it like 4/255")
    numerator, slash, denominator = text.strip().partition("/")
    value = _number(numerator, text)
    if slash:
        divisor = _number(denominator, text)
        if divisor == 0:
            raise UserError(f"budget {text!r} divides by zero; write it like 4/255")
        value /= divisor
        if value and divisor != 255 and SLIP.fullmatch(denominator.strip()):
            count = numerator.strip()
            raise UserError(
                f"budget {text!r} is {float(value * 255):.4g}/255; write {count}/255, or "
                f"{2 * Decimal(count)}/{2 * divisor} if you mean it"
            )
    elif value > LARGEST_PLAIN_NUMBER:
        meant = f"{text.strip()}/255"
        if value > 1:
            raise UserError(f"budget {text!r} is above 1, the whole pixel range; write {meant}")
        in_255ths = format_budget(value)
        raise UserError(
            f"budget {text!r} of the pixel range is {in_255ths}; write {in_255ths} if you mean it, "
            f"or {meant}"
        )
    if value > 1:
        raise UserError(f"budget {text!r} is larger than the whole pixel range [0, 1]")
    return value


def parse_budgets(text: str) -> tuple[Fraction, ...]:
    """Read a comma list ``1/255,4/255`` or an inclusive range ``start:stop:step``.

    Returns:
        Budgets in the order given, without repeats (4/255 and 8/510 are one).

    Raises:
        UserError: an empty list, a bad number, or a range that does not move forward.
    """
    budgets: dict[Fraction, None] = {}
    for item in text.split(","):
        if not item.strip():
            raise UserError(f"--eps {text!r} has an empty entry; write it like 1/255,4/255")
        for budget in _range(item) if ":" in item else [parse_budget(item)]:
            budgets[budget] = None
    return tuple(budgets)


def format_budget(budget: Fraction) -> str:
    """Write a budget as papers do: ``4/255``, ``0.5/255``; exact, so it can be read back.

    But for 4/225 and its like, which `parse_budget` reads as 8/450.
    """
    count = budget * 255
    if _terminates(count.denominator):
        decimal = Decimal(count.numerator) / Decimal(count.denominator)
        if Fraction(decimal) == count:
            return f"{decimal.normalize():f}/255"
    return f"{budget.numerator}/{budget.denominator}"


def _range(item: str) -> list[Fraction]:
    parts = item.split(":")
    if len(parts) != 3:
        raise UserError(f"range {item!r} is not start:stop:step; write it like 0:8/255:1/255")
    start, stop, step = (parse_budget(part) for part in parts)
    if step == 0 or stop < start:
        raise UserError(
            f"range {item!r} has no budgets: its step must be above 0 and its stop not below its "
            "start; write it like 0:8/255:1/255"
        )
    count = (stop - start) // step + 1
    if count > LARGEST_SWEEP:
        raise UserError(f"range {item!r} has {count} budgets; at most {LARGEST_SWEEP} are allowed")
    return [start + index * step for index in range(count)]


def _number(text: str, whole: str) -> Fraction:
    if not _NUMBER.fullmatch(text.strip()):
        raise UserError(f"budget {whole!r} is not a number from 0 to 1; write it like 4/255")
    return Fraction(Decimal(text.strip()))


def _terminates(denominator: int) -> bool:
    """Whether a fraction with this denominator is a finite decimal of reasonable length."""
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1
