"""Checkpoints: reading files safely, finding the weights in them, loading them strictly."""

from .declared import check_declared, declared_architectures, training_facts
from .finding import Choice, Weights, both_kinds, find_weights
from .hashing import file_sha256, weights_sha256
from .reading import Checkpoint, expand_checkpoints, read_checkpoint
from .recognition import SAME_KEYS, Candidate, recognise
from .strict import Loaded, load_into

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
