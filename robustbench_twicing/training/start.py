"""The weights that a training starts from, where these are a checkpoint's and not random ones."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from ..checkpoints.bundled import ZOO
from ..checkpoints.contents import Choice
from ..checkpoints.declared import declared_architectures
from ..checkpoints.state_dict import OtherClassesError
from ..checkpoints.weights import BUNDLED, PRETRAINED, RANDOM
from ..classifiers.loading import load_model
from ..errors import UserError
from ..models.spec import ModelSpec
from .task import Start, Task


def start_from(
    task: Task, checkpoint: str | Path, *, weights: Choice = "auto", arch_override: bool = False
) -> tuple[Task, dict[str, Tensor]]:
    """A checkpoint's weights, read and checked as for an evaluation, and the task with them.

    Where a config.json beside the weights says what images the network expects, the task has these.

    Args:
        task: without such weights.
        checkpoint: a file, ``pretrained`` or ``bundled``, as `load_model` takes it.
        weights: which of those in the file.
        arch_override: take a file that names another architecture than the task's.

    Returns:
        The task, and a state dict for its network.

    Raises:
        UserError: as `load_model`; random weights, or other classes than those of the images.
    """
    if str(checkpoint).startswith(RANDOM):
        raise UserError(
            f"--from {checkpoint}: weights are random where --from is left out, and --seed draws "
            "them; leave it out, or give a trained checkpoint"
        )
    if checkpoint not in (PRETRAINED, BUNDLED) and not Path(checkpoint).exists():
        raise UserError(f"--from {checkpoint}: there is no such file; give {_ways(task.spec)}")
    try:
        model = load_model(
            task.spec.name,
            checkpoint,
            weights=weights,
            num_classes=task.data.num_classes,
            arch_override=arch_override,
        )
    except OtherClassesError as error:
        raise UserError(
            f"{checkpoint} has {error.have} classes and {task.data.name} {error.want}; train it on "
            "images of its own classes"
        ) from None
    record = model.record
    names = dict.fromkeys(declared_architectures(dict(record.details)).values())
    start = Start(
        checkpoint=record.checkpoint,
        sha256=record.checkpoint_sha256,
        weights=record.weights,
        weights_sha256=record.weights_sha256,
        architecture=", ".join(names),
    )
    sizes: dict[str, Any] = {**record.details["sizes"]}
    del sizes["attention"]  # the recipe's is taken
    spec = replace(task.spec, sizes=sizes, preprocessing=model.preprocessing)
    return replace(task, spec=spec, start=start), model.network.state_dict()


def _ways(spec: ModelSpec) -> str:
    """What --from may be for a model, beside random weights."""
    bundled = f" or bundled (those of {spec.name} that come with the package)"
    pretrained = f" or pretrained (timm's of {spec.name})"
    named = bundled if spec.name in ZOO else pretrained if spec.timm_name else ""
    return f"the path of a checkpoint{named}"
