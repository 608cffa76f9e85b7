"""Declare an attack beside its function; its constants are read from the function's signature."""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeVar, get_args, get_origin

from torch import Tensor

from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import CLASS_SUBSET, CLEAN, TRANSFER, WORST, Sweep
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import ThreatModel
from robustbench_twicing.data.imagenet_c import PREFIXES
from robustbench_twicing.files.source_code import is_same_place

from .libraries.presets import PRESETS
from .restarts import worst_of
from .spec import ATTACKS, AttackSpec, Settings

AttackFunction = TypeVar("AttackFunction", bound=Callable[..., Tensor])
ALL_PROTOCOLS = ("pixel", "paper", "l2")
"""Of attacks that know both norms and both spaces."""
PASSED = frozenset({"eps", "threat", "generator", "target"})
"""Arguments that the suite passes itself."""


def attack(
    name: str,
    *,
    sweep: Sweep | None = None,
    streams: tuple[str, Settings] | None = None,
    settings: Settings | None = None,
    unrecorded: Collection[str] = (),
    **properties: Any,
) -> Callable[[AttackFunction], AttackFunction]:
    """Declare ``(model, x, y, *, eps, threat, generator, constants...) -> x_adv`` as an attack.

    Keyword arguments with plain defaults become its constants; those that are one of some words
    (`Literal`) accept these alone. A function without ``threat`` follows protocol pixel only. One
    that finds radii (`About`) takes no ``eps``.

    Args:
        name: in condition ids and on the command line.
        sweep: the attack over budgets, where they share work; else `sweep_of` the function.
        streams: name and further constants of its random streams, where they are another attack's.
        settings: constants of the sweep: ``{"restarts": 1}`` for the worst of several runs.
        unrecorded: keyword arguments that are no constants, since they change no number.
        properties: the other attributes of `AttackSpec`; knowledge and source are needed.

    Returns:
        A decorator that leaves the function as it is.

    Raises:
        ValueError: another function is declared under this name, the name is none, or the function
            cannot be called like that.
    """

    def declare(function: AttackFunction) -> AttackFunction:
        about = properties.get("about", About())
        _check(name, function, () if about.finds_radius else ("eps",))
        parameters = inspect.signature(function).parameters
        constants = {
            key: parameter
            for key, parameter in parameters.items()
            if key not in PASSED
            and key not in unrecorded
            and isinstance(parameter.default, (bool, int, float, str))
        }
        if "threat" not in parameters:
            properties.setdefault("protocols", ("pixel",))
        spec = AttackSpec(
            name,
            sweep or sweep_of(function, *(streams or (name,))),
            function=function,
            settings={
                **{key: parameter.default for key, parameter in constants.items()},
                **(settings or {}),
            },
            choices={
                key: get_args(parameter.annotation)
                for key, parameter in constants.items()
                if get_origin(parameter.annotation) is Literal
            },
            **properties,
        )
        if name in ATTACKS and is_same_place(ATTACKS[name].function, function):
            del ATTACKS[name]  # its module is loaded again
        ATTACKS[name] = spec
        return function

    return declare


def _check(name: str, function: Callable[..., Tensor], needed: Collection[str]) -> None:
    taken = (CLEAN, CLASS_SUBSET, TRANSFER, WORST, *PREFIXES, *PRESETS)
    ATTACKS.check_name(name, taken)
    signature = inspect.signature(function)
    passed = {key: None for key in PASSED if key in needed or key in signature.parameters}
    try:
        signature.bind(None, None, None, **passed)
    except TypeError as error:
        raise ValueError(
            f"attack {name!r} cannot be called: {error}; it must be a function "
            f"({', '.join(('model, x, y, *', *needed, '...'))}) -> x_adv whose other arguments "
            "have defaults"
        ) from error


@dataclass(frozen=True)
class FunctionSweep:
    """An attack function at every budget, each with random streams of its own.

    Attributes:
        function: the attack.
        streams: name of its random streams.
        drawn_with: constants that choose the streams besides its own.
        takes: names of its arguments.
    """

    function: Callable[..., Tensor]
    streams: str
    drawn_with: Settings
    takes: frozenset[str] = field(repr=False)

    def __call__(
        self,
        batch: AttackBatch,
        budgets: Sequence[Fraction],
        *,
        threat: ThreatModel,
        settings: Mapping[str, Any],
    ) -> Iterator[Tensor]:
        """One adversarial batch a budget; with a constant ``restarts``, the worst of these runs.

        The streams do not depend on the number of restarts, so that more of them can only be worse.
        """
        constants = {key: value for key, value in settings.items() if key in self.takes}
        restarts = 1 if "restarts" in self.takes else settings.get("restarts", 1)
        for eps in budgets:
            runs = (
                self._run(batch, eps, threat, constants, restart) for restart in range(restarts)
            )
            yield worst_of(batch, runs)

    def _run(
        self,
        batch: AttackBatch,
        eps: Fraction,
        threat: ThreatModel,
        constants: Settings,
        restart: int,
    ) -> Tensor:
        drawn_with = {**constants, **self.drawn_with}
        offers: dict[str, Callable[[], object]] = {
            "eps": lambda: float(eps),
            "threat": lambda: threat,
            "target": lambda: batch.target(threat),
            "generator": lambda: batch.generators(self.streams, drawn_with, eps, restart),
        }
        passed = {key: make() for key, make in offers.items() if key in self.takes}
        return self.function(batch.model, batch.x, batch.y, **passed, **constants)


def sweep_of(
    function: Callable[..., Tensor], streams: str, drawn_with: Settings | None = None
) -> FunctionSweep:
    """A sweep over budgets from an attack function.

    Args:
        function: ``(model, x, y, *, eps, ...) -> x_adv``; ``threat``, ``generator`` (one per image)
            and ``target`` (the attacked labels) are passed where it takes them.
        streams: name of its random streams.
        drawn_with: constants that choose the streams besides its own.
    """
    takes = frozenset(inspect.signature(function).parameters)
    return FunctionSweep(function, streams, drawn_with or {}, takes)
