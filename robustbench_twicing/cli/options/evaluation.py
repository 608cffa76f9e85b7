"""Options of an evaluation, shared by the commands that take them."""

from dataclasses import dataclass

from .attacked import AttackedOptions
from .corrupted import CorruptedOptions
from .evaluated import EvaluatedOptions
from .preprocessing import PreprocessingOptions
from .run import RunOptions

COMMON = (
    *("model", "label", "data", "limit", "suite", "attacks", "eps", "protocol"),
    *("batch_size", "device", "out"),
)
"""Options that the short help of a command with all of them shows."""

OF_LABELS = ("labels", "labels_superset", "class_order", "classes")
OF_IMAGES = (*OF_LABELS, "max_pixels", "limit", "limit_seed")
"""Options that say what the images of a --data are."""
OF_MODELS = ("model", "checkpoint", "weights", "label", "num_classes", "arch_override", "adapter")
OF_PIXELS = ("resize", "squash", "crop", "interpolation", "mean", "std")
"""How photographs become a network's input."""


# Fields of the last base come first: panels stand in --help from the last to the first.
@dataclass(frozen=True)
class EvalOptions(
    RunOptions, PreprocessingOptions, CorruptedOptions, AttackedOptions, EvaluatedOptions
):
    """What `eval` and `plan` are asked for, as typed on the command line."""
