"""Find the weights in what a checkpoint holds, and say which were taken."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from torch import Tensor

from ..errors import UserError

Choice = Literal["auto", "plain", "ema"]

PLAIN_KEYS = ("state_dict", "model", "module", "model_state_dict", "net", "network", "weights")
"""Where training scripts keep plain weights; the first that is there is taken."""
EMA_KEYS = ("state_dict_ema", "model_ema", "ema_state_dict", "ema", "model_ema_state_dict")
"""Where they keep the exponential moving average."""
WRAPPERS = (*PLAIN_KEYS, *EMA_KEYS, "checkpoint")
PREFIXES = ("module.", "_orig_mod.", "model.")
"""What DistributedDataParallel, torch.compile and Lightning put before every key."""
AVERAGED = "n_averaged"
"""The counter that torch's AveragedModel keeps beside its weights."""
DEEPEST = 4
"""Wrappers inside wrappers beyond this are not followed (a pickle can contain itself)."""


@dataclass(frozen=True)
class Weights:
    """Weights found in a checkpoint.

    Attributes:
        state_dict: keys without any prefix.
        choice: ``plain`` or ``ema``.
        key: where they were, like ``model`` or ``checkpoint.state_dict_ema``; empty when bare.
        prefix: what was taken off every key.
        notes: sentences a reader must know.
    """

    state_dict: dict[str, Tensor]
    choice: Literal["plain", "ema"]
    key: str
    prefix: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Candidate:
    key: str
    ema: bool
    tensors: Mapping[Any, Any]


def entries(mapping: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Items of a dict from a file, whose own attributes could stand before its methods."""
    return list(dict.items(mapping)) if isinstance(mapping, dict) else []


def find_weights(
    content: Any, choice: Choice = "auto", *, source: str = "it", network: Collection[str] = ()
) -> Weights:
    """Choose the weights to evaluate.

    Args:
        content: what the file holds: a state dict, or one inside the wrappers of `PLAIN_KEYS` and
            `EMA_KEYS`, nested in any order.
        choice: ``plain``; ``ema``; ``auto``, which is plain, and EMA only where there is no other.
        source: what errors call the file.
        network: keys of the network that is to have the weights, whose own prefixes stay.

    Raises:
        UserError: an unknown choice, no weights of that kind, or something else among the tensors.
    """
    if choice not in get_args(Choice):
        raise UserError(f"weights {choice!r} is none of {', '.join(get_args(Choice))}")
    state_dicts = list(_walk(content))
    if not state_dicts:
        raise UserError(f"{source} holds no weights: {_inventory(content)}")
    plain = [candidate for candidate in state_dicts if not candidate.ema]
    ema = [candidate for candidate in state_dicts if candidate.ema]
    taken = _take(choice, plain, ema, source)
    notes = [*_about_choice(choice, taken, state_dicts)]
    state_dict = _only_tensors(taken, source)
    if AVERAGED in state_dict and AVERAGED not in network:
        del state_dict[AVERAGED]
        notes.append(f"The weights are an average: {AVERAGED} beside them is left out.")
    state_dict, prefix = strip_prefixes(state_dict, network)
    if prefix:
        notes.append(f"The prefix {prefix!r} was taken off the keys.")
    return Weights(state_dict, "ema" if taken.ema else "plain", taken.key, prefix, tuple(notes))


def both_kinds(content: Any, *, source: str = "it") -> dict[str, Weights]:
    """Every kind of weights that a file holds: ``plain``, ``ema`` or both.

    Raises:
        UserError: none at all.
    """
    kinds = {"ema" if candidate.ema else "plain" for candidate in _walk(content)}
    choices: tuple[Choice, ...] = ("plain", "ema")
    if not kinds:
        raise UserError(f"{source} holds no weights: {_inventory(content)}")
    return {kind: find_weights(content, kind, source=source) for kind in choices if kind in kinds}


def strip_prefixes(
    state_dict: Mapping[str, Tensor], network: Collection[str] = ()
) -> tuple[dict[str, Tensor], str]:
    """Take off what wrappers put before all keys, in any order and number.

    Args:
        state_dict: as it was saved.
        network: keys of the network that is to have the weights, whose own prefixes stay.

    Returns:
        The state dict, and the prefix that was taken off (empty if none), as it is in the file.
    """
    wanted = set(network)
    bare, prefix = _without_common_prefixes(dict(state_dict), wanted)
    inside = {_without_compiled(key): tensor for key, tensor in bare.items()}
    if len(inside) < len(bare) or _lost(bare, inside, wanted):
        return bare, prefix
    bare, rest = _without_common_prefixes(inside, wanted)
    return bare, prefix + rest


def _without_common_prefixes(
    state_dict: dict[str, Tensor], wanted: set[str]
) -> tuple[dict[str, Tensor], str]:
    off = ""
    while prefix := _common_prefix(state_dict):
        bare = {key.removeprefix(prefix): tensor for key, tensor in state_dict.items()}
        if _lost(state_dict, bare, wanted):
            break
        state_dict, off = bare, off + prefix
    return state_dict, off


def _lost(before: Mapping[str, Tensor], after: Mapping[str, Tensor], wanted: set[str]) -> bool:
    """Whether fewer keys are the network's than before."""
    return len(wanted & after.keys()) < len(wanted & before.keys())


def _without_compiled(key: str) -> str:
    """The key without the mark that torch.compile leaves where a part of a network was compiled."""
    return ".".join(part for part in key.split(".") if part != "_orig_mod")


def _common_prefix(state_dict: Mapping[str, Tensor]) -> str:
    for prefix in PREFIXES:
        if state_dict and all(key.startswith(prefix) for key in state_dict):
            return prefix
    return ""


def _walk(
    value: Any, path: tuple[str, ...] = (), ema: bool = False, seen: frozenset[int] = frozenset()
) -> Iterator[_Candidate]:
    """All state dicts behind known wrappers, in the order in which plain weights are preferred."""
    if not isinstance(value, dict) or id(value) in seen or len(path) > DEEPEST:
        return
    here = dict(entries(value))
    wrappers = [key for key in WRAPPERS if isinstance(here.get(key), dict)]
    if not wrappers and any(isinstance(part, Tensor) for part in here.values()):
        yield _Candidate(".".join(path), ema, here)
    for key in wrappers:
        yield from _walk(here[key], (*path, key), ema or key in EMA_KEYS, seen | {id(value)})


def _take(
    choice: Choice, plain: list[_Candidate], ema: list[_Candidate], source: str
) -> _Candidate:
    if choice == "ema":
        if not ema:
            raise UserError(
                f"{source} holds no EMA weights ({_names(plain)} only); ask for plain weights"
            )
        return ema[0]
    if plain:
        return plain[0]
    if choice == "plain":
        raise UserError(
            f"{source} holds EMA weights only ({_names(ema)}); ask for ema weights, or auto"
        )
    return ema[0]


def _about_choice(choice: Choice, taken: _Candidate, candidates: list[_Candidate]) -> Iterator[str]:
    if taken.ema and choice == "auto":
        yield f"The file holds EMA weights only; those under {taken.key!r} were taken."
    left = [candidate.key for candidate in candidates if candidate is not taken]
    if left:
        kind = "EMA weights" if taken.ema else "Plain weights"
        listed = ", ".join(repr(key) for key in left)
        yield f"{kind} under {taken.key!r} were taken; the file also holds {listed}."


def _only_tensors(taken: _Candidate, source: str) -> dict[str, Tensor]:
    odd = [key for key, part in taken.tensors.items() if not isinstance(part, Tensor)]
    odd += [key for key in taken.tensors if not isinstance(key, str)]
    if odd:
        kind = type(taken.tensors[odd[0]]).__name__
        where = f"{source} under {taken.key!r}" if taken.key else source
        raise UserError(
            f"{where} holds something other than named tensors among its weights: "
            f"{odd[0]!r} is a {kind}; a state dict holds tensors alone"
        )
    return dict(taken.tensors)


def _names(candidates: list[_Candidate]) -> str:
    keys = [candidate.key for candidate in candidates]
    return ", ".join(repr(key) if key else "a bare state dict" for key in keys)


def _inventory(content: Any) -> str:
    wanted = f"wanted is a state dict, bare or under {', '.join(PLAIN_KEYS[:3])}"
    if not isinstance(content, dict):
        return f"it is a {type(content).__name__}; {wanted}"
    keys = [str(key) for key, _ in entries(content)]
    listed = ", ".join(keys[:8]) + (", ..." if len(keys) > 8 else "")
    return f"its keys are {listed or 'none'}; {wanted}"
