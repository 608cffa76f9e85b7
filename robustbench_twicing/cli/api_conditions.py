"""Conditions as Python has them: names, functions, objects of libraries, and `Condition`."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from torch import Tensor, nn

from attacks import ATTACKS, AttackSpec, corruption_condition, find_attack
from attacks.libraries.blocks import BLOCK, BLOCK_NOTE, BlockSweep

from ..classifiers.classifier import Classifier
from ..conditions.attack_batch import AttackBatch
from ..conditions.budgets import parse_budget
from ..conditions.condition import CLEAN, Condition, clean, condition_id
from ..conditions.threat_model import PIXEL, PROTOCOLS, ThreatModel
from ..data.imagenet_c import cells, is_corruption, parse_id
from ..errors import UserError

Attack = Callable[..., Tensor]
"""``(model, x, y, *, ...) -> x_adv`` with all but ``generator`` and ``eps`` bound; or an object
that holds its model and is called as ``(x, y) -> x_adv``, as torchattacks' are."""
Conditions = str | Condition | Sequence[str | Condition] | Mapping[str, Attack | Condition | None]
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
    if isinstance(conditions, Mapping):
        items = list(conditions.items())
    elif isinstance(conditions, Sequence):
        items = [(one.id if isinstance(one, Condition) else one, one) for one in conditions]
    else:
        raise TypeError(f"{ACCEPTED}, not {type(conditions).__name__}")
    made = [made for name, value in items for made in _read(name, value, classifier)]
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
    if name == CLEAN:
        yield clean()
    elif is_corruption(name):
        yield from (corruption_condition(*cell) for cell in cells(*parse_id(name)))
    else:
        attack, eps = _split(name)
        yield find_attack(attack).condition(eps)


def _split(name: str) -> tuple[str, Fraction]:
    attack, at, budget = name.rpartition("@")
    if not at or not attack:
        raise UserError(f"condition {name!r} names no budget; write it like pgd@4/255")
    return attack, parse_budget(budget)


class Bound(NamedTuple):
    """A function and the arguments that a script bound to it."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, attack: Callable[..., Any]) -> "Bound":
        """From a partial, or from a function with nothing bound."""
        if isinstance(attack, partial):
            return cls(attack.func, attack.keywords)
        return cls(attack, {})


def _from_function(name: str, attack: Attack, classifier: Classifier | None) -> Condition:
    label, eps = _split(name)
    bound = Bound.of(attack)
    _check_budget(name, bound, eps)
    _check_model(name, attack, classifier)
    threat = bound.arguments.get("threat", PIXEL)
    protocol = _protocol_of(name, threat)
    settings = _settings(attack, bound)
    condition = _declared(bound, eps, protocol) or Condition(
        name,
        protocol=protocol,
        threat=threat,
        settings=settings,
        sweep=_sweep(attack, bound),
        white_box=True,
        passes=None,
        notes=(BLOCK_NOTE,) if "block" in settings else (),
    )
    return replace(condition, id=condition_id(label, eps), attack=label, eps=eps)


def _check_budget(name: str, bound: Bound, eps: Fraction) -> None:
    budget = bound.arguments.get("eps", getattr(bound.function, "eps", None))
    if isinstance(budget, (int, float)) and abs(budget - float(eps)) > 1e-9:
        raise UserError(
            f"condition {name!r} is bound to eps={budget:g}, which is {budget * 255:g}/255; "
            "id and function must say the same budget"
        )


def _check_model(name: str, attack: Attack, classifier: Classifier | None) -> None:
    """An attack that holds a model must hold the one that is evaluated."""
    model = getattr(attack, "model", None)
    if classifier is None or not isinstance(model, nn.Module):
        return
    plain = classifier.normalize is None and classifier.select is None
    if model is not classifier and not (plain and model is classifier.network):
        raise UserError(
            f"condition {name!r} attacks another model than the one that is evaluated; make the "
            "attack with the Classifier that is given to evaluate (pixels in [0, 1] to logits)"
        )


def _protocol_of(name: str, threat: object) -> str:
    for protocol in PROTOCOLS.values():
        if protocol.threat == threat:
            return protocol.name
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


def _settings(attack: Attack, bound: Bound) -> dict[str, Any]:
    """What is recorded of a function: its name, its code by hash, and all that is bound to it."""
    settings = {
        "function": function_name(attack),
        "source_sha256": _source_hash(bound.function),
        **{key: _plain(value) for key, value in bound.arguments.items() if key != "eps"},
    }
    return settings if "generator" in _accepted(attack) else settings | {"block": BLOCK}


def function_name(attack: Attack) -> str:
    """Module and name of a function, or of the class of an object."""
    function = Bound.of(attack).function
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def is_anonymous(attack: object) -> bool:
    """Whether nothing tells that a later script means the same function."""
    if not callable(attack) or isinstance(attack, Condition):
        return False
    function = Bound.of(attack).function
    described = function_name(attack) if inspect.isroutine(function) else repr(function)
    return any(mark in described for mark in ("<lambda>", "<locals>", " at 0x"))


def _source_hash(function: Callable[..., Any]) -> str:
    """Of the code, as far as Python can show it; an object's constants are those of its text."""
    try:
        source = inspect.getsource(function if inspect.isroutine(function) else type(function))
    except (OSError, TypeError):
        source = ""  # compiled, or typed at a prompt
    text = source if inspect.isroutine(function) else f"{source}{function!r}"
    return sha256(text.encode()).hexdigest()


def _plain(value: object) -> bool | int | float | str | None:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Tensor):
        content = value.detach().cpu().contiguous().numpy()
        return f"tensor {content.shape} {sha256(content.tobytes()).hexdigest()[:16]}"
    return repr(value)


def _accepted(attack: Attack) -> frozenset[str]:
    """Names of the arguments that a function takes and that nothing is bound to."""
    try:
        parameters = inspect.signature(attack).parameters
    except (TypeError, ValueError):
        return frozenset()  # compiled code may not say it
    bound = Bound.of(attack).arguments
    return frozenset(name for name in parameters if name not in bound)


def _sweep(attack: Attack, bound: Bound) -> Any:
    """A function that takes a generator draws from one per image, any other from global state."""
    accepted = _accepted(attack)
    holds_model = isinstance(getattr(bound.function, "model", None), nn.Module)
    if "generator" in accepted:
        return OwnStreams(attack, takes_eps="eps" in accepted)
    run = partial(_on_block, attack, holds_model=holds_model, takes_eps="eps" in accepted)
    return BlockSweep(function_name(attack), run)


def _on_block(
    attack: Attack,
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    settings: Mapping[str, Any],
    holds_model: bool,
    takes_eps: bool,
) -> Tensor:
    del settings  # everything is bound
    arguments = (x, y) if holds_model else (model, x, y)
    return attack(*arguments, **({"eps": eps} if takes_eps else {}))


@dataclass(frozen=True)
class OwnStreams:
    """A function that draws from one generator per image, as a sweep of one budget."""

    attack: Attack
    takes_eps: bool

    def __call__(
        self,
        batch: AttackBatch,
        budgets: Sequence[Fraction],
        *,
        threat: ThreatModel,
        settings: Mapping[str, Any],
    ) -> Iterator[Tensor]:
        """The function at every budget; each has random streams of its own."""
        for eps in budgets:
            generator = batch.generators("function", {}, eps)
            more = {"eps": float(eps)} if self.takes_eps else {}
            yield self.attack(batch.model, batch.x, batch.y, generator=generator, **more)
