"""The only names that a pickled checkpoint may mention, and the inert things they stand for.

Files of the DeiT and FAN training scripts hold an `argparse.Namespace` with paths, NumPy scalars
and optimiser state beside the tensors. Each of these is mapped to something that cannot touch the
file system or the interpreter; NumPy's own restoring functions are not called, since they trust
the item sizes and flags that a file declares.
"""

import argparse
import re
import types
from collections import OrderedDict
from collections.abc import Callable
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DTYPE_CODE = re.compile(r"[?biufcSU]\d{0,6}")


def _shown(value: object) -> str:
    """Text as it is, anything else by its type: lists that share lists print without end."""
    return repr(value) if isinstance(value, str) else f"of type {type(value).__name__}"


class StoredDtype:
    """A NumPy dtype as a file describes it: plain numbers and text, no objects, no structures."""

    def __init__(self, code: object, align: bool = False, copy: bool = False) -> None:
        if not isinstance(code, str) or not _DTYPE_CODE.fullmatch(code):
            raise ValueError(f"NumPy dtype {_shown(code)} is neither a number nor text")
        self.dtype: np.dtype[Any] = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = state[1]
        if order not in ("<", ">", "|", "="):
            raise ValueError(f"NumPy byte order {_shown(order)} is unknown")
        self.dtype = self.dtype.newbyteorder(order)

    def __repr__(self) -> str:
        return str(self.dtype)


class StoredArray:
    """A NumPy array as a file describes it; `array` is None until its content has been read."""

    array: NDArray[Any] | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, raw = state
        flat = np.frombuffer(raw, dtype.dtype)
        self.array = flat.reshape(shape, order="F" if fortran else "C")

    def __repr__(self) -> str:
        return "an unfinished array" if self.array is None else repr(self.array.tolist())


def _array(*_: object) -> StoredArray:
    return StoredArray()


def _scalar(dtype: StoredDtype, raw: bytes) -> Any:
    if len(raw) != dtype.dtype.itemsize:
        raise ValueError(f"a NumPy {dtype} scalar has {len(raw)} bytes")
    return np.frombuffer(raw, dtype.dtype)[0].item()


def _mapping(*_: object) -> OrderedDict[Any, Any]:
    """A defaultdict loses its factory: nothing in a file decides what a look-up calls."""
    return OrderedDict()


def _builtin(*_: object) -> None:
    """Stands for a builtin type that a file mentions; it is never needed to read weights."""


STAND_INS: dict[str, Callable[..., Any]] = {
    "argparse.Namespace": argparse.Namespace,
    "types.SimpleNamespace": types.SimpleNamespace,
    "collections.defaultdict": _mapping,
    "numpy.dtype": StoredDtype,
    "numpy.ndarray": StoredArray,
    **{f"builtins.{name}": _builtin for name in ("list", "dict", "tuple", "int", "float", "str")},
    **{
        f"numpy.{core}.multiarray.{name}": stand_in
        for core in ("core", "_core")
        for name, stand_in in (("scalar", _scalar), ("_reconstruct", _array))
    },
    **{
        f"{module}.{name}": pure
        for module in ("pathlib", "pathlib._local")
        for pure, names in (
            (PurePosixPath, ("PosixPath", "PurePosixPath", "Path", "PurePath")),
            (PureWindowsPath, ("WindowsPath", "PureWindowsPath")),
        )
        for name in names
    },
}
"""What a name in a file is replaced by: handed to torch.load as its allow-list."""

REBUILDERS = {
    f"torch._utils.{name}"
    for name in (
        "_rebuild_tensor",
        "_rebuild_tensor_v2",
        "_rebuild_tensor_v3",
        "_rebuild_parameter",
        "_rebuild_parameter_with_state",
    )
}
STORAGE_SIZES = {
    f"{module}.{name}": size
    for module in ("torch", "torch.cuda", "torch.storage")
    for name, size in {
        "ByteStorage": 1,
        "CharStorage": 1,
        "BoolStorage": 1,
        "UntypedStorage": 1,
        "HalfStorage": 2,
        "BFloat16Storage": 2,
        "ShortStorage": 2,
        "FloatStorage": 4,
        "IntStorage": 4,
        "DoubleStorage": 8,
        "LongStorage": 8,
        "ComplexFloatStorage": 8,
        "ComplexDoubleStorage": 16,
    }.items()
}
"""Bytes an element."""
DTYPE_SIZES = {
    f"torch.{name}": size
    for size, names in {
        1: "bool int8 uint8 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz",
        2: "float16 bfloat16 int16 uint16",
        4: "float32 int32 uint32",
        8: "float64 int64 uint64 complex64",
        16: "complex128",
    }.items()
    for name in names.split()
}
CALLABLE = STAND_INS.keys() | {
    "collections.OrderedDict",
    "collections.Counter",
    "builtins.set",
    "builtins.complex",
    "_codecs.encode",
    "torch.Size",
    "torch.device",
}
"""Names that a file may call, apart from the tensor rebuilders."""
MENTIONABLE = CALLABLE | REBUILDERS | STORAGE_SIZES.keys() | DTYPE_SIZES.keys()
"""Everything else is foreign, and the file is refused with its name."""
