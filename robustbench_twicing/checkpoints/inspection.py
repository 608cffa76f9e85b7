"""Everything that can be known of a checkpoint without running the model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..errors import UserError
from .architecture import Anatomy, anatomy
from .beside.adapter import refuse_unmerged
from .beside.config_file import read_expected
from .candidates import Candidate, recognise
from .constants import declared_constants, take_constants
from .contents import both_kinds, entries
from .declared import declared_architectures, training_facts
from .differences import group_keys
from .layouts import in_our_keys
from .numbers import check_unquantised
from .reading import Checkpoint, read_checkpoint
from .state_dict import weights_sha256

BUFFERS = ("running_mean", "running_var", "num_batches_tracked")
"""Endings of what a state dict holds beside parameters."""


@dataclass(frozen=True)
class WeightsFacts:
    """One set of weights in a file.

    Attributes:
        key: where they are; empty where the file is the state dict.
        keys: number of tensors.
        parameters: number of values, BatchNorm's buffers left out.
        dtypes: precision -> number of tensors.
        not_finite: keys with NaN or infinity.
        sha256: hash of the weights (see `weights_sha256`).
        notes: what was done to find them.
        groups: keys, those that differ in block numbers alone as one.
    """

    key: str
    keys: int
    parameters: int
    dtypes: Mapping[str, int]
    not_finite: tuple[str, ...]
    sha256: str
    notes: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True)
class Inspection:
    """What a checkpoint is.

    Attributes:
        file: path, container and hash.
        top: its uppermost keys; empty for a bare state dict.
        facts: epoch, arguments and the like.
        declared: where the file names its architecture -> the name.
        weights: ``plain``, ``ema`` or both.
        ema_difference: largest difference between plain and EMA weights; None without both, or
            where their keys or shapes differ.
        seen: what keys and shapes show; None for an unknown layout.
        candidates: models of the table that fit.
        remarks: sentences on what lies beside the weights, and on why they cannot be evaluated.
    """

    file: Checkpoint
    top: tuple[str, ...]
    facts: Mapping[str, Any]
    declared: Mapping[str, str]
    weights: Mapping[str, WeightsFacts]
    ema_difference: float | None
    seen: Anatomy | None
    candidates: tuple[Candidate, ...]
    remarks: tuple[str, ...] = ()


def inspect_checkpoint(path: str | Path) -> Inspection:
    """Look at a checkpoint.

    Args:
        path: as `read_checkpoint`.

    Raises:
        UserError: it cannot be read, or holds no weights.
    """
    file = read_checkpoint(path)
    kinds = both_kinds(file.content, source=str(file.path))
    modern, notes = dict[str, dict[str, Tensor]](), dict[str, tuple[str, ...]]()
    for kind, weights in kinds.items():
        modern[kind], renamed = in_our_keys(weights.state_dict)
        notes[kind] = (*weights.notes, *renamed)
    first = next(iter(modern.values()))
    keys = [str(key) for key, _ in entries(file.content)]
    at_top = any(weights.key == "" for weights in kinds.values())
    bare = _without_constants(first)
    return Inspection(
        file=file,
        top=() if at_top else tuple(keys),
        facts=training_facts(file.content),
        declared=declared_architectures(file.content),
        weights={
            kind: _facts(weights.key, modern[kind], notes[kind]) for kind, weights in kinds.items()
        },
        ema_difference=_difference(modern),
        seen=anatomy(bare),
        candidates=recognise(bare),
        remarks=tuple(_remarks(file, first)),
    )


def _without_constants(state_dict: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The weights without a normalising layer's numbers, as far as these are clear."""
    try:
        rest, constants = take_constants(state_dict, (), "")
    except UserError:  # which a remark says
        return state_dict
    layers = {key.partition(".")[0] for key in rest}
    if constants is None or len(layers) != 1:
        return rest
    return {key.partition(".")[2]: tensor for key, tensor in rest.items()}


def _remarks(file: Checkpoint, state_dict: Mapping[str, Tensor]) -> Iterator[str]:
    """What `load_model` would say of the files beside, and of the weights before all networks."""
    path = file.path
    try:
        expected = read_expected(path)
        yield from expected.notes
        if expected.network:
            yield (
                f"config.json describes the network {expected.network!r}: --model hf:{path.parent} "
                "evaluates it as it is."
            )
        refuse_unmerged(state_dict, str(path))
        check_unquantised(state_dict, str(path))
        _, constants = take_constants(state_dict, (), str(path))
        if constants is not None:
            yield f"Mean and std are among the weights: {' and '.join(constants.keys)}."
        elif (constants := declared_constants(file.content)) is not None:
            yield f"Mean and std are beside the weights: {' and '.join(constants.keys)}."
    except UserError as error:
        yield f"{error}."


def _facts(key: str, state_dict: Mapping[str, Tensor], notes: tuple[str, ...]) -> WeightsFacts:
    dtypes: dict[str, int] = {}
    for tensor in state_dict.values():
        name = str(tensor.dtype).removeprefix("torch.")
        dtypes[name] = dtypes.get(name, 0) + 1
    return WeightsFacts(
        key=key,
        keys=len(state_dict),
        parameters=sum(
            tensor.numel() for name, tensor in state_dict.items() if not name.endswith(BUFFERS)
        ),
        dtypes=dtypes,
        not_finite=tuple(
            name
            for name, tensor in state_dict.items()
            if tensor.is_floating_point() and not torch.isfinite(tensor.float()).all()
        ),
        sha256=weights_sha256(state_dict),
        notes=notes,
        groups=tuple(group_keys(state_dict)),
    )


def _difference(weights: Mapping[str, Mapping[str, Tensor]]) -> float | None:
    if len(weights) < 2:
        return None
    plain, ema = weights["plain"], weights["ema"]
    if plain.keys() != ema.keys() or any(plain[key].shape != ema[key].shape for key in plain):
        return None
    return max(
        (
            float((plain[key].float() - ema[key].float()).abs().max())
            for key in plain
            if plain[key].numel()
        ),
        default=0.0,
    )
