"""A user's own code: ``path/file.py:function`` or ``module:function``."""

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from torch import nn

from ..checkpoints.state_dict import file_sha256
from ..errors import UserError

FORM = "write it like path/file.py:function or module:function"
_NOT_OURS = ("timm:", "hf:", "hf-hub:", "hf_hub:", "local-dir:")


@dataclass(frozen=True)
class UserNetwork:
    """What a user's function returned.

    Attributes:
        network: the network, in whatever mode the function left it.
        file_sha256: hash of the source file, together with those of the modules that it imported
            from beside it; empty where there is no source file.
    """

    network: nn.Module
    file_sha256: str


def is_user_code(name: str) -> bool:
    """Whether a model name points at code: it has a colon and is no other form of name."""
    return ":" in name and not name.startswith(_NOT_OURS)


def load_user_network(name: str) -> UserNetwork:
    """Run a user's function and take the network it returns.

    The folder of the file (or the working folder, for a module) can be imported from while the
    code runs; afterwards ``sys.path`` is as before, and modules that came from beside the file are
    forgotten, so that the next user file gets its own.

    Args:
        name: ``path/file.py:function`` or ``module:function``; called without arguments.

    Raises:
        UserError: no such file, module or function, an error in the user's code, or something
            other than an `nn.Module` returned. The original error stays as its cause.
    """
    with _imported(name) as (module, attribute, beside):
        network = _call(name, _function(name, module, attribute))
        return UserNetwork(network, _sources_sha256(module, beside()))


def load_user_function(name: str) -> tuple[Callable[..., Any], str]:
    """Import a user's function without calling it, with the hash of its source files.

    What the function imports only when it is called is not in the hash.

    Args:
        name: ``path/file.py:function`` or ``module:function``.

    Raises:
        UserError: no such file, module or function, or an error while importing it.
    """
    with _imported(name) as (module, attribute, beside):
        return _function(name, module, attribute), _sources_sha256(module, beside())


@contextmanager
def _imported(name: str) -> Iterator[tuple[ModuleType, str, Callable[[], list[Path]]]]:
    """The module, the name in it, and a way to ask for the files it imported from beside it."""
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise UserError(f"{name!r} does not name a function; {FORM}")
    file = Path(place) if place.endswith(".py") else None
    if file is not None and not file.is_file():
        raise UserError(f"{name!r}: there is no file {place}; {FORM}")
    with _importable(file.resolve().parent if file is not None else Path.cwd()) as beside:
        module = _import(name, place, file)
        yield module, attribute, lambda: [path for path, _ in beside()]


def _sources_sha256(module: ModuleType, beside: Sequence[Path]) -> str:
    """One hash of the file and of what it imported from beside it; the file's own if nothing."""
    source = getattr(module, "__file__", None)
    if not isinstance(source, str) or not Path(source).is_file():
        return ""
    first = file_sha256(Path(source))
    imported = sorted(
        (path.name, file_sha256(path)) for path in set(beside) - {Path(source)} if path.is_file()
    )
    return sha256(json.dumps([first, *imported]).encode()).hexdigest() if imported else first


def _import(name: str, place: str, file: Path | None) -> ModuleType:
    try:
        if file is None:
            return importlib.import_module(place)
        return _run_file(file.resolve())
    except (Exception, SystemExit) as error:
        raise UserError(f"{name!r} cannot be imported: {_last_line(error)}") from error


class _Source(SourceFileLoader):
    """Runs the text whose hash is recorded: bytecode in a cache may be of a text before it."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file as it is now."""
        return self.source_to_code(self.get_data(self.path), self.path)


def _run_file(path: Path) -> ModuleType:
    """Import a file under a name of its own, which dataclasses and pickles in it look up."""
    name = f"user_code_{sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_Source(name, str(path)))
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not Python source")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_imported(value: object, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) != module.__name__


def _function(name: str, module: ModuleType, attribute: str) -> Callable[..., Any]:
    function: object = getattr(module, attribute, None)
    if function is None:
        offered = {key: value for key, value in vars(module).items() if callable(value)}
        names = [key for key in offered if not key.startswith("_")]
        names.sort(key=lambda key: _is_imported(offered[key], module))
        raise UserError(
            f"{name!r}: there is no {attribute} in {module.__file__ or module.__name__}; "
            f"it has {', '.join(names[:8]) or 'no functions'}"
        )
    if not callable(function) or isinstance(function, nn.Module):
        kind = type(function).__name__
        raise UserError(f"{name!r}: {attribute} is a {kind}, not a function")
    return function


def _call(name: str, function: Callable[..., Any]) -> nn.Module:
    try:
        network = function()
    except (Exception, SystemExit) as error:
        raise UserError(f"{name!r} failed when called: {_last_line(error)}") from error
    if not isinstance(network, nn.Module):
        raise UserError(
            f"{name!r} returned a {type(network).__name__}; it must return a torch.nn.Module that "
            "maps pixels (N, 3, H, W) to logits (N, classes)"
        )
    return network


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__


@contextmanager
def _importable(folder: Path) -> Iterator[Callable[[], list[tuple[Path, str]]]]:
    """Imports from the folder work inside; yields a way to ask for what came from there."""
    path, modules = list(sys.path), set(sys.modules)

    def beside() -> list[tuple[Path, str]]:
        sources = [
            (getattr(module, "__file__", None), name) for name, module in list(sys.modules.items())
        ]
        return [
            (Path(source), name)
            for source, name in sources
            if name not in modules
            and isinstance(source, str)
            and _found_through(folder, Path(source), path)
        ]

    sys.path.insert(0, str(folder))
    try:
        yield beside
    finally:
        sys.path[:] = path
        for _, name in beside():
            del sys.modules[name]


def _found_through(folder: Path, source: Path, path: list[str]) -> bool:
    """Whether a module lies beside the user's file, and not where everybody would find it.

    An environment below the folder, or a folder that is searched anyway, is everybody's.
    """
    places = [Path(place) for place in path if place]
    return source.is_relative_to(folder) and not any(
        source.is_relative_to(place) and place.is_relative_to(folder) for place in places
    )
