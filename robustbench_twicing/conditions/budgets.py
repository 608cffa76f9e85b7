"""Budgets as exact fractions, so that 4/255 and 8/510 are one condition."""

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from ..errors import UserError

LARGEST_PLAIN_NUMBER = Fraction(1, 5)
"""A budget without "/255" above this is almost surely meant in 255ths (4 for 4/255)."""
SLIP = re.compile(r"\d55|2\d5|25\d|525|552|25|55|2255|2555")
"""255 with a digit changed, missing, doubled or exchanged: 4/256 is almost surely 4/255."""
Norm = Literal["linf", "l2", "patch"]
"""Of a change: its largest entry, its Euclidean length, the side of the square that holds it."""
PREFIXES: Mapping[Norm, str] = {"l2": "l2:", "patch": "patch:"}
"""Before a budget in the name of a condition: ``pgd@l2:0.5``, ``patch@patch:32``."""
EXAMPLES: Mapping[Norm, str] = {"linf": "4/255", "l2": "0.5", "patch": "32"}
LARGEST_MISTAKEN = Fraction(1, 20)
"""An L2 budget in 255ths below this is almost surely meant for L-infinity (torchattacks#142)."""
LARGEST_SWEEP = 1000
LONGEST_TEXT = 1000
"""Characters of one budget; Python does not print numbers of more than 4300 digits."""
_PREFIX = re.compile("|".join(PREFIXES.values()))
_NUMBER = re.compile(r"\d+(\.\d*)?([eE]-?\d{1,2})?|\.\d+([eE]-?\d{1,2})?")


def parse_budget(text: str, norm: Norm = "linf") -> Fraction:
    """Read one budget: ``4/255``, ``0.5/255``, ``0``, ``0.0157``; of L2 ``0.5``, ``128/255``.

    Args:
        text: as typed; it may begin with the norm's prefix, as in the name of a condition.
        norm: that the budget is of.

    Returns:
        Of L-infinity and L2 in pixels in [0, 1]; of a patch its side in pixels.

    Raises:
        UserError: not a number, negative, or of another norm; of L-infinity above 1, a plain number
            above 0.2, or a denominator that is nearly 255; of L2 a number of 255ths that is meant
            for L-infinity; of a patch no whole number.
    """
    if len(text) > LONGEST_TEXT:
        raise UserError(f"budget {text[:20]!r}... has {len(text)} characters; write it like 4/255")
    for other, prefix in PREFIXES.items():
        if other != norm and text.strip().startswith(prefix):
            raise UserError(
                f"budget {text!r} is one of protocol {other}; give --protocol {other}, or write "
                f"it like {EXAMPLES[norm]}"
            )
    if norm == "patch":
        return _parse_side(text)
    return _parse_l2(text) if norm == "l2" else _parse_linf(text)


def _parse_linf(text: str) -> Fraction:
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
    else:
        _check_plain(text, value)
    if value > 1:
        raise UserError(f"budget {text!r} is larger than the whole pixel range [0, 1]")
    return value


def _check_plain(text: str, value: Fraction) -> None:
    """Of a number without "/255"."""
    meant = f"{text.strip()}/255"
    if value > 1:
        raise UserError(f"budget {text!r} is above 1, the whole pixel range; write {meant}")
    if value > LARGEST_PLAIN_NUMBER:
        in_255ths = format_budget(value)
        raise UserError(
            f"budget {text!r} of the pixel range is {in_255ths}; write {in_255ths} if you mean it, "
            f"or {meant}"
        )


def _parse_l2(text: str) -> Fraction:
    numerator, slash, denominator = text.strip().removeprefix(PREFIXES["l2"]).partition("/")
    value = _number(numerator, text)
    if not slash:
        return value
    divisor = _number(denominator, text)
    if divisor == 0:
        raise UserError(f"budget {text!r} divides by zero; write it like 0.5")
    value /= divisor
    if divisor == 255 and 0 < value < LARGEST_MISTAKEN:
        raise UserError(
            f"budget {text!r} is the length of the whole change, {float(value):.3g}; was "
            f"L-infinity meant (--protocol pixel)? Else write {float(value):.6g}"
        )
    return value


def _parse_side(text: str) -> Fraction:
    side = text.strip().removeprefix(PREFIXES["patch"])
    if not re.fullmatch("[0-9]{1,5}", side):
        meant = "; was L-infinity meant (--protocol pixel)?" if "/" in side else ""
        raise UserError(f"budget {text!r} is no side of a patch in whole pixels, like 32{meant}")
    return Fraction(side)


def parse_budgets(text: str, norm: Norm = "linf") -> tuple[Fraction, ...]:
    """Read a comma list ``1/255,4/255`` or an inclusive range ``start:stop:step``.

    Args:
        text: as typed.
        norm: that the budgets are of.

    Returns:
        Budgets in the order given, without repeats (4/255 and 8/510 are one).

    Raises:
        UserError: an empty list, a bad number, or a range that does not move forward.
    """
    budgets: dict[Fraction, None] = {}
    for item in text.split(","):
        if not item.strip():
            raise UserError(f"--eps {text!r} has an empty entry; write it like 1/255,4/255")
        is_range = ":" in _PREFIX.sub("", item)
        for budget in _range(item, norm) if is_range else [parse_budget(item, norm)]:
            budgets[budget] = None
    return tuple(budgets)


def format_budget(budget: Fraction, norm: Norm = "linf") -> str:
    """Write a budget as papers do: ``4/255``, ``l2:0.5``, ``patch:32``; exact: it can be read back.

    But for 4/225 and its like, which `parse_budget` reads as 8/450.
    """
    if norm != "linf":
        return f"{PREFIXES[norm]}{_decimal(budget) or budget}"
    count = _decimal(budget * 255)
    return f"{count}/255" if count else f"{budget.numerator}/{budget.denominator}"


def _decimal(number: Fraction) -> str:
    """As a finite decimal of reasonable length; empty where it is none."""
    if _terminates(number.denominator):
        decimal = Decimal(number.numerator) / Decimal(number.denominator)
        if Fraction(decimal) == number:
            return f"{decimal.normalize():f}"
    return ""


def _range(item: str, norm: Norm) -> list[Fraction]:
    parts = item.split(":")
    if len(parts) != 3:
        raise UserError(f"range {item!r} is not start:stop:step; write it like 0:8/255:1/255")
    start, stop, step = (parse_budget(part, norm) for part in parts)
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
        raise UserError(f"budget {whole!r} is not a number, 0 or more; write it like 4/255")
    return Fraction(Decimal(text.strip()))


def _terminates(denominator: int) -> bool:
    """Whether a fraction with this denominator is a finite decimal of reasonable length."""
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1
