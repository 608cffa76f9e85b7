"""Snapshots of what code can change: whether it is still the same, and how it is put back."""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain
from operator import call, is_, itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Content = Mapping[Any, Any]
PLAIN = (bool, int, float, complex, str, bytes, frozenset, torch.dtype, torch.device, dict)
"""Types of which equal things are the same."""

BITS = {torch.float32: np.int32, torch.float64: np.int64, torch.int64: np.int64}
"""How numpy compares the bits of the usual number formats."""


class Change(NamedTuple):
    """Something that is not as it was.

    Attributes:
        name: what it is.
        certain: an attack changed it, since no network does while it computes; else the network
            itself may have.
    """

    name: str
    certain: bool


class Snapshot(Protocol):
    """What something was when the snapshot was taken."""

    def changes(self) -> list[Change]:
        """What is not as it was."""

    def restore(self) -> None:
        """Put it back."""


class MappingSnapshot:
    """What names stand for: an attribute dictionary, a list, a setting.

    Args:
        name: of the whole.
        certain: the keys that are so (see `Change`), or whether all are.
        read: what it holds now, by key; the key "" is the whole itself.
        write: makes it hold this.
        look: values that are the same objects as long as nothing changes, for what takes long to
            read; where one of them is another, it is read.
    """

    def __init__(
        self,
        name: str,
        certain: Collection[str] | bool,
        read: Callable[[], Content],
        write: Callable[[Content], object],
        look: Callable[[], Collection[object]] | None = None,
    ) -> None:
        self._name, self._certain, self._read, self._write = name, certain, read, write
        self._content = dict(read())
        self._look = look or (lambda: ())
        self._seen = tuple(self._look())

    def changes(self) -> list[Change]:
        """What is another value now, is gone, or is new."""
        if self._seen and _are_same(self._look(), self._seen):
            return []
        now, before = self._read(), self._content
        if _are_same(now.values(), before.values()):
            return []
        keys = dict.fromkeys([*before, *now])
        return [
            Change(self._full_name(key), self._is_certain(key))
            for key in keys
            if not (key in now and key in before and _is_same(now[key], before[key]))
        ]

    def _full_name(self, key: object) -> str:
        """Numbers of hooks and places in a list are nobody's names."""
        return f"{self._name}.{key}".strip(".") if isinstance(key, str) else self._name

    def _is_certain(self, key: object) -> bool:
        return self._certain if isinstance(self._certain, bool) else key in self._certain

    def restore(self) -> None:
        """Let it hold what it held."""
        if self.changes():
            self._write(self._content)


def _are_same(now: Collection[object], before: Collection[object]) -> bool:
    """Whether these are the same objects, in the same order."""
    return len(now) == len(before) and all(map(is_, now, before))


def _is_same(now: object, before: object) -> bool:
    if now is before or type(now) is not type(before):
        return now is before
    if isinstance(before, tuple) and isinstance(now, tuple):
        return len(now) == len(before) and all(map(_is_same, now, before))
    return isinstance(before, PLAIN) and (now == before or repr(now) == repr(before))


class ValuesSnapshot:
    """The values of a tensor or an array, with a copy, so that no write goes unseen."""

    def __init__(self, name: str, certain: bool, source: Tensor | NDArray[Any]) -> None:
        self._change, self._source = Change(name, certain), source
        self._memory: Any = source.detach() if isinstance(source, Tensor) else source
        self._values: Any = source.detach().clone() if isinstance(source, Tensor) else source.copy()
        self._learns = isinstance(source, Tensor) and source.requires_grad

    def changes(self) -> list[Change]:
        """One, if the values, their type or whether it learns are not what they were."""
        now, before = self._source, self._values
        if isinstance(now, Tensor):
            alike = now.shape == before.shape and now.dtype == before.dtype
            same = alike and now.requires_grad == self._learns and _equal(now.detach(), before)
        else:
            same = np.array_equal(now, before) or now.tobytes() == before.tobytes()
        return [] if same else [self._change]

    def restore(self) -> None:
        """Write the values where they were."""
        if not self.changes():
            return
        if isinstance(self._source, Tensor):
            self._memory.copy_(self._values)
            self._source.data = self._memory
            if self._source.is_leaf:
                self._source.requires_grad_(self._learns)
        else:
            self._source[...] = self._values


def _equal(now: Tensor, before: Tensor) -> bool:
    """Whether all values are equal; values that are no numbers equal each other."""
    return same_bits(now, before) or bool(
        ((now == before) | ((now != now) & (before != before))).all()
    )


def same_bits(now: object, before: Tensor) -> bool:
    """Whether two plain tensors are alike in type, shape, number format, device and every bit.

    On the CPU numpy compares them, in a half to a fifth of the time that torch takes. ``before``
    is a copy that nobody else has.
    """
    if type(now) is not Tensor or type(before) is not Tensor:  # others could say what they like
        return False
    alike = now.shape == before.shape and now.dtype == before.dtype and now.device == before.device
    if not alike or now.dtype not in BITS or now.layout != torch.strided or not now.is_cpu:
        return alike and torch.equal(now, before)
    # By DLPack, for a network could not make its buffer larger once `Tensor.numpy` has shown it.
    now_bits = np.from_dlpack(now.detach().resolve_neg()).view(BITS[now.dtype])
    return bool((now_bits == before.numpy(force=True).view(BITS[now.dtype])).all())


def mapping(name: str, values: dict[Any, Any], certain: Collection[str] | bool) -> MappingSnapshot:
    """A dictionary."""

    def write(content: Content) -> None:
        values.clear()
        values.update(content)

    return MappingSnapshot(name, certain, lambda: values, write)


def sequence(name: str, values: list[Any], *, certain: bool) -> MappingSnapshot:
    """A list."""

    def write(content: Content) -> None:
        values[:] = content.values()

    return MappingSnapshot(name, certain, lambda: dict(enumerate(values)), write)


def variables(
    name: str, namespace: dict[str, Any], keys: Collection[str], *, certain: bool
) -> MappingSnapshot:
    """Some variables of a module."""

    def read() -> Content:
        return {key: namespace[key] for key in keys if key in namespace}

    return MappingSnapshot(name, certain, read, namespace.update)


class FunctionsSnapshot:
    """What the functions of many modules stand for, compared in one go: they are thousands.

    Args:
        modules: their variables, by name; what can be called of them is remembered.
    """

    def __init__(self, modules: Mapping[str, dict[str, Any]]) -> None:
        functions = {
            name: tuple(key for key, value in namespace.items() if callable(value))
            for name, namespace in modules.items()
        }
        self._modules = [
            variables(name, modules[name], keys, certain=True) for name, keys in functions.items()
        ]
        self._namespaces = list(modules.values())
        # Two keys at least, since of a single one it gives the bare value.
        self._look = [itemgetter("__name__", "__name__", *keys) for keys in functions.values()]
        self._seen = tuple(self._now())

    def changes(self) -> list[Change]:
        """What is another function now, or is gone."""
        try:
            if all(map(is_, self._now(), self._seen)):
                return []
        except KeyError:  # one is gone
            pass
        return [change for module in self._modules for change in module.changes()]

    def restore(self) -> None:
        """Let every name stand for its function."""
        for module in self._modules:
            module.restore()

    def _now(self) -> Iterator[object]:
        return chain.from_iterable(map(call, self._look, self._namespaces))


def methods(kind: type) -> MappingSnapshot:
    """Functions and properties of a class."""

    def read() -> Content:
        return {
            key: value
            for key, value in vars(kind).items()
            if callable(value) or isinstance(value, (property, staticmethod, classmethod))
        }

    def write(content: Content) -> None:
        now = read()
        for key in now.keys() - content.keys():
            delattr(kind, key)
        for key, value in content.items():
            if now.get(key) is not value:
                setattr(kind, key, value)

    return MappingSnapshot(kind.__name__, True, read, write, lambda: vars(kind).values())
