"""All that a network's answers depend on: what was changed of it, and how it is put back."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from .snapshots import (
    Content,
    MappingSnapshot,
    Snapshot,
    ValuesSnapshot,
    mapping,
    methods,
    sequence,
    variables,
)
from .torch_state import SUITE, torch_snapshots

LARGEST = 2**28
"""Bytes of a tensor or array of which a copy is kept, if it is no parameter or buffer."""
OF_EVERY_MODULE = frozenset({*vars(nn.Module()), "forward", "__call__", "_call_impl"})
UNNAMED = ("_parameters", "_buffers", "_modules")
"""Attributes whose contents are named as the module's own."""
CLOSED = (ModuleType, logging.Logger, logging.Handler)
"""Types whose values are no part of a network."""
INSTALLED = ("site-packages", "dist-packages")
"""Code below these folders keeps nothing in its variables that would be a network's."""
Member = tuple[str, Any, bool]
"""What another value holds: name, value, and whether a change is an attack's (see `Change`)."""
Parts = tuple[list[Snapshot], list[Member]]


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
        self._snapshots: list[Snapshot] = [*torch_snapshots(), *_walk(network)]
        self._forgotten: set[str] = set()

    def forget(self, names: Iterable[str]) -> None:
        """Things that may be what they like from now on."""
        self._forgotten.update(names)

    def changes(self) -> Changes:
        """What is not as it was, without what may be what it likes."""
        changed = Changes([], [])
        for snapshot in self._snapshots:
            for name, certain in snapshot.changes():
                if name not in self._forgotten:
                    (changed.certain if certain else changed.possible).append(name)
        return changed

    def restore(self) -> None:
        """Put everything back; what cannot be put back is still in `changes`."""
        for snapshot in self._snapshots:
            snapshot.restore()


def _walk(network: nn.Module) -> Iterator[Snapshot]:
    """Everything that can be reached from a network, each value once."""
    seen: dict[int, object] = {}
    pending: deque[Member] = deque([("", network, False)])
    while pending:
        name, value, certain = pending.popleft()
        if id(value) not in seen and not isinstance(value, CLOSED):
            seen[id(value)] = value
            snapshots, members = _parts(name, value, certain)
            yield from snapshots
            pending += members


def _parts(name: str, value: Any, certain: bool) -> Parts:
    """The snapshots of one value, and what it holds."""
    for kinds, parts_of in PARTS_OF:
        if isinstance(value, kinds):
            return parts_of(name, value, certain)
    attributes = getattr(value, "__dict__", None)
    if not isinstance(attributes, dict) or type(value).__module__.partition(".")[0] == "torch":
        return [], []
    return [mapping(name, attributes, False)], _items(name, attributes, False)


def _items(name: str, attributes: dict[Any, Any], certain: bool) -> list[Member]:
    return [(f"{name}.{key}".strip("."), value, certain) for key, value in attributes.items()]


def _values(name: str, array: Any, certain: bool) -> Parts:
    is_copied = certain or array.nbytes <= LARGEST
    return ([ValuesSnapshot(name, certain, array)] if is_copied else []), []


def _module(name: str, module: nn.Module, _: bool) -> Parts:
    attributes = vars(module)
    members: list[Member] = [(kind.__name__, kind, True) for kind in type(module).__mro__]
    for key, value in attributes.items():
        below = name if key in UNNAMED else f"{name}.{key}".strip(".")
        members.append((below, value, key in OF_EVERY_MODULE))
    return [mapping(name, attributes, OF_EVERY_MODULE)], members


def _class(name: str, kind: type, _: bool) -> Parts:
    if not issubclass(kind, nn.Module):
        return [], []
    return [methods(kind)], _items(name, dict(vars(kind)), False)


def _function(name: str, function: FunctionType, certain: bool) -> Parts:
    """What a function of one's own refers to: the variables around it, by the names in its code."""
    root = (function.__module__ or "").partition(".")[0]
    code, around = function.__code__, function.__globals__
    enclosed: Member = ("", function.__closure__ or (), False)
    if root in (*SUITE, "torch") or any(folder in code.co_filename for folder in INSTALLED):
        return [], [enclosed]
    used = {key: around[key] for key in code.co_names if key in around}
    attributes = [vars(function), function.__defaults__ or (), function.__kwdefaults__ or {}]
    snapshot = variables(root, around, tuple(used), certain=False)
    return [snapshot], [enclosed, *_items("", used, False), ("", attributes, False)]


def _method(name: str, method: MethodType, certain: bool) -> Parts:
    return [], [(name, method.__self__, certain), (name, method.__func__, certain)]


def _partial(name: str, call: "partial[Any]", certain: bool) -> Parts:
    attributes = (call.func, call.args, call.keywords)
    return [], [(name, attributes, certain)]


def _cell(name: str, cell: CellType, certain: bool) -> Parts:
    try:
        content = cell.cell_contents
    except ValueError:  # a variable that has no cell yet
        return [], []

    def write(before: Content) -> None:
        cell.cell_contents = before[""]

    snapshot = MappingSnapshot(name, certain, lambda: {"": cell.cell_contents}, write)
    return [snapshot], [(name, content, certain)]


def _dict(name: str, mapped: dict[Any, Any], certain: bool) -> Parts:
    return [mapping(name, mapped, certain)], _items(name, mapped, certain)


def _list(name: str, values: list[Any], certain: bool) -> Parts:
    members = _items(name, dict(enumerate(values)), certain)
    return [sequence(name, values, certain=certain)], members


def _tuple(name: str, values: tuple[Any, ...], certain: bool) -> Parts:
    return [], _items(name, dict(enumerate(values)), certain)


def _set(name: str, values: set[Any], certain: bool) -> Parts:
    def write(content: Content) -> None:
        values.clear()
        values.update(content[""])

    return [MappingSnapshot(name, certain, lambda: {"": frozenset(values)}, write)], []


PARTS_OF: tuple[tuple[tuple[type, ...], Callable[[str, Any, bool], Parts]], ...] = (
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
"""By type: the snapshots of a value, and what it holds."""
