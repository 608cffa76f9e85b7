"""All that a network's answers depend on: what was changed of it, and how it is put back."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from .places import Content, Names, Place, Values, mapping, methods, sequence, variables
from .torch_state import OWN, torch_places

LARGEST = 2**28
"""Bytes of a tensor or array of which a copy is kept, if it is no parameter or buffer."""
OF_EVERY_MODULE = frozenset({*vars(nn.Module()), "forward", "__call__", "_call_impl"})
UNNAMED = ("_parameters", "_buffers", "_modules")
"""Attributes whose contents are named as the module's own."""
CLOSED = (ModuleType, logging.Logger, logging.Handler)
"""What is not looked into."""
INSTALLED = ("site-packages", "dist-packages")
"""Code below these folders keeps nothing in its variables that would be a network's."""
Inside = tuple[str, Any, bool]
"""Something that another thing holds: its name, itself, and whether it is certain (see `Place`)."""
Look = tuple[list[Place], list[Inside]]


class Changes(NamedTuple):
    """What is not as it was, by name.

    Attributes:
        certain: parameters, buffers, hooks, modes, functions, settings of torch: what no network
            changes while it computes.
        possible: other attributes and variables, in which a network may keep what it likes.
    """

    certain: list[str]
    possible: list[str]


class NetworkState:
    """The state of a network, of the code that it runs, and of torch, as they are now.

    Args:
        network: whatever can be reached from it is part of it: modules, attributes, lists, what
            its functions refer to.
    """

    def __init__(self, network: nn.Module) -> None:
        self._places: list[Place] = [*torch_places(), *_walk(network)]
        self._forgotten: set[str] = set()

    def forget(self, names: Iterable[str]) -> None:
        """Things that may be what they like from now on."""
        self._forgotten.update(names)

    def changes(self) -> Changes:
        """What is not as it was, without what may be what it likes."""
        changed = Changes([], [])
        for place in self._places:
            for name, certain in place.changes():
                if name not in self._forgotten:
                    (changed.certain if certain else changed.possible).append(name)
        return changed

    def restore(self) -> None:
        """Put everything back; what cannot be put back is still in `changes`."""
        for place in self._places:
            place.restore()


def _walk(network: nn.Module) -> Iterator[Place]:
    """Everything that can be reached from a network, each thing once."""
    seen: dict[int, object] = {}
    pending: deque[Inside] = deque([("", network, False)])
    while pending:
        name, thing, certain = pending.popleft()
        if id(thing) not in seen and not isinstance(thing, CLOSED):
            seen[id(thing)] = thing
            places, inside = _look_into(name, thing, certain)
            yield from places
            pending += inside


def _look_into(name: str, thing: Any, certain: bool) -> Look:
    """The places of one thing, and what it holds."""
    for kinds, look in LOOKS:
        if isinstance(thing, kinds):
            return look(name, thing, certain)
    held = getattr(thing, "__dict__", None)
    if not isinstance(held, dict) or type(thing).__module__.partition(".")[0] == "torch":
        return [], []
    return [mapping(name, held, False)], _items(name, held, False)


def _items(name: str, held: dict[Any, Any], certain: bool) -> list[Inside]:
    return [(f"{name}.{key}".strip("."), value, certain) for key, value in held.items()]


def _values(name: str, thing: Any, certain: bool) -> Look:
    return ([Values(name, certain, thing)] if certain or thing.nbytes <= LARGEST else []), []


def _module(name: str, thing: nn.Module, _: bool) -> Look:
    held = vars(thing)
    inside: list[Inside] = [(kind.__name__, kind, True) for kind in type(thing).__mro__]
    for key, value in held.items():
        below = name if key in UNNAMED else f"{name}.{key}".strip(".")
        inside.append((below, value, key in OF_EVERY_MODULE))
    return [mapping(name, held, OF_EVERY_MODULE)], inside


def _class(name: str, thing: type, _: bool) -> Look:
    if not issubclass(thing, nn.Module):
        return [], []
    return [methods(thing)], _items(name, dict(vars(thing)), False)


def _function(name: str, thing: FunctionType, certain: bool) -> Look:
    """What a function of one's own refers to: the variables around it, by the names in its code."""
    root, code, around = (
        (thing.__module__ or "").partition(".")[0],
        thing.__code__,
        thing.__globals__,
    )
    enclosed: Inside = ("", thing.__closure__ or (), False)
    if root in (*OWN, "torch") or any(folder in code.co_filename for folder in INSTALLED):
        return [], [enclosed]
    used = {key: around[key] for key in code.co_names if key in around}
    held = [vars(thing), thing.__defaults__ or (), thing.__kwdefaults__ or {}]
    place = variables(root, around, tuple(used), certain=False)
    return [place], [enclosed, *_items("", used, False), ("", held, False)]


def _method(name: str, thing: MethodType, certain: bool) -> Look:
    return [], [(name, thing.__self__, certain), (name, thing.__func__, certain)]


def _partial(name: str, thing: "partial[Any]", certain: bool) -> Look:
    held = (thing.func, thing.args, thing.keywords)
    return [], [(name, held, certain)]


def _cell(name: str, thing: CellType, certain: bool) -> Look:
    try:
        inside = thing.cell_contents
    except ValueError:  # a variable that has no value yet
        return [], []

    def write(content: Content) -> None:
        thing.cell_contents = content[""]

    return [Names(name, certain, lambda: {"": thing.cell_contents}, write)], [
        (name, inside, certain)
    ]


def _dict(name: str, thing: dict[Any, Any], certain: bool) -> Look:
    return [mapping(name, thing, certain)], _items(name, thing, certain)


def _list(name: str, thing: list[Any], certain: bool) -> Look:
    inside = _items(name, dict(enumerate(thing)), certain)
    return [sequence(name, thing, certain=certain)], inside


def _tuple(name: str, thing: tuple[Any, ...], certain: bool) -> Look:
    return [], _items(name, dict(enumerate(thing)), certain)


def _set(name: str, thing: set[Any], certain: bool) -> Look:
    def write(content: Content) -> None:
        thing.clear()
        thing.update(content[""])

    return [Names(name, certain, lambda: {"": frozenset(thing)}, write)], []


LOOKS: tuple[tuple[tuple[type, ...], Callable[[str, Any, bool], Look]], ...] = (
    ((Tensor, np.ndarray), _values),
    ((nn.Module,), _module),
    ((type,), _class),
    ((FunctionType,), _function),
    ((MethodType,), _method),
    ((partial,), _partial),
    ((CellType,), _cell),
    ((dict,), _dict),
    ((list,), _list),
    ((tuple,), _tuple),
    ((set,), _set),
)
"""How the things of each type are looked into."""
