"""Network, optimizer, schedule and moving average: what a step changes and a checkpoint keeps."""

from typing import Any

import torch
from timm.layers.drop import DropPath
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils.model_ema import ModelEmaV3
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .batches import Batch
from .form import find_misfit, find_moment_misfit
from .recipe import Recipe


class Learner:
    """Everything that learns.

    Args:
        network: bare, on normalised input; changed in place.
        recipe: optimizer and schedule.
        steps_per_epoch: batches of an epoch.
    """

    def __init__(self, network: nn.Module, recipe: Recipe, steps_per_epoch: int) -> None:
        self.network, self.recipe = network, recipe
        set_drop_path(network, recipe.drop_path)
        self.optimizer = create_optimizer_v2(
            network, recipe.optimizer, lr=recipe.lr, weight_decay=recipe.weight_decay
        )
        # More epochs than timm counts would be its cool-down, which DeiT's loop never reaches.
        self.schedule, _ = create_scheduler_v2(
            self.optimizer,
            num_epochs=recipe.epochs,
            warmup_epochs=recipe.warmup_epochs,  # type: ignore[arg-type]
            warmup_lr=recipe.warmup_lr,
            min_lr=recipe.min_lr,
            step_on_epochs=recipe.step_on_epochs,
            updates_per_epoch=steps_per_epoch,
        )
        self.ema = ModelEmaV3(network, decay=recipe.ema_decay) if recipe.ema_decay else None

    @property
    def lr(self) -> float:
        """The learning rate of the next step."""
        return float(self.optimizer.param_groups[0]["lr"])

    def step(self, batch: Batch, *, number: int) -> Tensor:
        """One step of the optimizer.

        Args:
            batch: on the network's device.
            number: steps taken before this one.

        Returns:
            The mean loss of the batch, without a graph.
        """
        images, targets = batch
        smoothing = 0.0 if targets.is_floating_point() else self.recipe.label_smoothing
        with torch.autocast(
            images.device.type, torch.bfloat16, enabled=self.recipe.precision == "bf16"
        ):
            logits = self.network(images)
        loss = cross_entropy(logits.float(), targets, label_smoothing=smoothing)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if self.recipe.clip_grad:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip_grad)
        self.optimizer.step()
        self.schedule.step_update(number + 1)
        if self.ema is not None:
            self.ema.update(self.network)
        return loss.detach()

    def end_epoch(self, epoch: int) -> None:
        """Move the schedule on after epoch ``epoch`` (from 0)."""
        self.schedule.step(epoch + 1)

    def state(self) -> dict[str, Any]:
        """Tensors and plain numbers, for a checkpoint that loads as weights alone."""
        state = {
            "state_dict": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
        }
        if self.ema is not None:
            state["state_dict_ema"] = self.ema.module.state_dict()
        return state

    def misfit(self, state: dict[str, Any]) -> str:
        """Which part of a checkpoint's state is not one of this training; empty if none."""
        expected = self.state()
        optimizer, stored = expected.pop("optimizer"), state.get("optimizer")
        if not isinstance(stored, dict) or stored.keys() != optimizer.keys():
            return "optimizer"
        parameters = [param for group in self.optimizer.param_groups for param in group["params"]]
        groups = (stored["param_groups"], optimizer["param_groups"])
        return (
            find_misfit({name: state.get(name) for name in expected}, expected).removeprefix(".")
            or find_misfit(*groups, "optimizer.param_groups")
            or find_moment_misfit(stored["state"], parameters)
        )

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint's state, which has no `misfit`."""
        self.network.load_state_dict(state["state_dict"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        if self.ema is not None:
            self.ema.module.load_state_dict(state["state_dict_ema"])


def set_drop_path(network: nn.Module, rate: float) -> None:
    """Stochastic depth in every block: linearly from 0 to ``rate``, in FAN ``rate`` everywhere."""
    if rate == 0:
        return
    from ..models.fan.network import Fan

    blocks = list(network.get_submodule("blocks").children())
    for number, block in enumerate(blocks):
        share = 1.0 if isinstance(network, Fan) else number / max(1, len(blocks) - 1)
        block.drop_path1 = DropPath(rate * share).train(block.training)
        block.drop_path2 = DropPath(rate * share).train(block.training)
