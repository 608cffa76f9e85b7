"""What the tensors of a file hold: numbers that a network can compute with, and in which format."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from ..errors import UserError
from ..files.printable import count

SHORT = (torch.int8, torch.uint8, torch.int16, torch.int32)
"""Formats of integers in which weights are quantised; counters are int64."""


def check_unquantised(state_dict: Mapping[str, Tensor], source: str) -> None:
    """Refuse weights that are numbers only together with scales.

    Args:
        state_dict: of a file.
        source: what errors call the file.

    Raises:
        UserError: a matrix of short integers, or of floating point in one byte.
    """
    for key, tensor in state_dict.items():
        if tensor.ndim > 1 and (tensor.dtype in SHORT or _is_float8(tensor)):
            raise UserError(
                f"{source}: {key} holds {dtype_name(tensor.dtype)}: quantised weights, whose "
                "values need scales that are not applied here; convert the weights to float32 first"
            )


def in_format(key: str, tensor: Tensor, dtype: torch.dtype, source: str) -> Tensor:
    """One tensor in a network's format, finite.

    Args:
        key: of the tensor, for errors.
        tensor: of a file.
        dtype: of the network's.
        source: what errors call the file.

    Raises:
        UserError: not a plain tensor of such numbers, or values that are not finite.
    """
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        raise UserError(f"{source}: {key} is a {tensor.layout} tensor; weights are dense numbers")
    if dtype.is_floating_point and not tensor.dtype.is_floating_point:
        raise UserError(
            f"{source}: {key} holds {dtype_name(tensor.dtype)}, and the network computes with "
            f"{dtype_name(dtype)}; quantised weights are not supported"
        )
    if _is_float8(tensor):
        raise UserError(
            f"{source}: {key} holds {dtype_name(tensor.dtype)}, whose values need scales that are "
            "not applied here; convert the weights to float32 first"
        )
    converted = tensor.to(dtype)
    if converted.is_floating_point():
        bad = int((~torch.isfinite(converted)).sum())
        if bad:
            raise UserError(
                f"{source}: {key} has {bad} of {tensor.numel()} values that are not finite "
                "(NaN or infinity); such weights cannot be evaluated"
            )
    return converted


def about_formats(state_dict: Mapping[str, Tensor]) -> Iterator[str]:
    """Sentences on tensors that a file keeps in another floating-point format than float32."""
    counts: dict[torch.dtype, int] = {}
    for tensor in state_dict.values():
        if tensor.is_floating_point() and tensor.dtype != torch.float32:
            counts[tensor.dtype] = counts.get(tensor.dtype, 0) + 1
    for dtype, number in counts.items():
        tensors = count(number, "tensor was", "tensors were")
        yield f"{tensors} stored as {dtype_name(dtype)} and evaluated in float32."


def dtype_name(dtype: torch.dtype) -> str:
    """Like ``float32``."""
    return str(dtype).removeprefix("torch.")


def _is_float8(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.element_size() == 1
