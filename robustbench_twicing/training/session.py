"""`train`: from a name, images and a recipe to a checkpoint that says what it is."""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..checkpoints.contents import Choice
from ..data.dataset import Dataset
from ..errors import UserError
from ..models.build import build_model
from ..models.resolve import resolve_model
from ..records.session import describe_environment
from ..seeds import derive_seed
from .batches import EpochBatches, load_epoch
from .folder import STATE, TrainingFolder
from .form import find_progress_misfit
from .learner import Learner
from .progress import Progress, Report
from .recipe import Recipe
from .scoring import count_right
from .start import start_from
from .task import Task, make_task

LOG_EVERY = 50
"""Steps between two lines of the log."""
SAVE_EVERY = 600.0
"""Seconds between two states within an epoch; there is one after every epoch besides."""


class Trained(NamedTuple):
    """A finished training.

    Attributes:
        weights: file with the network after the last step.
        right: images of the validation set that it gets right; None without one.
        images: size of the validation set.
    """

    weights: Path
    right: int | None
    images: int


def train(  # noqa: PLR0913 - one keyword for each thing a user may say of a training
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
    start: str | Path | None = None,
    weights: Choice = "auto",
    arch_override: bool = False,
) -> Trained:
    """Train a model of the table, from scratch or from given weights, or continue a training.

    On a CPU, with the same versions and number of threads, the weights come out bit for bit the
    same, however often the training was stopped: every draw comes from a generator seeded by
    (seed, epoch, step), so that no generator has a state to be kept. The weights after the last
    step count, none are chosen by ``val``. Torch's global generator is as before when it returns.

    Args:
        name: of the table, with layer placement.
        data: training images.
        out: folder of ``train.json``, ``log.jsonl``, ``last.pth`` (to continue; EMA weights are
            here) and, at the end, ``model.safetensors``.
        recipe: what is done.
        val: images whose accuracy is logged after every epoch.
        seed: of every random draw.
        device: ``cpu``, ``cuda`` or a device.
        workers: processes that make batches; does not change the result.
        report: called at the start and every few steps.
        start: checkpoint whose weights it starts from; None for random ones.
        weights: which of its weights: ``plain``, ``ema`` or ``auto``.
        arch_override: start from it although it names another architecture.

    Raises:
        UserError: a model that cannot be trained here, too few images, a checkpoint that does not
            fit, a folder with another training, an image that cannot be decoded, a loss that is
            not finite.
    """
    target = torch.device(device)
    task = make_task(resolve_model(name), data, val, recipe=recipe, seed=seed, device=target)
    first_weights = None
    if start is not None:
        task, first_weights = start_from(task, start, weights=weights, arch_override=arch_override)
    folder = TrainingFolder(out, task.settings(), describe_environment(target))
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "weights"))
        sizes = {**task.spec.sizes, "attention": recipe.attention}
        network = build_model(task.spec.family, **sizes)
        if first_weights is not None:
            network.load_state_dict(first_weights)
        learner = Learner(network.to(target).train(), recipe, task.steps_per_epoch)
        session = _Session(task, folder, learner, workers, report)
        session.run()
    return Trained(folder.weights, session.right, 0 if val is None else len(val))


@dataclass
class _Session:
    """A training under way.

    Attributes:
        taken: steps taken.
        losses: of the steps since the last line of the log.
        lines: the log.
        right: of the validation set, after the last epoch.
        before: seconds of earlier processes.
    """

    task: Task
    folder: TrainingFolder
    learner: Learner
    workers: int
    report: Report | None
    taken: int = 0
    losses: list[Tensor] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    right: int | None = None
    before: float = 0.0

    def run(self) -> None:
        """All that is left to do."""
        self._restore()
        self.folder.rewrite_log(self.lines)
        self.started = self.saved = time.monotonic()
        self._tell(math.nan)
        while self.taken < self.task.steps:
            self._epoch(self.taken // self.task.steps_per_epoch)
        facts = self.task.facts(self.right)
        self.folder.write_weights(self.learner.network.state_dict(), facts)

    def _epoch(self, epoch: int) -> None:
        task = self.task
        batches = EpochBatches(
            task.data,
            task.recipe,
            task.spec.preprocessing,
            num_classes=task.spec.sizes["num_classes"],
            seed=task.seed,
            epoch=epoch,
        )
        start = self.taken - epoch * task.steps_per_epoch
        for images, targets in load_epoch(batches, start=start, workers=self.workers):
            # Stochastic depth draws from the global generator.
            torch.manual_seed(derive_seed(task.seed, "step", self.taken))
            batch = images.to(task.device), targets.to(task.device)
            self.losses.append(self.learner.step(batch, number=self.taken))
            self.taken += 1
            self._after_step(epoch)
        self.learner.end_epoch(epoch)
        if task.val is not None:
            self._score(epoch, task.val)
        self._save()

    def _after_step(self, epoch: int) -> None:
        last = self.taken % self.task.steps_per_epoch == 0
        if len(self.losses) == LOG_EVERY or last:
            loss = float(torch.stack(self.losses).mean())
            self.losses.clear()
            if not math.isfinite(loss):
                raise UserError(
                    f"the loss is {loss} at step {self.taken} (epoch {epoch + 1}); "
                    "a lower lr, like --set lr=1e-4, or more warm-up may help"
                )
            self._log(epoch, loss=loss, lr=self.learner.lr)
            self._tell(loss)
        if not last and time.monotonic() - self.saved > SAVE_EVERY:
            self._save()

    def _tell(self, loss: float) -> None:
        if self.report is not None:
            epoch = 1 + max(0, self.taken - 1) // self.task.steps_per_epoch
            self.report(Progress(epoch, self.taken, self.task.steps, loss, self.learner.lr))

    def _score(self, epoch: int, val: Dataset) -> None:
        how = (val, self.task.spec.preprocessing, self.task.device)
        self.right = count_right(self.learner.network, *how)
        scores = {"val_right": self.right, "val_images": len(val)}
        if self.learner.ema is not None:
            scores["val_right_ema"] = count_right(self.learner.ema.module, *how)
        self._log(epoch, **scores)

    def _log(self, epoch: int, **values: float) -> None:
        line = {"epoch": epoch + 1, "step": self.taken, **values, "seconds": self._seconds()}
        self.lines.append(line)
        self.folder.log(line)

    def _seconds(self) -> float:
        return round(self.before + time.monotonic() - self.started, 1)

    def _save(self) -> None:
        self.saved = time.monotonic()
        name = self.task.spec.placed_name
        self.folder.write_state(
            {
                **self.learner.state(),
                **({} if self.task.start is None else self.task.start.facts()),
                "arch": name,
                "args": {"model": name, "input_size": self.task.spec.preprocessing.crop},
                "taken": self.taken,
                "losses": torch.stack(self.losses) if self.losses else torch.empty(0),
                "lines": self.lines,
                "right": self.right,
                "seconds": self._seconds(),
            }
        )

    def _restore(self) -> None:
        state = self.folder.read_state()
        if state is None:
            return
        wrong = self.learner.misfit(state) or find_progress_misfit(state, self.task.steps)
        if wrong:
            raise UserError(
                f"{self.folder.path / STATE} is not the state of this training: its {wrong} has "
                "another form; use another --out"
            )
        self.learner.restore(state)
        self.taken, self.lines, self.right = state["taken"], state["lines"], state["right"]
        self.losses = list(state["losses"].to(self.task.device))
        self.before = state["seconds"]
