"""How much memory the tensors of a pickle claim, against what their storages hold."""

from dataclasses import dataclass
from typing import Any

from .allowed import DTYPE_SIZES


class DamagedPickleError(Exception):
    """Not a pickle, cut off, or one that declares what cannot be."""


@dataclass(frozen=True)
class Storage:
    """A block of memory that the file declares.

    Attributes:
        key: its name in the file.
        itemsize: bytes an element.
        numel: number of elements.
    """

    key: str
    itemsize: int
    numel: int


@dataclass(frozen=True)
class Global:
    """A name that a pickle mentions."""

    name: str


@dataclass(frozen=True)
class TensorRef:
    """A tensor that a pickle declares, of so many bytes."""

    nbytes: int


def cut(arguments: tuple[Any, ...]) -> TensorRef:
    """Check that a tensor lies inside its storage, and how many bytes it has.

    Args:
        arguments: what the file gives to torch's rebuilding function.

    Raises:
        DamagedPickleError: it does not.
    """
    match arguments:
        case (Storage() as storage, int(offset), tuple(size), tuple(stride), *rest):
            pass
        case _:
            raise DamagedPickleError("a tensor is not cut out of a storage")
    if len(size) != len(stride) or not all(
        isinstance(part, int) and part >= 0 for part in (offset, *size, *stride)
    ):
        raise DamagedPickleError("a tensor has an impossible size, stride or offset")
    itemsize = storage.itemsize
    for part in rest:
        if isinstance(part, Global):
            itemsize = DTYPE_SIZES.get(part.name, itemsize)
    numel, last = 1, offset
    for length, step in zip(size, stride, strict=True):
        numel *= length
        last += (length - 1) * step
    if numel and (
        (last + 1) * itemsize > storage.itemsize * storage.numel
        or numel * itemsize > storage.itemsize * storage.numel
    ):
        raise DamagedPickleError(
            f"a tensor of size {size} needs more than the "
            f"{storage.itemsize * storage.numel} bytes of its storage"
        )
    return TensorRef(numel * itemsize)
