"""Read what a pickle would do, without doing it.

A symbolic run over the opcodes: it finds every name the file mentions, every storage it declares
and every tensor it cuts out of one, before torch.load is let near it. That gives errors which name
the foreign class, and refuses sizes that the file cannot back before anything is allocated.
"""

import pickletools
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from .allowed import CALLABLE, MENTIONABLE, REBUILDERS, STORAGE_SIZES
from .storages import DamagedPickleError, Global, Storage, TensorRef, cut


class ForeignGlobalError(Exception):
    """The pickle mentions a name that is not on the list; the name is the message."""


@dataclass(frozen=True)
class Survey:
    """What a pickle mentions.

    Attributes:
        protocol: pickle protocol.
        storages: by key.
        tensor_bytes: bytes of all tensors together, views of one storage counted each.
        result: the value on top, where it is a plain number, text or list; else None.
    """

    protocol: int
    storages: dict[str, Storage]
    tensor_bytes: int
    result: Any


LARGEST_TUPLE = 2**17
"""Items of a tuple and of the tuples inside it, counted at every mention.

Python hashes and prints a tuple by walking through it, and never ends where sixty bytes have
doubled it sixty times.
"""
DEEPEST_TUPLE = 50
"""Tuples inside tuples; Python's walk down a million of them ends the process."""
_OPAQUE = object()
"""Something built from harmless parts whose content does not matter here."""
_CONSTANTS: dict[str, Any] = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
    "EMPTY_TUPLE": (),
    "EMPTY_DICT": _OPAQUE,
    "EMPTY_SET": _OPAQUE,
}
_LITERALS = frozenset(
    f"{prefix}{kind}"
    for kind in ("UNICODE", "STRING", "BYTES", "INT", "LONG", "FLOAT")
    for prefix in ("", "BIN", "SHORT_BIN")
) | {"BININT1", "BININT2", "LONG1", "LONG4", "BINUNICODE8", "BINBYTES8"}


def survey(file: IO[bytes]) -> Survey:
    """Run one pickle symbolically, from the file's position to just behind its end.

    Raises:
        ForeignGlobalError: it mentions a name that is not on the list.
        DamagedPickleError: it is no pickle, is cut off, or a tensor does not fit its storage.
    """
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(file):
            machine.step(opcode.name, argument)
    # A Warning is an exception where a program turns them into errors.
    except (ValueError, IndexError, KeyError, OverflowError, DeprecationWarning) as error:
        raise DamagedPickleError(str(error) or type(error).__name__) from error
    result = machine.stack[-1] if machine.stack else None
    plain = isinstance(result, (int, str, list))
    return Survey(
        machine.protocol, machine.storages, machine.tensor_bytes, result if plain else None
    )


@dataclass
class _Machine:
    stack: list[Any] = field(default_factory=list)
    marks: list[list[Any]] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)
    tuples: dict[int, tuple[tuple[Any, ...], int, int]] = field(default_factory=dict)
    """By id: the tuple (kept, or its id would be given again), its items in all, its depth."""
    tensor_bytes: int = 0
    protocol: int = 0

    def step(self, name: str, argument: Any) -> None:
        if name in _CONSTANTS:
            self.push(_CONSTANTS[name])
        elif name in _LITERALS:
            self.push(argument)
        elif name in _MOVES:
            _MOVES[name](self, argument)
        else:
            raise DamagedPickleError(f"it uses the pickle operation {name}")

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def protocol_is(self, argument: int) -> None:
        self.protocol = argument

    def put(self, argument: int | None) -> None:
        self.memo[len(self.memo) if argument is None else argument] = self.stack[-1]

    def get(self, argument: int) -> None:
        self.push(self.memo[argument])

    def mark(self, _: object) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def pop_mark(self) -> list[Any]:
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def build_tuple(self, items: list[Any]) -> None:
        size, depth = len(items), 1
        for item in items:
            if isinstance(item, tuple) and item:
                _, inner_size, inner_depth = self.tuples[id(item)]
                size, depth = size + inner_size, max(depth, inner_depth + 1)
        if size > LARGEST_TUPLE or depth > DEEPEST_TUPLE:
            raise DamagedPickleError("it nests tuples as no checkpoint does")
        built = tuple(items)
        self.tuples[id(built)] = built, size, depth
        self.push(built)

    def dictionary(self, _: object) -> None:
        self.pop_mark()
        self.push(_OPAQUE)

    def take(self, count: int) -> list[Any]:
        items = self.stack[-count:]
        if len(items) < count:
            raise IndexError("its stack is empty")
        del self.stack[-count:]
        return items

    def extend(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def mention(self, module: object, attribute: object) -> None:
        self.push(_mention(str(module), str(attribute)))

    def persistent(self, _: object) -> None:
        self.push(self._storage(*self.take(1)))

    def call(self, _: object) -> None:
        self.push(self._call(*self.take(2)))

    def build(self, _: object) -> None:
        self.take(1)
        if self.stack[-1] is not _OPAQUE:
            raise DamagedPickleError("it changes a tensor after building it")

    def _storage(self, pid: Any) -> Storage:
        match pid:
            case ("storage", Global(name), str(key), str(), int(numel)) if numel >= 0:
                pass
            case ("storage", Global(name), str(key), str(), int(numel), None) if numel >= 0:
                pass
            case _:
                raise DamagedPickleError("it declares no storage where it should")
        if name not in STORAGE_SIZES:
            raise DamagedPickleError(f"{name} is no type of storage")
        storage = Storage(key, STORAGE_SIZES[name], numel)
        if self.storages.setdefault(key, storage) != storage:
            raise DamagedPickleError(f"it declares storage {key!r} twice, in two ways")
        return storage

    def _call(self, function: Any, arguments: Any) -> Any:
        if not isinstance(function, Global) or not isinstance(arguments, tuple):
            raise DamagedPickleError("it calls something that is no function")
        if function.name not in REBUILDERS:
            if function.name not in CALLABLE:
                raise DamagedPickleError(f"it calls {function.name}")
            return _OPAQUE
        if "parameter" in function.name:
            match arguments:
                case (TensorRef() as tensor, *_):
                    return tensor
            raise DamagedPickleError("a parameter is made of something that is no tensor")
        tensor = cut(arguments)
        self.tensor_bytes += tensor.nbytes
        return tensor


_MOVES: dict[str, Callable[[_Machine, Any], object]] = {
    "FRAME": lambda machine, _: None,
    "STOP": lambda machine, _: None,
    "PROTO": _Machine.protocol_is,
    "MARK": _Machine.mark,
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.put),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Machine.get),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "APPEND": lambda machine, _: machine.extend(machine.take(1)),
    "APPENDS": lambda machine, _: machine.extend(machine.pop_mark()),
    "SETITEM": lambda machine, _: machine.take(2),
    "SETITEMS": lambda machine, _: machine.pop_mark(),
    "ADDITEMS": lambda machine, _: machine.pop_mark(),
    "LIST": lambda machine, _: machine.push(machine.pop_mark()),
    "DICT": _Machine.dictionary,
    "TUPLE": lambda machine, _: machine.build_tuple(machine.pop_mark()),
    "TUPLE1": lambda machine, _: machine.build_tuple(machine.take(1)),
    "TUPLE2": lambda machine, _: machine.build_tuple(machine.take(2)),
    "TUPLE3": lambda machine, _: machine.build_tuple(machine.take(3)),
    "GLOBAL": lambda machine, text: machine.mention(*text.split(" ", 1)),
    "INST": lambda machine, text: machine.mention(*text.split(" ", 1)),
    "STACK_GLOBAL": lambda machine, _: machine.mention(*machine.take(2)),
    "BINPERSID": _Machine.persistent,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "BUILD": _Machine.build,
}
"""What each pickle operation does to the stack."""


def _mention(module: str, attribute: str) -> Global:
    if (module, attribute) in NAME_MAPPING:
        module, attribute = NAME_MAPPING[module, attribute]
    name = f"{IMPORT_MAPPING.get(module, module)}.{attribute}"
    if name not in MENTIONABLE:
        raise ForeignGlobalError(name)
    return Global(name)
