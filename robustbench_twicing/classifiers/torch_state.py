"""Settings and functions of this process on which the answers of every network depend."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from .snapshots import FunctionsSnapshot, MappingSnapshot, Snapshot, mapping, methods

WATCHED = ("torch", "torch.nn.functional")
"""Modules whose functions networks call."""
SUITE = (__name__.partition(".")[0], "attacks")
"""Packages whose functions every score goes through."""
CUDNN = ("enabled", "deterministic", "allow_tf32")


def _set_cudnn(values: tuple[bool, ...]) -> None:
    for name, value in zip(CUDNN, values, strict=True):
        setattr(torch.backends.cudnn, name, value)


def _autocast() -> tuple[bool, ...]:
    return tuple(torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda"))


def _set_autocast(values: tuple[bool, ...]) -> None:
    for kind, value in zip(("cpu", "cuda"), values, strict=True):
        torch.set_autocast_enabled(kind, value)


def _leave_modes(depth: int) -> None:
    while torch._C._len_torch_function_stack() > depth:
        torch._C._pop_torch_function_stack()


SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "inference mode": (torch.is_inference_mode_enabled, lambda value: None),
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "default device": (torch.get_default_device, torch.set_default_device),
    "torch's function modes": (torch._C._len_torch_function_stack, _leave_modes),
    "determinism": (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    "matmul precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    "autocast": (_autocast, _set_autocast),
    "cudnn": (
        lambda: tuple(getattr(torch.backends.cudnn, name) for name in CUDNN),
        _set_cudnn,
    ),
    "numpy's handling of errors": (np.geterr, lambda value: np.seterr(**value)),
}
"""By name: how a setting is read and written."""


def torch_snapshots() -> Iterator[Snapshot]:
    """The settings, the functions that code in this process can replace, and torch's own hooks."""
    yield from (_setting(name, get, put) for name, (get, put) in SETTINGS.items())
    yield FunctionsSnapshot(
        {
            name: vars(module)
            for name, module in list(sys.modules.items())
            if name in WATCHED or name.partition(".")[0] in SUITE
        }
    )
    yield methods(torch.Tensor)
    for name, hooks in vars(torch.nn.modules.module).items():
        if name.startswith("_global_") and isinstance(hooks, dict):
            yield mapping(f"torch's {name.strip('_')}", hooks, True)


def _setting(name: str, get: Callable[[], Any], put: Callable[[Any], object]) -> MappingSnapshot:
    return MappingSnapshot(name, True, lambda: {"": get()}, lambda content: put(content[""]))
