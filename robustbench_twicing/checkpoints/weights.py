"""The ways to give a network its weights: a file, published or bundled ones, a random seed."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import UserError
from ..models.spec import ModelSpec
from .architecture import is_ambiguous
from .beside.adapter import merge_adapter, refuse_unmerged
from .bundled import ZOO, bundled_file
from .constants import Constants, declared_constants, take_constants
from .contents import Choice, Weights, find_weights
from .declared import check_declared, declared_architectures, training_facts
from .hub import fetch_pretrained, timm_state_dict
from .reading import read_checkpoint
from .state_dict import file_sha256, load_into, weights_sha256

PRETRAINED, BUNDLED, RANDOM = "pretrained", "bundled", "random:"
LARGEST_SEED = 2**63


@dataclass(frozen=True)
class Given:
    """A network with weights, what a record says of them, and the file's own mean and std."""

    network: nn.Module
    checkpoint: str
    checkpoint_sha256: str = ""
    weights: str = ""
    weights_sha256: str = ""
    notes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    constants: Constants | None = None

    def training_size_notes(self, crop: int) -> tuple[str, ...]:
        """A sentence where the file says that it was trained at another input size, in pixels."""
        trained = self.details.get("args", {}).get("input_size")
        if not isinstance(trained, int) or trained == crop:
            return ()
        return (
            f"The file was trained at input size {trained} (args.input_size) and is evaluated at "
            f"{crop}.",
        )


def give_weights(
    build: Callable[[], nn.Module],
    checkpoint: str | None,
    asked: str,
    *,
    spec: ModelSpec | None,
    weights: Choice = "auto",
    arch_override: bool = False,
    beside: Mapping[str, str] | None = None,
    adapter: str | None = None,
) -> Given:
    """Build a network and give it weights.

    Args:
        build: makes the network; called once, with torch's global generator set aside.
        checkpoint: a path, ``pretrained``, ``bundled`` or ``random:SEED``.
        asked: the model's name, for errors.
        spec: the model of the table or of timm; None for a user's own network.
        weights: see `find_weights`.
        arch_override: see `check_declared`.
        beside: architectures that files beside the checkpoint name, by where they do.
        adapter: a LoRA adapter to merge into the file's weights.

    Raises:
        UserError: no checkpoint, or one that cannot be used, with the reason.
    """
    if checkpoint is None:
        raise UserError(
            f"no checkpoint was given for {asked}, and none is implied; {_ways(asked, spec)}"
        )
    named = checkpoint in (PRETRAINED, BUNDLED) or checkpoint.startswith(RANDOM)
    if named and adapter is not None:
        raise UserError(f"an adapter is merged into a file's weights, not into {checkpoint} ones")
    if named and weights == "ema":
        raise UserError(f"{checkpoint} weights of {asked} have no EMA; leave --weights out")
    if checkpoint.startswith(RANDOM) or checkpoint == RANDOM.rstrip(":"):
        return _random(build, checkpoint, asked, spec)
    with torch.random.fork_rng(devices=[]):
        network = build()
    if checkpoint == PRETRAINED:
        return _pretrained(network, asked, spec)
    if checkpoint == BUNDLED:
        return _bundled(network, asked, spec)
    from_file = _File(checkpoint, asked, spec, weights, arch_override, beside or {}, adapter)
    return from_file.into(network)


def _ways(asked: str, spec: ModelSpec | None) -> str:
    """How to give a model its weights, in words that can be typed as they are."""
    ways = [f"{asked}=FILE with the path of a checkpoint"]
    if spec is not None:
        if spec.name in ZOO:
            ways.insert(0, f"{asked}=bundled (its weights come with the package)")
        elif spec.timm_name:
            ways.append(f"{asked}=pretrained (timm's weights)")
        ways.append(f"{asked}=random:0 (an untrained net of seed 0; any random:SEED)")
    *first, last = ways
    return f"write {', '.join(first)}{' or ' if first else ''}{last}"


def _random(
    build: Callable[[], nn.Module], checkpoint: str, asked: str, spec: ModelSpec | None
) -> Given:
    digits = checkpoint.removeprefix(RANDOM)
    if not (digits.isascii() and digits.isdigit() and int(digits) < LARGEST_SEED):
        raise UserError(f"checkpoint {checkpoint!r} has no seed; write it like random:0")
    if spec is None:
        raise UserError(
            f"{checkpoint} is for models of the table; {asked} is your own code, which initialises "
            "its network itself"
        )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(int(digits))
        network = build()
    return Given(
        network,
        checkpoint=checkpoint,
        weights_sha256=weights_sha256(network.state_dict()),
        notes=(f"The weights are random (seed {digits}): the model has not been trained.",),
        flags=("random-weights",),
    )


def _pretrained(network: nn.Module, asked: str, spec: ModelSpec | None) -> Given:
    if spec is None:
        raise UserError(f"pretrained weights are timm's; {asked} is your own code and has none")
    path = fetch_pretrained(spec)
    state_dict = find_weights(read_checkpoint(path).content, source=str(path)).state_dict
    if spec.family == "timm":
        with torch.random.fork_rng(devices=[]):
            state_dict = timm_state_dict(spec, state_dict)
    loaded = load_into(network, state_dict, source=f"timm's {spec.timm_name}", asked=asked)
    return Given(
        network,
        checkpoint=PRETRAINED,
        checkpoint_sha256=file_sha256(path),
        weights="plain",
        weights_sha256=loaded.sha256,
        notes=(f"The weights are those that timm publishes for {spec.timm_name}.", *loaded.notes),
    )


def _bundled(network: nn.Module, asked: str, spec: ModelSpec | None) -> Given:
    if spec is None:
        raise UserError(f"bundled weights are for the zoo; {asked} is your own code and has none")
    path = str(bundled_file(spec.name))
    given = _File(path, asked, spec).into(network)
    facts = given.details
    note = (
        f"The weights come with the package: recipe {facts['recipe']}, seed {facts['seed']}, "
        f"{facts['accuracy']} right on {facts['accuracy_data']}."
    )
    return replace(given, checkpoint=BUNDLED, notes=(note, *given.notes))


@dataclass(frozen=True)
class _File:
    """A checkpoint, and what is asked of it."""

    checkpoint: str
    asked: str
    spec: ModelSpec | None
    weights: Choice = "auto"
    arch_override: bool = False
    beside: Mapping[str, str] = field(default_factory=dict)
    adapter: str | None = None

    def into(self, network: nn.Module) -> Given:
        """Give a network its weights."""
        file = read_checkpoint(self.checkpoint)
        source, facts = str(file.path), training_facts(file.content)
        declared = {**declared_architectures(file.content), **self.beside}
        named_notes, flags = _check_name(declared, self.spec, self.arch_override, source)
        keys = network.state_dict().keys()
        chosen = find_weights(file.content, self.weights, source=source, network=keys)
        refuse_unmerged(chosen.state_dict, source, keys)
        state_dict, notes, details = self._prepared(chosen, source)
        details |= {"beside": dict(self.beside)} if self.beside else {}
        constants = None
        if self.spec is not None:
            state_dict, constants = take_constants(state_dict, keys, source)
            constants = constants or declared_constants(file.content)
        loaded = load_into(
            network, state_dict, source=source, asked=self.asked, taken_off=chosen.prefix
        )
        return Given(
            network,
            checkpoint=self.checkpoint,
            checkpoint_sha256=file.sha256,
            weights=chosen.choice,
            weights_sha256=loaded.sha256,
            notes=(*named_notes, *chosen.notes, *notes, *loaded.notes, *_about_start(facts)),
            flags=flags,
            details={**facts, "key": chosen.key, "container": file.container, **details},
            constants=constants,
        )

    def _prepared(
        self, chosen: Weights, source: str
    ) -> tuple[dict[str, Tensor], tuple[str, ...], dict[str, Any]]:
        """The file's weights with the adapter in them, a note on that, and what is recorded."""
        if self.adapter is None:
            return chosen.state_dict, (), {}
        merged = merge_adapter(chosen.state_dict, self.adapter, source)
        recorded = {"adapter": self.adapter, "adapter_sha256": merged.sha256}
        return merged.state_dict, (merged.note,), recorded


def _about_start(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence on the weights that the training of a file began with, where it names them."""
    digest, name = facts.get("from_weights_sha256"), facts.get("from_architecture")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        return ()
    named = repr(name) if name else "a file that does not name its architecture"
    return (f"Its training started from weights of {named} (SHA-256 {digest[:8]}...).",)


def _check_name(
    declared: Mapping[str, str], spec: ModelSpec | None, override: bool, source: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if spec is None:
        return (), ()
    notes, flags = check_declared(declared, spec, override=override, source=source)
    if not declared and is_ambiguous(spec.family):
        notes += (
            "The file does not name its architecture, and its keys fit other variants of attention "
            f"too: that it is {spec.name} is the user's word.",
        )
    return notes, flags
