"""`train`: from a name, images and a recipe to a checkpoint that says what it is."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .. import __version__
from ..data import Dataset
from ..environment import describe_environment
from ..errors import UserError
from ..models import ModelSpec, build_model, resolve_model
from ..seeds import derive_seed
from .batches import EpochBatches, load_epoch
from .folder import TrainingFolder
from .learner import Learner
from .progress import Progress, Report
from .recipe import Recipe
from .scoring import count_right

LOG_EVERY = 50
"""Steps between two lines of the log."""
SAVE_EVERY = 600.0
"""Seconds between two states within an epoch; there is one after every epoch besides."""


class Trained(NamedTuple):
    """A finished training.

    Attributes:
        weights: file with the network of the last step.
        right: images of the validation set that it gets right; None without one.
        images: size of the validation set.
    """

    weights: Path
    right: int | None
    images: int


def train(
    name: str,
    data: Dataset,
    out: Path,
    *,
    recipe: Recipe,
    val: Dataset | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
    workers: int = 0,
    report: Report | None = None,
) -> Trained:
    """Train a model of the table from scratch, or continue where it was stopped.

    On a CPU with the same versions and number of threads the weights come out bit for bit the
    same, however often the training was stopped. The last step's weights are kept, none is chosen
    by ``val``. Torch's global generator is as before when it returns.

    Args:
        name: of the table, with layer placement.
        data: training images.
        out: folder: ``train.json``, ``log.jsonl``, ``last.pth`` and, at the end,
            ``model.safetensors``.
        recipe: what is done.
        val: images whose accuracy is logged after every epoch.
        seed: of every random draw.
        device: ``cpu``, ``cuda`` or a device.
        workers: processes that make batches; does not change the result.
        report: called every few steps.

    Raises:
        UserError: a model that cannot be trained here, too few images, a folder with another
            training, an image that cannot be decoded, a loss that is not finite.
    """
    spec = sized(resolve_model(name), data)
    _check_data(spec, data, val, recipe)
    target = torch.device(device)
    settings = _settings(spec, data, val, recipe, seed, target)
    folder = TrainingFolder(out, settings, describe_environment(target))
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "weights"))
        network = build_model(spec.family, **spec.sizes).to(target).train()
        steps = len(data) // recipe.batch_size
        session = _Session(spec, data, val, recipe, seed, target, workers, folder,
                           Learner(network, recipe, steps), steps, report)  # fmt: skip
        session.run()
    return Trained(folder.weights, session.right, len(val) if val is not None else 0)


@dataclass
class _Session:
    """A training under way; what a continued one needs is in `state`."""

    spec: ModelSpec
    data: Dataset
    val: Dataset | None
    recipe: Recipe
    seed: int
    device: torch.device
    workers: int
    folder: TrainingFolder
    learner: Learner
    steps_per_epoch: int
    report: Report | None
    taken: int = 0
    losses: list[Tensor] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    right: int | None = None
    seconds: float = 0.0

    def run(self) -> None:
        """All that is left to do."""
        self._restore()
        self.folder.rewrite_log(self.lines)
        self.started = self.saved = time.monotonic()
        while self.taken < self.recipe.epochs * self.steps_per_epoch:
            self._epoch(self.taken // self.steps_per_epoch)
        self.folder.write_weights(self.learner.network.state_dict(), self._metadata())

    def _epoch(self, epoch: int) -> None:
        batches = EpochBatches(
            self.data,
            self.recipe,
            self.spec.preprocessing,
            num_classes=self.spec.sizes["num_classes"],
            seed=self.seed,
            epoch=epoch,
        )
        start = self.taken - epoch * self.steps_per_epoch
        for images, targets in load_epoch(batches, start=start, workers=self.workers):
            # Stochastic depth draws from the global generator.
            torch.manual_seed(derive_seed(self.seed, "step", self.taken))
            batch = images.to(self.device), targets.to(self.device)
            self.losses.append(self.learner.step(batch, number=self.taken))
            self.taken += 1
            self._after_step(epoch)
        self.learner.end_epoch(epoch)
        if self.val is not None:
            self._score(epoch, self.val)
        self._save()

    def _after_step(self, epoch: int) -> None:
        last = self.taken % self.steps_per_epoch == 0
        if len(self.losses) == LOG_EVERY or last:
            loss = float(torch.stack(self.losses).mean())
            self.losses.clear()
            if loss != loss or loss == float("inf"):
                raise UserError(
                    f"the loss is {loss} at step {self.taken} (epoch {epoch + 1}); "
                    "a lower lr, like --set lr=1e-4, or more warm-up may help"
                )
            self._log(epoch, loss=loss, lr=self.learner.lr)
            if self.report is not None:
                total = self.recipe.epochs * self.steps_per_epoch
                self.report(Progress(epoch + 1, self.taken, total, loss, self.learner.lr))
        if not last and time.monotonic() - self.saved > SAVE_EVERY:
            self._save()

    def _score(self, epoch: int, val: Dataset) -> None:
        parts = (val, self.spec.preprocessing, self.device)
        self.right = count_right(self.learner.network, *parts)
        found = {"val_right": self.right, "val_images": len(val)}
        if self.learner.ema is not None:
            found["val_right_ema"] = count_right(self.learner.ema.module, *parts)
        self._log(epoch, **found)

    def _log(self, epoch: int, **values: Any) -> None:
        seconds = round(self.seconds + time.monotonic() - self.started, 1)
        line = {"epoch": epoch + 1, "step": self.taken, **values, "seconds": seconds}
        self.lines.append(line)
        self.folder.log(line)

    def _save(self) -> None:
        self.saved = time.monotonic()
        self.folder.write_state(
            {
                **self.learner.state(),
                "arch": self.spec.placed_name,
                "args": {
                    "model": self.spec.placed_name,
                    "input_size": self.spec.preprocessing.crop,
                },
                "taken": self.taken,
                "losses": torch.stack(self.losses) if self.losses else torch.empty(0),
                "lines": self.lines,
                "right": self.right,
                "seconds": self.seconds + self.saved - self.started,
            }
        )

    def _restore(self) -> None:
        state = self.folder.read_state()
        if state is None:
            return
        self.learner.restore(state)
        self.taken, self.lines, self.right = state["taken"], state["lines"], state["right"]
        self.losses = list(state["losses"].to(self.device))
        self.seconds = state["seconds"]

    def _metadata(self) -> dict[str, str]:
        """What the file says of itself; the loader compares `architecture` with what is asked."""
        sizes = {key: size for key, size in self.spec.sizes.items() if key != "attention"}
        facts = {
            "architecture": self.spec.placed_name,
            "family": self.spec.family,
            **{key: str(size) for key, size in sizes.items()},
            "recipe": self.recipe.name,
            "recipe_sha256": self.recipe.sha256(),
            "epochs": str(self.recipe.epochs),
            "seed": str(self.seed),
            "training_data": self.data.name,
            "training_fingerprint": self.data.fingerprint,
            "made_by": f"robustbench_twicing {__version__}",
        }
        if self.val is not None:
            facts["accuracy"] = f"{self.right} of {len(self.val)}"
            facts["accuracy_data"] = self.val.name
        return facts


def sized(spec: ModelSpec, data: Dataset) -> ModelSpec:
    """The model with as many logits as the data have classes.

    Raises:
        UserError: nothing says how many classes there are, or timm's model is asked for.
    """
    if spec.family == "timm":
        raise UserError(f"{spec.name} is timm's; train it with timm's own script")
    if data.num_classes is None:
        raise UserError(f"{data.name} does not say how many classes there are; give --classes")
    return replace(spec, sizes={**spec.sizes, "num_classes": data.num_classes})


def _check_data(spec: ModelSpec, data: Dataset, val: Dataset | None, recipe: Recipe) -> None:
    if len(data) < recipe.batch_size:
        raise UserError(
            f"{data.name} has {len(data)} images, fewer than one batch of {recipe.batch_size}; "
            "a smaller one is --set batch_size=N"
        )
    if val is not None and val.num_classes not in (None, data.num_classes):
        raise UserError(
            f"{val.name} has {val.num_classes} classes and {data.name} {data.num_classes}; "
            f"{spec.name} is trained and validated on the same classes"
        )


def _settings(
    spec: ModelSpec,
    data: Dataset,
    val: Dataset | None,
    recipe: Recipe,
    seed: int,
    device: torch.device,
) -> dict[str, Any]:
    sets = {"data": data, "val": val}
    return {
        "model": spec.placed_name,
        "sizes": dict(spec.sizes),
        "preprocessing": spec.preprocessing.as_dict(),
        "recipe": recipe.as_dict(),
        "recipe_sha256": recipe.sha256(),
        "seed": seed,
        **{
            key: each and {"name": each.name, "images": len(each), "fingerprint": each.fingerprint}
            for key, each in sets.items()
        },
        "device": device.type,
        "threads": torch.get_num_threads(),
    }
