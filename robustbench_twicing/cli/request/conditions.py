"""From --suite, --attacks, --eps, --protocol and --set to conditions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from attacks import ATTACKS, attack_name, find_attack

from ...conditions.budgets import parse_budgets
from ...conditions.condition import CLEAN, Condition, clean
from ...conditions.suites import Suite, SuiteItem, load_suite
from ...conditions.threat_model import NORM_NAMES, PROTOCOLS, norm_of
from ...data.imagenet_c import is_corruption
from ...errors import UserError
from ...registry import unknown
from ..options.evaluation import EvalOptions
from .constants import (
    Overrides,
    averaged,
    check_expectation,
    check_used,
    parse_constant,
    parse_overrides,
)
from .corruptions import corrupted_conditions, named_item, with_corruptions

DEFAULT, CORRUPTIONS, PATCH = "quick", "corruptions", "patch"
"""The suite where none is named; where --corruptions is; and where --protocol is patch."""


@dataclass(frozen=True)
class ConditionRequest:
    """What the suite and the command line ask for, read once.

    Attributes:
        options: as typed.
        name: of the suite.
        suite: as its file has it.
        items: the suite's, with other attacks, budgets or corruptions where the command line names
            them.
    """

    options: EvalOptions
    name: str
    suite: Suite
    items: Sequence[SuiteItem]

    @cached_property
    def overrides(self) -> Overrides:
        """Constants that the command line puts in place of the protocol's."""
        return parse_overrides(self.options)

    @property
    def clean(self) -> bool:
        """Whether the suite does anything with the clean data set."""
        return any(item.dataset is None for item in self.suite.conditions)

    @property
    def shifted(self) -> tuple[str, ...]:
        """Names of the other data sets that the suite is about, in order."""
        return tuple(dict.fromkeys(item.dataset for item in self.suite.conditions if item.dataset))

    @property
    def corrupted(self) -> bool:
        """Whether corruptions of the clean data set are asked for."""
        return any(item.corruption for item in self.items)


def read_conditions(options: EvalOptions) -> ConditionRequest:
    """Read the suite, and what the command line puts in its place.

    Args:
        options: as typed.

    Raises:
        UserError: an unknown suite, budget or corruption, or options of corruptions without any.
    """
    default = PATCH if options.protocol == PATCH else DEFAULT
    name = options.suite or (default if options.corruptions is None else CORRUPTIONS)
    suite = _in_known_names(load_suite(name))
    items = _items(suite, options)
    check_expectation(options.expectation, [item.attack or "" for item in items])
    return ConditionRequest(options, name, suite, items)


def with_norm(options: EvalOptions) -> EvalOptions:
    """With the protocol that --norm is short for.

    Raises:
        UserError: an unknown norm, or another protocol beside it.
    """
    if options.norm is None:
        return options
    protocol = {"l2": "l2", "linf": options.protocol or "pixel"}.get(options.norm.lower())
    if protocol is None:
        raise unknown("--norm", options.norm, ("linf", "l2"))
    if options.protocol not in (None, protocol) or norm_of(protocol) != options.norm.lower():
        raise UserError(
            f"--norm {options.norm} and --protocol {options.protocol} are two things; leave one out"
        )
    return replace(options, protocol=protocol, norm=None)


def _in_known_names(suite: Suite) -> Suite:
    """With every attack under the name that condition ids have, whatever its case in the file."""
    items = [
        item
        if item.attack is None
        else item.model_copy(update={"attack": attack_name(item.attack)})
        for item in suite.conditions
    ]
    return suite.model_copy(update={"conditions": tuple(items)})


def make_conditions(request: ConditionRequest, dataset: str | None = None) -> list[Condition]:
    """The conditions on a data set.

    Args:
        request: what is asked for.
        dataset: name of a shifted one; None for the clean one. Attacks that the command line names
            are for all data sets, corruptions for the clean one alone.

    Raises:
        UserError: an unknown attack, protocol or constant, or a condition twice.
    """
    _check_data_only(request)
    if request.options.protocol is not None:
        PROTOCOLS[request.options.protocol]  # explains an unknown name
    _check_protocol(request)
    check_used(request.overrides, request.items)
    named = request.options.attacks is not None
    chosen = [item for item in request.items if _is_on(item, dataset, named=named)]
    try:
        conditions = [condition for item in chosen for condition in _of_item(item, request)]
        _check_once(conditions)
    except UserError as error:
        raise error if named else UserError(f"suite {request.name}: {error}") from error
    _check_budgets_used(request, conditions)
    return averaged(conditions, request.options.expectation)


def _check_budgets_used(request: ConditionRequest, conditions: Sequence[Condition]) -> None:
    attacks = [condition for condition in conditions if condition.is_attacked]
    if request.options.eps and attacks and not any(attack.is_sweep for attack in attacks):
        raise UserError(
            f"--eps {request.options.eps}: {attacks[0].attack} finds distances and has no budget; "
            "leave --eps out"
        )


def _check_once(conditions: Sequence[Condition]) -> None:
    counts = Counter(condition.key for condition in conditions)
    for condition in conditions:
        if counts[condition.key] > 1:
            raise UserError(f"condition {condition.id} is asked for twice; name it once")


def _is_on(item: SuiteItem, dataset: str | None, *, named: bool) -> bool:
    return item.dataset == dataset or (named and not item.corruption)


def _items(suite: Suite, options: EvalOptions) -> list[SuiteItem]:
    """The suite's items, with other attacks or budgets where the command line names them."""
    if options.attacks is None:
        items = list(suite.conditions)
    else:
        names = [attack_name(name.strip()) for name in options.attacks.split(",")]
        of_suite = dict.fromkeys(item.protocol for item in suite.conditions)
        protocols = list(of_suite) if options.protocol is None else [None]
        items = [
            SuiteItem(
                attack=name, eps=() if name == CLEAN else suite.budgets(name), protocol=protocol
            )
            for protocol in protocols
            for name in names
            if not is_corruption(name)
        ]
        items += [named_item(name) for name in names if is_corruption(name)]
    if options.eps is not None:
        items = [_with_budgets(item, suite, options, options.eps) for item in items]
    return with_corruptions(items, options)


def _with_budgets(item: SuiteItem, suite: Suite, options: EvalOptions, eps: str) -> SuiteItem:
    """With the budgets of the command line, of the norm of the item's own protocol."""
    protocol = item.protocol or options.protocol or suite.protocol
    norm = norm_of(protocol)
    if item.corruption or item.attack == CLEAN:
        return item
    if spec := ATTACKS.get(item.attack or ""):  # before what may be wrong with the budgets under it
        spec.check_protocol(protocol)
    return item.model_copy(update={"eps": parse_budgets(eps, norm)})


def _check_data_only(request: ConditionRequest) -> None:
    """A suite file is data: code runs only where the command line names it."""
    for item in request.suite.conditions:
        library, colon, _ = (item.attack or "").partition(":")
        if colon and library not in ("torchattacks", "foolbox"):
            raise UserError(
                f"suite {request.name} names code, {item.attack}; name it with --attacks, since a "
                "suite file never runs code"
            )


def _check_protocol(request: ConditionRequest) -> None:
    """--protocol replaces what a suite does not insist on: paper, or a condition's own."""
    fixed = {item.protocol for item in request.items if item.protocol is not None}
    if request.suite.protocol == "paper":
        fixed.add("paper")
    asked = request.options.protocol
    for protocol in sorted(fixed):
        if asked not in (None, protocol):
            raise UserError(
                f"--suite {request.name} is protocol {protocol}, --protocol says {asked}; name "
                "another suite, or leave --protocol out"
            )


def _of_item(item: SuiteItem, request: ConditionRequest) -> list[Condition]:
    protocol = item.protocol or request.options.protocol or request.suite.protocol
    if item.corruption:
        return corrupted_conditions(item, protocol, request.options)
    if item.attack == CLEAN:
        return [clean(protocol)]
    name = item.attack or ""
    spec = find_attack(name)
    settings = {key: parse_constant(spec, key, str(value)) for key, value in item.settings.items()}
    settings |= request.overrides.get(name, {})
    if spec.about.finds_radius:
        if item.eps and item in request.suite.conditions:
            raise UserError(f"attack {name} finds distances and has no budget; leave its eps out")
        return [spec.condition(protocol=protocol, overrides=settings)]
    if not item.eps:
        raise UserError(f"attack {name} has no budget; give --eps, like 1/255,4/255")
    of_suite = norm_of(item.protocol or request.suite.protocol)
    if request.options.eps is None and norm_of(protocol) != of_suite:
        raise UserError(
            f"--protocol {protocol}: the budgets of suite {request.name} are of "
            f"{NORM_NAMES[of_suite]}; give --eps, or another --suite, like {protocol}"
        )
    return [spec.condition(eps, protocol, settings) for eps in item.eps]
