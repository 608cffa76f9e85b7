"""Checkpoints: reading files safely, finding the weights in them, loading them strictly."""

from .candidates import SAME_KEYS, Candidate, recognise
from .contents import Choice, Weights, both_kinds, find_weights
from .declared import check_declared, declared_architectures, training_facts
from .reading import Checkpoint, expand_checkpoints, read_checkpoint
from .state_dict import Loaded, file_sha256, load_into, weights_sha256

__all__ = [
    "SAME_KEYS",
    "Candidate",
    "Checkpoint",
    "Choice",
    "Loaded",
    "Weights",
    "both_kinds",
    "check_declared",
    "declared_architectures",
    "expand_checkpoints",
    "file_sha256",
    "find_weights",
    "load_into",
    "read_checkpoint",
    "recognise",
    "training_facts",
    "weights_sha256",
]
