"""Conditions as Python has them: names, functions, objects of libraries, and `Condition`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from torch import nn

from attacks import ATTACKS, AttackSpec, attack_name, corruption_condition, find_attack
from attacks.libraries.blocks import BLOCK_NOTE

from ..classifiers.classifier import Classifier
from ..conditions.budgets import PREFIXES, Norm, parse_budget
from ..conditions.condition import (
    CLASS_SUBSET,
    CLEAN,
    RADIUS,
    TRANSFER,
    WORST,
    Condition,
    clean,
    condition_id,
)
from ..conditions.threat_model import NORM_NAMES, PROTOCOLS, ThreatModel
from ..data.imagenet_c import cells, id_meant, is_corruption, parse_id
from ..errors import UserError
from ..files.source_code import foreign_code_sha256
from .api_functions import Attack, Bound, check_call, holder_of, settings_of, sweep_of_script

Conditions = str | Condition | Sequence[str | Condition] | Mapping[str, Attack | Condition | None]
PROTOCOL_OF: Mapping[Norm, str] = {"linf": "pixel", "l2": "l2", "patch": "patch"}
"""Of conditions that are given by name, by the norm of their budget."""
ACCEPTED = (
    'conditions are names like "clean", "pgd@4/255" or "imagenet-c/fog/3", one or a list of them, '
    'or a mapping like {"clean": None, "mine@4/255": function}'
)


def read_conditions(
    conditions: Conditions, classifier: Classifier | None = None
) -> list[Condition]:
    """Conditions from what a script gives.

    Args:
        conditions: see `ACCEPTED`. The budget in a name is the one that the result is checked
            against; a name without a function is the command line's.
        classifier: the model that is evaluated, which objects with a model of their own must hold.

    Raises:
        TypeError: something else than is accepted.
        UserError: an unknown name, no readable budget, a function that is bound to another one, or
            a condition twice.
    """
    if isinstance(conditions, (str, Condition)):
        conditions = [conditions]
    items: Iterable[tuple[object, object]]
    if isinstance(conditions, Mapping):
        items = conditions.items()
    elif isinstance(conditions, Sequence):
        items = [(item.id if isinstance(item, Condition) else item, item) for item in conditions]
    else:
        raise TypeError(f"{ACCEPTED}, not {type(conditions).__name__}")
    made = [made for name, value in items for made in _read(name, value, classifier)]
    protocols = {condition.protocol for condition in made if condition.is_attacked}
    if len(protocols) == 1 and "paper" not in protocols:
        (protocol,) = protocols
        made = [clean(protocol) if condition == clean() else condition for condition in made]
    ids = [condition.id for condition in made]
    for name in ids:
        if ids.count(name) > 1:
            raise UserError(f"condition {name!r} is given twice")
    return made


def _read(name: object, value: object, classifier: Classifier | None) -> Iterator[Condition]:
    if not isinstance(name, str):
        raise TypeError(f"{ACCEPTED}, not a name that is {type(name).__name__}")
    if isinstance(value, Condition):
        if value.id != name:
            raise UserError(f"condition {name!r} is given the condition {value.id!r}")
        yield value
    elif value is None or value == name:
        yield from _named(name)
    elif callable(value):
        yield _from_function(name, value, classifier)
    else:
        raise TypeError(f"{ACCEPTED}; {name!r} is given {type(value).__name__}")


def _named(name: str) -> Iterator[Condition]:
    """What the command line means by a name."""
    if attack_name(name) == CLEAN:
        yield clean()
    elif is_corruption(name):
        yield from (corruption_condition(*cell) for cell in cells(*parse_id(name)))
    elif name.startswith(RADIUS):
        yield find_attack(name.removeprefix(RADIUS)).condition()
    else:
        attack, eps, norm = _split(name)
        yield find_attack(attack).condition(eps, PROTOCOL_OF[norm])


def _split(name: str) -> tuple[str, Fraction, Norm]:
    attack, at, budget = name.rpartition("@")
    if meant := id_meant(name):
        raise UserError(f"condition {name!r} is a corruption; write it like {meant}")
    if not at or not attack:
        raise UserError(f"condition {name!r} names no budget; write it like pgd@4/255")
    norms = (norm for norm, prefix in PREFIXES.items() if budget.startswith(prefix))
    norm: Norm = next(norms, "linf")
    return attack, parse_budget(budget, norm), norm


def _from_function(name: str, attack: Attack, classifier: Classifier | None) -> Condition:
    label, eps, norm = _split(name)
    if label in (CLEAN, CLASS_SUBSET, TRANSFER, WORST) or is_corruption(label):
        raise UserError(
            f"condition {name!r} is given a function, and {label!r} is no attack's name"
        )
    if not label.isprintable():
        raise UserError(f"condition {name!r} has a line break or a control character; leave it out")
    check_call(name, attack)
    bound = Bound.of(attack)
    _check_budget(name, bound, eps, norm)
    _check_model(name, attack, classifier)
    threat = bound.arguments.get("threat", PROTOCOLS[PROTOCOL_OF[norm]].threat)
    protocol = _protocol_of(name, threat, norm)
    settings = settings_of(attack)
    declared = _declared(bound, eps, protocol)
    _check_attack(name, bound, declared)
    condition = declared or Condition(
        name,
        protocol=protocol,
        threat=threat,
        settings=settings,
        code_sha256=foreign_code_sha256(attack),
        sweep=sweep_of_script(attack),
        white_box=True,
        passes=None,
        notes=(BLOCK_NOTE,) if "block" in settings else (),
    )
    return replace(condition, id=condition_id(label, eps, norm), attack=label, eps=eps)


def _check_budget(name: str, bound: Bound, eps: Fraction, norm: Norm) -> None:
    budget = bound.arguments.get("eps", getattr(holder_of(bound.function), "eps", None))
    if isinstance(budget, (int, float)) and abs(budget - float(eps)) > 1e-9:
        in_255ths = f", which is {budget * 255:g}/255" if norm == "linf" else ""
        raise UserError(
            f"condition {name!r} is bound to eps={budget:g}{in_255ths}; id and function must say "
            "the same budget"
        )


def _check_attack(name: str, bound: Bound, declared: Condition | None) -> None:
    """The name of one of this package's attacks is for that one."""
    named = attack_name(name.rpartition("@")[0])
    if named not in ATTACKS:
        return
    function = ATTACKS[named].function
    is_named = function is not None and Bound.of(function).function is bound.function
    if declared.attack != named if declared else not is_named:
        raise UserError(
            f"condition {name!r} is given another function than {named} of this package; call it "
            f"by a name of its own, like my-{name}"
        )


def _check_model(name: str, attack: Attack, classifier: Classifier | None) -> None:
    """An attack that holds a model must hold the one that is evaluated."""
    model = getattr(holder_of(attack), "model", None)
    if classifier is None or not isinstance(model, nn.Module):
        return
    plain = classifier.normalize is None and classifier.select is None
    if model is not classifier and not (plain and model is classifier.network):
        raise UserError(
            f"condition {name!r} attacks another model than the one that is evaluated; make the "
            "attack with the Classifier that is given to evaluate (pixels in [0, 1] to logits)"
        )


def _protocol_of(name: str, threat: object, norm: Norm) -> str:
    for protocol in PROTOCOLS.values():
        if protocol.threat == threat and protocol.threat.norm == norm:
            return protocol.name
    if isinstance(threat, ThreatModel) and threat.norm != norm:
        raise UserError(
            f"condition {name!r} names a budget of {NORM_NAMES[norm]}, and its threat model is of "
            f"{NORM_NAMES[threat.norm]}; write pgd@4/255, pgd@l2:0.5 or patch@patch:32"
        )
    raise UserError(
        f"condition {name!r} has a threat model of no protocol; leave it out, or give "
        f"{' or '.join(f'PROTOCOLS[{name!r}].threat' for name in PROTOCOLS)}"
    )


def _declared(bound: Bound, eps: Fraction, protocol: str) -> Condition | None:
    """The condition of a declared attack, if the function is one and nothing else is bound to it.

    It draws the random numbers of the command line's attack with the same constants.
    """
    matches: list[tuple[AttackSpec, dict[str, Any]]] = []
    for spec in ATTACKS.values():
        if spec.function is None:
            continue
        declared = Bound.of(spec.function)
        fixed = declared.arguments.items()
        rest = {key: value for key, value in bound.arguments.items() if (key, value) not in fixed}
        if declared.function is bound.function and len(rest) + len(fixed) == len(bound.arguments):
            matches.append((spec, rest))
    if not matches:
        return None
    spec, rest = min(matches, key=lambda match: len(match[1]))
    constants = {key: value for key, value in rest.items() if key not in ("eps", "threat")}
    if set(constants) - set(spec.settings) or protocol not in spec.protocols:
        return None
    return spec.condition(eps, protocol, {**spec.settings, **constants})
