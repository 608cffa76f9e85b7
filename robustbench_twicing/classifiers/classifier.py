"""The one shape in which the suite sees every model: pixels in [0, 1] to logits."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain

import torch
from torch import Tensor, nn

from ..data.imagenet import NUM_CLASSES, LabelSpace
from ..data.preprocessing import Preprocessing
from ..errors import UserError
from ..models.family import ModelRecord
from .label_layers import Select, label_layer
from .precision import AUTOCAST, Precision, in_short_format, in_tf32


class Normalize(nn.Module):
    """(pixels - mean) / std per channel, as a layer, so that no attack can step around it."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(3, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) in [0, 1] to the network's input."""
        return (pixels - self.mean) / self.std


class Classifier(nn.Module):
    """Frozen network in eval mode: pixels (N, 3, H, W) in [0, 1] -> logits (N, K).

    Args:
        network: maps normalised input (or pixels, with ``normalize=False``) to logits.
        preprocessing: how photographs become pixels; its mean and std become a layer here.
        record: what is to be written about the model.
        classes: keep these logits only (ImageNet-A and -R).
        normalize: False where the network takes pixels itself.
        channels_last: hand the network its input, and keep its weights, with the channels of a
            pixel side by side in memory: the same numbers, which convolutions compute faster.

    Raises:
        UserError: from `forward`, where the network returns something other than (N, K) logits in
            floating point.
    """

    def __init__(
        self,
        network: nn.Module,
        preprocessing: Preprocessing,
        record: ModelRecord,
        *,
        classes: Sequence[int] | None = None,
        normalize: bool = True,
        channels_last: bool = False,
    ) -> None:
        super().__init__()
        self.normalize = Normalize(preprocessing.mean, preprocessing.std) if normalize else None
        self.network = network
        self.channels_last = channels_last
        if channels_last:
            network.to(memory_format=torch.channels_last)
        self.select: nn.Module | None = None if classes is None else Select(classes)
        self.space: LabelSpace | None = None
        self.preprocessing = preprocessing
        self.record = record
        self._autocast: torch.dtype | None = None
        self.expectation = 1  # draws whose gradients are averaged
        self.eval().requires_grad_(False)

    @property
    def std(self) -> Tensor:
        """(3,) standard deviations of the normalisation; ones where the network takes pixels."""
        return torch.ones(3) if self.normalize is None else self.normalize.std.flatten()

    @property
    def device(self) -> torch.device:
        """Where the network's tensors are; the CPU for a network without any."""
        tensors = chain(self.network.parameters(), self.network.buffers())
        return next((tensor.device for tensor in tensors), torch.device("cpu"))

    def answering_in(self, space: LabelSpace) -> "Classifier":
        """The same network, shared and not copied, with logits of a data set's labels.

        Raises:
            UserError: it keeps the logits of some classes already. The classifier that is returned
                raises it from `forward`, where the network has not ImageNet-1k's 1000 logits.
        """
        if self.select is not None:
            raise UserError(
                f"{self.record.model} keeps some classes only; {space.name} needs all of "
                f"ImageNet-1k's {NUM_CLASSES}"
            )
        normalize = self.normalize is not None
        answering = Classifier(
            self.network,
            self.preprocessing,
            self.record,
            normalize=normalize,
            channels_last=self.channels_last,
        )
        answering.select, answering.space = label_layer(space), space
        return answering

    def forward(self, pixels: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) in [0, 1] to logits (N, K)."""
        x = pixels if self.normalize is None else self.normalize(pixels)
        logits = self._logits(_channels_last(x) if self.channels_last else x)
        if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != len(pixels):
            raise UserError(
                f"{self.record.model} returned {_describe(logits)}; "
                f"a classifier must return one tensor of logits ({len(pixels)}, classes)"
            )
        if not logits.is_floating_point():
            raise UserError(
                f"{self.record.model} returned logits of {str(logits.dtype).removeprefix('torch.')}"
                "; they must be real numbers with a fraction, like float32"
            )
        if self.space is not None and logits.shape[1] != NUM_CLASSES:
            raise UserError(
                f"{self.record.model} has {logits.shape[1]} classes; {self.space.name} is scored "
                f"over the {NUM_CLASSES} of ImageNet-1k, and needs a model that has them"
            )
        return logits if self.select is None else self.select(logits)

    @contextmanager
    def computing_in(self, precision: Precision) -> Iterator[None]:
        """Compute the network in a number format inside."""
        before, self._autocast = self._autocast, AUTOCAST.get(precision)
        try:
            with in_tf32() if precision == "tf32" else nullcontext():
                yield
        finally:
            self._autocast = before

    @contextmanager
    def averaging(self, draws: int) -> Iterator[None]:
        """Let a gradient be the mean of so many passes inside, for a network that draws numbers."""
        before, self.expectation = self.expectation, draws
        try:
            yield
        finally:
            self.expectation = before

    def _logits(self, x: Tensor) -> object:
        if self._autocast is None:
            return self.network(x)
        return in_short_format(self.network, x, self._autocast)


def _channels_last(x: Tensor) -> Tensor:
    """The same images in that layout; their gradient comes back in the usual one, for `view`."""
    if x.requires_grad and torch.is_grad_enabled():
        x = x.view_as(x)
        x.register_hook(lambda gradient: gradient.contiguous())  # type: ignore[no-untyped-call]
    return x.contiguous(memory_format=torch.channels_last)


def std_of(model: nn.Module) -> Tensor | None:
    """(3,) standard deviations of a classifier's normalisation; None for any other module."""
    return model.std if isinstance(model, Classifier) else None


def label_count(model: nn.Module, logits: Tensor) -> int:
    """How many columns of a model's logits (N, K) are classes that labels name.

    The first ones; behind those of ObjectNet's labels stand logits that only compete with them.
    """
    space = model.space if isinstance(model, Classifier) else None
    return logits.shape[1] if space is None else len(space.logits)


def _describe(value: object) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, dict):
        return f"a dict with keys {', '.join(map(str, value))}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)} things"
    return f"a {type(value).__name__}"
