"""A network that draws random numbers is flagged; all others are not, and cost no counted pass."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.classifier import Classifier, ModelRecord
from robustbench_twicing.repeating import repeats_itself
from tests.tiny import PREPROCESSING, ConvNet, column, convnet, flags, noise, quick_conditions, run

CPU = torch.device("cpu")


class Shaky(ConvNet):
    """Adds noise to its logits."""

    def forward(self, x: Tensor) -> Tensor:
        logits = super().forward(x)
        return logits + 0.1 * torch.randn_like(logits)


def shaky() -> Classifier:
    """A randomised model."""
    return Classifier(Shaky(), PREPROCESSING, ModelRecord("shaky"))


@pytest.mark.parametrize("batch_size", [2, 8])
def test_a_randomised_model_is_flagged_in_every_row(batch_size: int, tmp_path: Path) -> None:
    conditions = quick_conditions("clean", "fgsm")
    done = run(shaky(), noise(6), conditions, tmp_path / "run", batch_size=batch_size)
    assert all("not-deterministic" in cell.split(";") for cell in column(done, "flags"))


def test_any_other_is_not_and_no_pass_is_charged(tmp_path: Path) -> None:
    done = run(convnet(), noise(6), quick_conditions("clean"), tmp_path / "run", batch_size=2)
    assert flags(done) == set()
    assert column(done, "n_forward") == [6]


def test_rounding_is_no_randomness() -> None:
    class Drifting(nn.Module):
        """Another answer every time, by as much as it is told."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share, self.calls = share, 0

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            return torch.full((len(x), 3), 100.0) * (1 + self.share * self.calls)

    pixels = np.zeros((5, 4, 4, 3), np.uint8)
    assert repeats_itself(Drifting(1e-6), pixels, CPU)
    assert not repeats_itself(Drifting(1e-3), pixels, CPU)
    assert repeats_itself(Drifting(1), pixels[:0], CPU)
