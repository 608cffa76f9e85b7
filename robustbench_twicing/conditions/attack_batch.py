"""What an attack is given: one batch, with everything its budgets can share."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..classifiers.classifier import Classifier
from ..classifiers.device import is_out_of_memory
from ..classifiers.gradient import gradient_or_zero, input_gradient
from ..classifiers.precision import Precision
from ..classifiers.snapshots import same_bits
from ..errors import BrokenAttackError
from ..seeds import image_generators
from .ball import affected
from .budgets import format_budget
from .threat_model import ThreatModel


class AttackBatch:
    """A batch of clean images with its model; clean logits and gradient are computed once.

    Args:
        model: pixels (N, 3, H, W) in [0, 1] to logits (N, K), frozen, in eval mode.
        x: clean pixels.
        y: true class indices (N,).
        images: image ids, which together with the seed choose the random streams.
        seed: base seed of the run.
        keep_graph: keep the clean pass's graph, because an attack will ask for its gradient.
        precision: number format of the attacks' passes; scores are always float32.
    """

    def __init__(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        *,
        images: Sequence[str],
        seed: int = 0,
        keep_graph: bool = False,
        precision: Precision = "fp32",
    ) -> None:
        self.model = model
        self.x = x
        self.y = y
        self.images = images = tuple(images)
        self.seed = seed
        self.precision = precision
        self.goal: Tensor | None = None  # of the images that a targeted attack made last
        self._keep_graph = keep_graph = keep_graph and precision == "fp32"
        self._gradients: dict[str, Tensor] = {}
        self._copies = {("images", "x"): x.clone(), ("labels", "y"): y.clone()}
        self._given = {"model": model, "images": images, "seed": seed, "precision": precision}
        self._leaf = x.detach().clone().requires_grad_() if keep_graph else x

    @cached_property
    def _clean_pass(self) -> Tensor:
        if self._keep_graph:
            try:
                with torch.enable_grad():
                    return self._forward(self._leaf)
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                self._keep_graph = False  # such a network can still be scored
        with torch.no_grad():
            return self._forward(self.x)

    def _forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.model(x)
        return logits

    @cached_property
    def logits(self) -> Tensor:
        """Clean logits (N, K), detached."""
        logits = self._clean_pass.detach().as_subclass(Tensor)
        self._copies["logits", "logits"] = logits.clone()
        return logits

    def subset(self, positions: Sequence[int]) -> "AttackBatch":
        """Some images of the batch, with the clean logits and gradients that are known of them.

        Args:
            positions: in the batch, ascending; of all images it is the batch itself.
        """
        rows = list(positions)
        if len(rows) == len(self.x):
            return self
        images = [self.images[row] for row in rows]
        part = AttackBatch(
            self.model,
            self.x[rows],
            self.y[rows],
            images=images,
            seed=self.seed,
            precision=self.precision,
        )
        part.__dict__["logits"] = self.logits[rows]
        part._copies["logits", "logits"] = self.logits[rows]
        for label, gradient in self._gradients.items():
            part._gradients[label] = gradient[rows]
            part._copies["gradient", label] = gradient[rows]
        return part

    @contextmanager
    def attacking(self, expectation: int = 1) -> Iterator[None]:
        """While an attack runs: the network computes in the attack's number format.

        Args:
            expectation: how many draws of the network the attack's gradients are the mean of.
        """
        if isinstance(self.model, Classifier):
            with self.model.computing_in(self.precision), self.model.averaging(expectation):
                yield
        else:
            yield

    def put_back(self) -> list[str]:
        """Put right what an attack changed of what the batch shares.

        Returns:
            What else it was than before. An image that only follows gradients now is none of it.
        """
        changed = list[str]()
        for (place, what), values in self._copies.items():
            holder = self._gradients if place == "gradient" else self.__dict__
            now: Any = holder.get(what)
            if not same_bits(now, values):
                changed.append(f"the clean {place} in place")
            elif not now.requires_grad:
                continue
            holder[what] = values.clone()
        if any(self.__dict__.get(name) is not value for name, value in self._given.items()):
            self.__dict__.update(self._given)
            changed.append("the model, the image ids or the seed of its batch")
        return changed

    def aim(self, goal: Tensor) -> None:
        """Say as which class a targeted attack wants each of its next images to be seen.

        Args:
            goal: class indices (N,), int64.

        Raises:
            BrokenAttackError: a goal that is the true class, towards which an image only gets
                easier; or not one class index an image.
        """
        if goal.shape != self.y.shape or goal.dtype != torch.int64:
            raise BrokenAttackError(
                f"its goals are {goal.dtype} of shape {tuple(goal.shape)}; they must be class "
                f"indices, torch.int64 of shape {tuple(self.y.shape)}"
            )
        is_label = goal == self.y
        if is_label.any():
            raise BrokenAttackError(
                f"its goal is the true class{affected(is_label[:, None], self.images)}"
            )
        self.goal = goal

    def target(self, threat: ThreatModel) -> Tensor:
        """Class indices (N,) that the attack moves away from."""
        return self.y if threat.label == "true" else self.logits.argmax(1)

    def gradient(self, threat: ThreatModel) -> Tensor:
        """Gradient of the summed cross-entropy of the attacked labels at the clean images.

        Serves every budget of a single-step attack. The first call uses up the graph of the clean
        pass itself, so that scoring and gradient cost one forward pass together; the mean of
        several draws has passes of its own.
        """
        draws = self.model.expectation if isinstance(self.model, Classifier) else 1
        name = threat.label if draws == 1 else f"{threat.label}, mean of {draws}"
        if name not in self._gradients:
            gradient = self._new_gradient(self.target(threat), draws)
            self._gradients[name] = gradient
            self._copies["gradient", name] = gradient.clone()
        return self._gradients[name]

    def _new_gradient(self, target: Tensor, draws: int) -> Tensor:
        if draws > 1 or "_clean_pass" not in self.__dict__ or not self._keep_graph:
            return input_gradient(self.model, self.x, target)
        with torch.enable_grad():
            loss = cross_entropy(self._clean_pass, target, reduction="sum")
        _ = self.logits  # kept without its graph, which can be followed once
        del self.__dict__["_clean_pass"]
        return gradient_or_zero(loss, self._leaf)

    def generators(
        self, attack: str, settings: Mapping[str, object], budget: Fraction, restart: int = 0
    ) -> list[torch.Generator]:
        """One fresh generator per image for this attack, its constants, budget and restart."""
        return image_generators(
            self.seed, self.images, attack, settings, format_budget(budget), restart
        )
