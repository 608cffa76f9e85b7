"""Constants of attacks: from --set and the options short for it, of the kind that they have."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attacks import ATTACKS, AttackSpec, attack_name, find_attack

from ...conditions.condition import Condition
from ...conditions.suites import SuiteItem
from ...errors import UserError
from ..options.evaluation import EvalOptions

Overrides = Mapping[str, Mapping[str, Any]]
"""Values by attack and constant."""


def parse_overrides(options: EvalOptions) -> dict[str, dict[str, Any]]:
    """Constants by attack, from --set ATTACK.NAME=VALUE and the options with names of their own.

    Args:
        options: as typed.

    Raises:
        UserError: an unknown attack or constant, or a value of another kind.
    """
    texts = list(options.set)
    texts += [
        f"{spec.name}.{constant}={value}"
        for spec in ATTACKS.values()
        for constant, option in spec.shorts.items()
        if (value := getattr(options, option)) is not None
    ]
    overrides: dict[str, dict[str, Any]] = {}
    for text in texts:
        left, equals, value = text.partition("=")
        attack, dot, name = left.rpartition(".")
        if not (equals and dot):
            raise UserError(f"--set {text!r} is not ATTACK.CONSTANT=VALUE, like pgd.steps=40")
        attack = attack_name(attack)
        overrides.setdefault(attack, {})[name] = parse_constant(find_attack(attack), name, value)
    return overrides


def check_used(overrides: Overrides, items: Sequence[SuiteItem]) -> None:
    """Refuse constants of attacks that are not asked for.

    Args:
        overrides: constants by attack.
        items: of the suite, as they are asked for.

    Raises:
        UserError: the first of them.
    """
    used = {item.attack for item in items}
    for attack in overrides:
        if attack not in used:
            raise UserError(f"a constant of {attack} is set, but {attack} is not among the attacks")


def check_expectation(draws: int, attacks: Iterable[str]) -> None:
    """Refuse --expectation where it is no number of draws, or changes nothing.

    Args:
        draws: whose gradients are averaged.
        attacks: names of those that are asked for.

    Raises:
        UserError: it is below 1, or no attack of this suite follows gradients.
    """
    if draws < 1:
        raise UserError(f"--expectation {draws} is not a positive number of draws")
    following = [name for name, spec in ATTACKS.items() if spec.white_box]
    if draws > 1 and not set(following).intersection(attacks):
        raise UserError(
            f"--expectation {draws}: no attack that is asked for takes the mean of gradients; "
            f"those that do are {', '.join(following)}"
        )


def averaged(conditions: Sequence[Condition], draws: int) -> list[Condition]:
    """The conditions, those of attacks that follow gradients with the mean of several draws."""
    return [
        condition.averaging(draws) if draws > 1 and suite_attack(condition) else condition
        for condition in conditions
    ]


def suite_attack(condition: Condition) -> str:
    """The attack that asks this suite for gradients; empty for all else, like other libraries'."""
    attacks = (spec for spec in ATTACKS.values() if spec.white_box)
    return next((spec.name for spec in attacks if spec.sweep is condition.sweep), "")


def parse_constant(spec: AttackSpec, name: str, text: str) -> Any:
    """A constant's value, of the kind that the protocol's own value has.

    Args:
        spec: the attack.
        name: of the constant.
        text: its value, as typed.

    Raises:
        UserError: the attack has no such constant, or the value is of another kind or too small.
    """
    if name not in spec.settings:
        known = ", ".join(spec.settings) or "none"
        raise UserError(f"attack {spec.name} has no constant {name!r}; it has: {known}")
    default = spec.settings[name]
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise UserError(f"{spec.name}.{name}={text} is not true or false")
        return text.lower() == "true"
    if isinstance(default, str):
        if text not in spec.choices.get(name, (text,)):
            raise UserError(f"{spec.name}.{name}={text} is not {' or '.join(spec.choices[name])}")
        return text
    try:
        value = type(default)(text)
    except ValueError:
        kind = "a whole number" if isinstance(default, int) else "a number"
        raise UserError(f"{spec.name}.{name}={text} is not {kind}, like {default}") from None
    least = min(1 if isinstance(default, int) else 0, default)
    if not least <= value < float("inf"):
        raise UserError(f"{spec.name}.{name}={text} is not a finite number of at least {least}")
    return value
