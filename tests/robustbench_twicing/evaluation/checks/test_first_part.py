"""Networks whose numbers would mislead are flagged; others are not, and no pass is charged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.evaluation.checks.first_part import network_flags
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import PREPROCESSING, ConvNet, column, convnet, flags, noise, quick_conditions, run

RANDOM = {"not-deterministic"}
Change = Callable[[Tensor], Tensor]


class Shaky(ConvNet):
    """Adds noise to its logits."""

    def forward(self, x: Tensor) -> Tensor:
        logits = super().forward(x)
        return logits + 0.1 * torch.randn_like(logits)


def shaky() -> Classifier:
    """A randomised model."""
    return Classifier(Shaky(), PREPROCESSING, ModelRecord("shaky"))


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [2, 8])
def test_a_randomised_model_is_flagged_in_every_row(batch_size: int, tmp_path: Path) -> None:
    conditions = quick_conditions("clean", "fgsm")
    done = run(shaky(), noise(6), conditions, tmp_path / "run", batch_size=batch_size)
    assert all("not-deterministic" in cell.split(";") for cell in column(done, "flags"))


@pytest.mark.slow
def test_any_other_is_not_and_no_pass_is_charged(tmp_path: Path) -> None:
    done = run(convnet(), noise(6), quick_conditions("clean"), tmp_path / "run", batch_size=2)
    assert flags(done) == set()
    assert column(done, "n_forward") == [6]


def look(network: nn.Module, images: int = 5, *, gradients: bool = True) -> set[str]:
    x = torch.rand(images, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    model = Classifier(network, PREPROCESSING, ModelRecord("looked at"), normalize=False)
    with torch.set_grad_enabled(gradients):
        logits = model(x.clone().requires_grad_(gradients)).detach()
    return set(network_flags(model, x, logits.argmax(1), logits, gradients=gradients))


class Drifting(nn.Module):
    """Another answer every time, by as much as it is told."""

    def __init__(self, share: float, spread: float = 0) -> None:
        super().__init__()
        self.share, self.spread, self.calls = share, spread, 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        logits = 100 + self.spread * torch.arange(3.0).expand(len(x), 3)
        return logits * (1 + self.share * self.calls)


@pytest.mark.parametrize(
    ("share", "spread", "found"),
    [(1e-7, 0, False), (1e-7, 1, False), (1e-3, 0, True), (1e-3, 1, True)],
)
def test_rounding_is_no_randomness(share: float, spread: float, found: bool) -> None:
    assert (look(Drifting(share, spread)) == {"not-deterministic"}) == found


class Changed(nn.Module):
    """A network with something done to its pixels or to its answer."""

    def __init__(self, before: Change | None = None, after: Change | None = None) -> None:
        super().__init__()
        self.inner, self.before, self.after = ConvNet(), before, after

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.inner(x if self.before is None else self.before(x))
        return logits if self.after is None else self.after(logits)


def in_train_mode(x: Tensor) -> Tensor:
    return batch_norm(x, None, None, training=True)


class Backwards(torch.autograd.Function):
    """The identity, whose gradient is noise."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return torch.randn_like(gradient)


def shuffled(x: Tensor) -> Tensor:
    changed: Tensor = Backwards.apply(x)
    return changed


@pytest.mark.parametrize(
    ("network", "found"),
    [
        (Changed(), set()),
        (Changed(after=lambda logits: 1e-6 * logits), set()),
        (Changed(after=lambda logits: 1e-30 * logits), set()),
        (Changed(after=lambda logits: 1e-6 * (logits + 0.1 * torch.randn_like(logits))), RANDOM),
        (Changed(before=in_train_mode), {"batch-dependent"}),
        (Changed(before=lambda x: x / x.max()), {"batch-dependent"}),
        (Changed(after=lambda logits: logits - logits.mean(0)), {"batch-dependent"}),
        (Changed(after=lambda logits: logits.softmax(1)), {"probabilities"}),
        (Changed(after=lambda logits: logits.log_softmax(1)), set()),
        (Changed(before=shuffled), {"gradient-not-deterministic"}),
        (Changed(before=torch.round), set()),
        (Changed(after=lambda logits: logits.detach()), set()),
    ],
)
def test_a_network_whose_numbers_would_mislead_is_flagged(
    network: nn.Module, found: set[str]
) -> None:
    assert look(network) == found


def test_one_image_tells_nothing_of_batches_and_none_nothing_at_all() -> None:
    network = Changed(after=lambda logits: logits - logits.mean(0))
    assert look(network, 2) == {"batch-dependent"}
    assert look(network, 1) == look(network, 0) == set()


def test_gradients_that_nobody_follows_are_not_looked_at() -> None:
    assert look(Changed(before=shuffled), gradients=False) == set()


@pytest.mark.slow
@pytest.mark.parametrize("attack", ["fgsm", "noise"])
def test_flags_are_on_every_row(attack: str, tmp_path: Path) -> None:
    network = Changed(before=shuffled)
    model = Classifier(network, PREPROCESSING, ModelRecord("changed"))
    done = run(model, noise(6), quick_conditions("clean", attack), tmp_path / "run", batch_size=4)
    wanted = {"gradient-not-deterministic"} if attack == "fgsm" else set[str]()
    assert all(wanted <= set(cell.split(";")) for cell in column(done, "flags"))
    assert flags(done) & {"gradient-not-deterministic"} == wanted
