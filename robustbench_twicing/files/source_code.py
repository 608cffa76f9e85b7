"""The code of functions and classes by hash, so that none is taken for another of its name."""

import dis
import inspect
import re
from collections.abc import Iterator
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from types import CodeType
from typing import Any

SHIPPED = ("attacks", "reports", "robustbench_twicing")
"""This suite's packages: every session notes their version and commit."""
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def code_sha256(*things: Any) -> str:
    """SHA-256 of the code of functions, classes or objects, as far as it can be known.

    Covered: the source with its decorators, defaults and comments (the bytecode of what was typed
    at a prompt), and in turn what this code uses of its own module: functions, classes, numbers,
    texts, tuples, and lists and dicts in capitals. Of an object its class is meant, and how the
    object describes itself; of a partial its function, without what is bound to it.

    Not covered: other modules, arrays and tensors, and compiled code.
    """
    texts = (text for thing in things for text in _texts(thing))
    return sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def foreign_code_sha256(*things: Any) -> str:
    """The same of those that this suite does not ship; empty where it ships all of them."""
    foreign = [thing for thing in things if not is_shipped(thing)]
    return code_sha256(*foreign) if foreign else ""


def is_shipped(thing: Any) -> bool:
    """Whether a function, or the class of an object, is of this suite's packages."""
    module: str = getattr(_definition(thing), "__module__", None) or ""
    return module.partition(".")[0] in SHIPPED


def is_same_place(one: Any, other: Any) -> bool:
    """Whether two functions have one name in one module: then it was loaded again."""
    places = [
        (definition.__module__, definition.__qualname__)
        for definition in (_definition(one), _definition(other))
    ]
    return places[0] == places[1]


def _definition(thing: Any) -> Any:
    """The function or class in which the code of a thing stands."""
    while isinstance(thing, partial):
        thing = thing.func
    thing = inspect.unwrap(thing)
    if inspect.ismethod(thing):
        thing = thing.__self__
    return thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)


def _texts(thing: Any) -> Iterator[str]:
    definition = _definition(thing)
    if inspect.isclass(definition) and thing is not definition:
        yield ADDRESS.sub("", repr(thing))
    waiting, seen = [definition], {definition}
    while waiting:
        definition = waiting.pop()
        yield _text(definition)
        for name, value in _used(definition):
            if not callable(value):
                yield f"{name} = {value!r}"
            elif value not in seen:
                seen.add(value)
                waiting.append(value)


def _text(definition: Any) -> str:
    try:
        return inspect.getsource(definition)
    except (OSError, TypeError):
        return "".join(_bytecode(function.__code__) for function in _functions(definition))


def _bytecode(code: CodeType) -> str:
    constants = [
        _bytecode(constant) if isinstance(constant, CodeType) else constant
        for constant in code.co_consts
    ]
    return repr((code.co_code, code.co_names, constants))


def _functions(definition: Any) -> list[Any]:
    """A function itself, or the methods of a class."""
    members = vars(definition).values() if inspect.isclass(definition) else [definition]
    functions = (inspect.unwrap(getattr(member, "fget", member)) for member in members)
    return [function for function in functions if inspect.isfunction(function)]


def _used(definition: Any) -> Iterator[tuple[str, Any]]:
    """What a function or class uses of its module, and of the function around it, by name."""
    values: dict[str, Any] = {}
    names: set[str] = set()
    for function in _functions(definition):
        values |= function.__globals__
        names |= set(_globals(function.__code__))
    if inspect.isfunction(definition):
        around = inspect.getclosurevars(definition).nonlocals
        values, names = {**values, **around}, names | around.keys()
    if inspect.isclass(definition):
        parents = {parent.__qualname__: parent for parent in definition.__mro__[1:]}
        values, names = values | parents, names | parents.keys()
    for name in sorted(names & values.keys()):
        value = values[name]
        if callable(value):
            inner = _definition(value)
            if getattr(inner, "__module__", None) == definition.__module__:
                yield name, inner
        elif _is_constant(name, value) and not ADDRESS.search(repr(value)):
            yield name, value


def _globals(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


def _is_constant(name: str, value: object) -> bool:
    """A notebook keeps what it showed last in names like ``_`` and ``_1``."""
    if name.isupper():
        return isinstance(value, (bool, int, float, str, tuple, list, dict))
    return not name.startswith("_") and isinstance(value, (bool, int, float, str, tuple))


@cache
def suite_sha256() -> str:
    """SHA-256 over all files of Python of this suite, as they are when it is asked for first."""
    root = Path(__file__).resolve().parents[2]
    digest = sha256()
    for file in sorted(file for name in SHIPPED for file in (root / name).rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\0".encode())
        digest.update(sha256(file.read_bytes()).digest())
    return digest.hexdigest()
