"""What is to be trained, on what and how: checked before any work, and written down."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from .. import __version__
from ..data.dataset import Dataset
from ..errors import UserError
from ..models.spec import ModelSpec
from .recipe import Recipe


@dataclass(frozen=True)
class Start:
    """Weights of a checkpoint that a training starts from.

    Attributes:
        checkpoint: path as given, ``pretrained`` or ``bundled``.
        sha256: hash of the file.
        weights: ``plain`` or ``ema``.
        weights_sha256: hash of the tensors.
        architecture: what the file calls it; empty where it does not.
    """

    checkpoint: str
    sha256: str
    weights: str
    weights_sha256: str
    architecture: str

    def facts(self) -> dict[str, str]:
        """What files of this training say of it."""
        return {
            "from": self.checkpoint,
            "from_architecture": self.architecture,
            "from_weights": self.weights,
            "from_sha256": self.sha256,
            "from_weights_sha256": self.weights_sha256,
        }


@dataclass(frozen=True)
class Task:
    """A training as it was asked for.

    Attributes:
        spec: the model, with as many logits as `data` has classes.
        data: training images.
        val: images whose accuracy is logged; None for none.
        recipe: what is done.
        seed: of every random draw.
        device: where the network is.
        start: the weights it starts from; None for random ones.
    """

    spec: ModelSpec
    data: Dataset
    val: Dataset | None
    recipe: Recipe
    seed: int
    device: torch.device
    start: Start | None = None

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch."""
        return len(self.data) // self.recipe.batch_size

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return self.recipe.epochs * self.steps_per_epoch

    def settings(self) -> dict[str, Any]:
        """Everything that decides the result; a folder is continued only under the same."""
        settings: dict[str, Any] = {
            "model": self.spec.placed_name,
            "sizes": dict(self.spec.sizes),
            "preprocessing": self.spec.preprocessing.as_dict(),
            "recipe": self.recipe.as_dict(),
            "recipe_sha256": self.recipe.sha256(),
            "seed": self.seed,
            "data": _identity(self.data),
            "val": None if self.val is None else _identity(self.val),
            "device": self.device.type,
            "threads": torch.get_num_threads(),
        }
        if self.start is not None:
            settings["from"] = {"weights_sha256": self.start.weights_sha256}
        return settings

    def facts(self, right: int | None) -> dict[str, str]:
        """What the finished file says of itself; the loader checks ``architecture``.

        Args:
            right: images of `val` that the network gets right.
        """
        facts: Mapping[str, Any] = {
            **self.spec.sizes,
            "architecture": self.spec.placed_name,
            "family": self.spec.family,
            "recipe": self.recipe.name,
            "recipe_sha256": self.recipe.sha256(),
            "epochs": self.recipe.epochs,
            "seed": self.seed,
            "training_data": self.data.name,
            "training_fingerprint": self.data.fingerprint,
            "made_by": f"robustbench_twicing {__version__}",
        }
        if self.start is not None:
            facts = {**facts, **self.start.facts()}
        if self.val is not None:
            measured = {
                "accuracy": f"{right} of {len(self.val)}",
                "accuracy_data": self.val.name,
            }
            facts = {**facts, **measured}
        return {key: str(fact) for key, fact in facts.items()}


def make_task(
    spec: ModelSpec,
    data: Dataset,
    val: Dataset | None,
    *,
    recipe: Recipe,
    seed: int,
    device: torch.device,
) -> Task:
    """Check that the model can be trained on these images.

    Raises:
        UserError: timm's own model, an unknown number of classes, fewer images than a batch, other
            classes in ``val``, or a test set with a label space of its own.
    """
    if spec.family == "timm":
        raise UserError(f"{spec.name} is timm's; train it with timm's own script")
    if data.num_classes is None:
        raise UserError(f"{data.name} does not say how many classes there are; give --classes")
    for images in filter(None, (data, val)):
        if images.space is not None:
            raise UserError(
                f"{images.name} is scored by a rule of its own and cannot be trained on; give it "
                "to `eval`, or its folder as plain --data"
            )
    if len(data) < recipe.batch_size:
        raise UserError(
            f"{data.name} has {len(data)} images, fewer than one batch of {recipe.batch_size}; "
            "take a smaller one with --set batch_size=N"
        )
    if val is not None and val.num_classes not in (None, data.num_classes):
        raise UserError(
            f"{val.name} has {val.num_classes} classes and {data.name} {data.num_classes}; "
            "a model is trained and validated on the same classes"
        )
    sized = replace(spec, sizes={**spec.sizes, "num_classes": data.num_classes})
    return Task(sized, data, val, recipe, seed, device)


def _identity(data: Dataset) -> dict[str, Any]:
    return {"name": data.name, "images": len(data), "fingerprint": data.fingerprint}
