"""A function of a script as an attack: what is recorded of it, and how it is called."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attacks.libraries.blocks import BLOCK, BlockSweep

from ..checkpoints.state_dict import weights_sha256
from ..conditions.attack_batch import AttackBatch
from ..conditions.budgets import Norm
from ..conditions.condition import Condition, Sweep
from ..conditions.threat_model import ThreatModel
from ..errors import UserError

Attack = Callable[..., Tensor]
"""``(model, x, y, *, ...) -> x_adv`` with all but ``generator`` and ``eps`` bound; or an object
that holds its model and is called as ``(x, y) -> x_adv``, as torchattacks' are."""


class Bound(NamedTuple):
    """A function and the arguments that a script bound to it."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]

    @classmethod
    def of(cls, attack: Callable[..., Any]) -> "Bound":
        """From a partial, or from a function with nothing bound."""
        if isinstance(attack, partial):
            if attack.args:
                raise UserError(
                    f"{attack.func} has arguments bound by position, where the model, images and "
                    "labels go; bind by keyword"
                )
            return cls(attack.func, attack.keywords)
        return cls(attack, {})


def settings_of(attack: Attack) -> dict[str, Any]:
    """What is recorded of a function beside its code: its name, and all that is bound to it."""
    bound = Bound.of(attack)
    settings = {
        "function": function_name(attack),
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
    bound = Bound.of(attack)
    described = [str(_plain(value)) for value in bound.arguments.values()]
    if inspect.isroutine(bound.function):
        described.append(function_name(attack))
    if not inspect.isfunction(bound.function):
        described.append(repr(holder_of(attack)))
    return any(mark in text for mark in ("<lambda>", "<locals>", " at 0x") for text in described)


def holder_of(attack: Attack) -> object:
    """The object whose state an attack uses: itself, or that of a bound method."""
    function = Bound.of(attack).function
    return getattr(function, "__self__", function)


def _holds_model(attack: Attack) -> bool:
    return isinstance(getattr(holder_of(attack), "model", None), nn.Module)


def _plain(value: object) -> bool | int | float | str | None:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, nn.Module):
        return f"{type(value).__qualname__} {weights_sha256(value.state_dict())[:16]}"
    if isinstance(value, Tensor):
        content = value.detach().cpu().contiguous().numpy()
        return f"tensor {content.shape} {sha256(content.tobytes()).hexdigest()[:16]}"
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {sha256(value.tobytes()).hexdigest()[:16]}"
    return repr(value)


def _accepted(attack: Attack) -> frozenset[str]:
    """Names of the arguments that a function takes and that nothing is bound to."""
    try:
        parameters = inspect.signature(attack).parameters
    except (TypeError, ValueError):
        return frozenset()  # compiled code may not say it
    bound = Bound.of(attack).arguments
    return frozenset(name for name in parameters if name not in bound)


def sweep_of_script(attack: Attack) -> Sweep:
    """A function that takes a generator draws from one per image, any other from global state."""
    accepted = _accepted(attack)
    holds_model = _holds_model(attack)
    if "generator" in accepted:
        return OwnStreams(attack, takes_eps="eps" in accepted)
    run = partial(_on_block, attack, holds_model=holds_model, takes_eps="eps" in accepted)
    return BlockSweep(function_name(attack), run)


def check_call(name: str, attack: Attack) -> None:
    """Refuse a function that does not take what it will be called with.

    Raises:
        UserError: it takes other arguments.
    """
    bound = Bound.of(attack)
    try:
        signature = inspect.signature(bound.function)
    except (TypeError, ValueError):
        return  # compiled code may not say it
    positional = ("x", "y") if _holds_model(attack) else ("model", "x", "y")
    keywords = dict.fromkeys(_accepted(attack) & {"eps", "generator"})
    try:
        signature.bind(*positional, **{**bound.arguments, **keywords})
    except TypeError as error:
        raise UserError(
            f"condition {name!r} is given {function_name(attack)}, which is called as "
            f"({', '.join(positional)}), and with eps and generator where it takes them: {error}"
        ) from error


@contextmanager
def usual_state() -> Iterator[None]:
    """Torch as the command line has it inside; afterwards as the script had it.

    A script's inference mode, autocast or default number format does not change the numbers, and
    what an attack sets does not outlast the run.
    """
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with (
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast("cpu", enabled=False),
            torch.autocast("cuda", enabled=False),
        ):
            yield
    finally:
        torch.set_default_dtype(dtype)


def _on_block(
    attack: Attack,
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    norm: Norm,
    settings: Mapping[str, Any],
    holds_model: bool,
    takes_eps: bool,
) -> Tensor:
    del norm, settings  # everything is bound
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
