"""From --suite, --attacks, --eps, --protocol and --set to conditions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...data.imagenet_c import is_imagenet_c
from ...errors import UserError
from .corruptions import corrupted_conditions, named_item, with_corruptions
from .options import EvalOptions

if TYPE_CHECKING:
    from attacks import AttackSpec

    from ...conditions.condition import Condition
    from ...conditions.suites import Suite, SuiteItem

DEFAULT, CORRUPTIONS = "quick", "corruptions"
"""The suite where none is named; and where --corruptions is."""

Overrides = Mapping[str, Mapping[str, Any]]


class SuiteData(NamedTuple):
    """The data sets that a suite is about.

    Attributes:
        suite: its name.
        clean: whether it does anything with the clean data set.
        shifted: names of the others, in order.
        corrupted: whether it has corruptions of the clean data set.
    """

    suite: str
    clean: bool
    shifted: tuple[str, ...]
    corrupted: bool


def suite_data(options: EvalOptions) -> SuiteData:
    """Which data sets the suite and what the command line puts in its place are about.

    Raises:
        UserError: as `make_conditions`.
    """
    suite = _suite(options)
    items = _items(suite, options)
    return SuiteData(
        _suite_name(options),
        any(item.dataset is None for item in suite.conditions),
        tuple(dict.fromkeys(item.dataset for item in suite.conditions if item.dataset)),
        any(item.corruption for item in items),
    )


def make_conditions(options: EvalOptions, dataset: str | None = None) -> "list[Condition]":
    """The suite's conditions on a data set, with what the command line puts in their place.

    Args:
        options: as typed.
        dataset: name of a shifted one; None for the clean one. Attacks that the command line names
            are for all data sets, corruptions for the clean one alone.

    Raises:
        UserError: an unknown suite, attack, budget, protocol or constant, or a condition twice.
    """
    from ...conditions.threat_model import PROTOCOLS

    suite = _suite(options)
    _check_data_only(suite, _suite_name(options))
    if options.protocol is not None:
        PROTOCOLS[options.protocol]  # explains an unknown name
    items = _items(suite, options)
    _check_protocol(suite, _suite_name(options), items, options)
    overrides = parse_overrides(options)
    _check_used(overrides, items)
    protocol = options.protocol or suite.protocol
    named = options.attacks is not None
    chosen = [item for item in items if _is_on(item, dataset, named=named)]
    try:
        conditions = [
            condition
            for item in chosen
            for condition in _of_item(item, protocol, overrides, options)
        ]
        _check_once(conditions)
    except UserError as error:
        raise error if named else UserError(f"suite {_suite_name(options)}: {error}") from error
    return conditions


def _check_once(conditions: "Sequence[Condition]") -> None:
    counts = Counter(condition.key for condition in conditions)
    for condition in conditions:
        if counts[condition.key] > 1:
            raise UserError(f"condition {condition.id} is asked for twice; name it once")


def _suite_name(options: EvalOptions) -> str:
    return options.suite or (DEFAULT if options.corruptions is None else CORRUPTIONS)


def _suite(options: EvalOptions) -> "Suite":
    from ...conditions.suites import load_suite

    return load_suite(_suite_name(options))


def _is_on(item: "SuiteItem", dataset: str | None, *, named: bool) -> bool:
    return item.dataset == dataset or (named and not item.corruption)


def _items(suite: "Suite", options: EvalOptions) -> "Sequence[SuiteItem]":
    """The suite's items, with other attacks or budgets where the command line names them."""
    from ...conditions.budgets import parse_budgets
    from ...conditions.condition import CLEAN
    from ...conditions.suites import SuiteItem

    budgets = None if options.eps is None else parse_budgets(options.eps)
    if options.attacks is None:
        items = list(suite.conditions)
    else:
        names = [name.strip() for name in options.attacks.split(",")]
        own = dict.fromkeys(item.protocol for item in suite.conditions)
        protocols = list(own) if options.protocol is None else [None]
        items = [
            SuiteItem(
                attack=name, eps=() if name == CLEAN else suite.budgets(name), protocol=protocol
            )
            for protocol in protocols
            for name in names
            if not is_imagenet_c(name)
        ]
        items += [named_item(name) for name in names if is_imagenet_c(name)]
    items = [
        item
        if item.corruption or item.attack == CLEAN or budgets is None
        else item.model_copy(update={"eps": budgets})
        for item in items
    ]
    return with_corruptions(items, options)


def _check_data_only(suite: "Suite", name: str) -> None:
    """A suite file is data: code runs only where the command line names it."""
    for item in suite.conditions:
        library, colon, _ = (item.attack or "").partition(":")
        if colon and library not in ("torchattacks", "foolbox"):
            raise UserError(
                f"suite {name} names code, {item.attack}; name it with --attacks, since a suite "
                "file never runs code"
            )


def _check_protocol(
    suite: "Suite", name: str, items: "Sequence[SuiteItem]", options: EvalOptions
) -> None:
    """--protocol replaces what a suite does not insist on: paper, or a condition's own."""
    fixed = {item.protocol for item in items if item.protocol is not None}
    if suite.protocol == "paper":
        fixed.add("paper")
    for protocol in sorted(fixed):
        if options.protocol not in (None, protocol):
            raise UserError(
                f"--suite {name} is protocol {protocol}, --protocol says "
                f"{options.protocol}; name another suite, or leave --protocol out"
            )


def _of_item(
    item: "SuiteItem", protocol: str, overrides: Overrides, options: EvalOptions
) -> "list[Condition]":
    from ...conditions.condition import CLEAN, clean

    protocol = item.protocol or protocol
    if item.corruption:
        return corrupted_conditions(item, protocol, options)
    if item.attack == CLEAN:
        return [clean(protocol)]
    name = item.attack or ""
    spec = _spec(name)
    own = {key: _typed(spec, key, str(value)) for key, value in item.settings.items()}
    settings = {**own, **overrides.get(name, {})}
    if not item.eps:
        raise UserError(f"attack {name} has no budget; give --eps, like 1/255,4/255")
    return [spec.condition(eps, protocol, settings) for eps in item.eps]


def parse_overrides(options: EvalOptions) -> dict[str, dict[str, Any]]:
    """Constants by attack, from --set ATTACK.NAME=VALUE and the options with names of their own.

    Raises:
        UserError: an unknown attack or constant, or a value of another kind.
    """
    texts = list(options.set)
    short = {
        "pgd.restarts": options.restarts,
        "spsa.steps": options.spsa_steps,
        "spsa.samples": options.spsa_samples,
    }
    texts += [f"{name}={value}" for name, value in short.items() if value is not None]
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        left, equals, value = text.partition("=")
        attack, dot, name = left.rpartition(".")
        if not (equals and dot):
            raise UserError(f"--set {text!r} is not ATTACK.CONSTANT=VALUE, like pgd.steps=40")
        found.setdefault(attack, {})[name] = _typed(_spec(attack), name, value)
    return found


def _check_used(overrides: Overrides, items: "Sequence[SuiteItem]") -> None:
    used = {item.attack for item in items}
    for attack in overrides:
        if attack not in used:
            raise UserError(f"a constant of {attack} is set, but {attack} is not among the attacks")


def _spec(name: str) -> "AttackSpec":
    from attacks import find_attack

    return find_attack(name)


def _typed(spec: "AttackSpec", name: str, text: str) -> Any:
    """A constant's value, of the kind that the protocol's own value has."""
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
        raise UserError(f"{spec.name}.{name}={text} is too small, or not finite")
    return value
