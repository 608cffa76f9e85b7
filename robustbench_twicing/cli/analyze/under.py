"""From --under to conditions under which images are analysed: attacks at a budget, corruptions."""

from collections.abc import Sequence
from dataclasses import replace

from attacks import attack_name, find_attack

from ...conditions.budgets import PREFIXES, parse_budgets
from ...conditions.condition import Condition
from ...conditions.suites import SuiteItem, load_suite
from ...conditions.threat_model import norm_of
from ...data.imagenet_c import is_corruption
from ...errors import UserError
from ..options.evaluation import OF_LABELS
from ..request.conditions import DEFAULT, ConditionRequest, make_conditions
from ..request.corruptions import named_item, with_corruptions
from .options import AnalysisOptions

EXAMPLES = {"attacks": "pgd@1/255", "corruptions": "imagenet-c/fog/3"}
OPTIONS = {
    "attacks": ("protocol", "set", *OF_LABELS),
    "corruptions": ("imagenet_c", "imagenet_c_jpeg", "imagenet_c_size", "frost_dir"),
}
"""What is for one of the two alone."""


def read_under(options: AnalysisOptions) -> list[Condition]:
    """The conditions, as an evaluation would make them.

    Args:
        options: as typed.

    Raises:
        UserError: an unknown attack, budget or corruption, an attack without a budget, a condition
            twice, or options of attacks or corruptions without any.
    """
    names = [name.strip() for text in options.under for name in text.split(",")]
    items = [_item(name, options) for name in names]
    _check_used(options, items)
    if not items:
        return []
    # As if named by --attacks: the suite decides nothing.
    asked = replace(options, attacks=",".join(names))
    suite = load_suite(DEFAULT)
    return make_conditions(ConditionRequest(asked, DEFAULT, suite, with_corruptions(items, asked)))


def _item(name: str, options: AnalysisOptions) -> SuiteItem:
    if not name:
        raise UserError(
            "--under names no condition; write it like "
            f"--under {EXAMPLES['attacks']},{EXAMPLES['corruptions']}, or leave --under out"
        )
    if is_corruption(name):
        return named_item(name)
    attack, at, budget = name.rpartition("@")
    spec = find_attack(attack if at else name, needs_budget=True)
    if spec.about.finds_radius:
        raise UserError(
            f"--under {name}: {spec.name} finds distances and has no budget; name an attack with "
            f"one, like {EXAMPLES['attacks']}"
        )
    if not at:
        raise UserError(f"--under {name} has no budget; write it like {name}@1/255")
    of_prefix = next((norm for norm, text in PREFIXES.items() if budget.startswith(text)), "pixel")
    protocol = options.protocol or of_prefix
    eps = parse_budgets(budget, norm_of(protocol))
    values = {"attack": attack_name(attack), "eps": eps, "protocol": protocol}
    return SuiteItem.model_validate(values)


def _check_used(options: AnalysisOptions, items: Sequence[SuiteItem]) -> None:
    asked = {
        "attacks": any(item.attack for item in items),
        "corruptions": any(item.corruption for item in items),
    }
    for kind, names in OPTIONS.items():
        given = [name for name in names if getattr(options, name)]
        if given and not asked[kind]:
            option = f"--{given[0].replace('_', '-')}"
            raise UserError(
                f"{option} is for {kind}; name one with --under, like {EXAMPLES[kind]}, or leave "
                f"{option} out"
            )
