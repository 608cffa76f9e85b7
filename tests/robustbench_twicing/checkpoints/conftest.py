"""A network small enough to be built and loaded thousands of times, and its weights."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.models.build import build_model

SIZES: dict[str, Any] = {
    "img_size": 32,
    "patch_size": 16,
    "embed_dim": 12,
    "depth": 2,
    "num_heads": 3,
    "num_classes": 5,
}


def _network(family: str = "deit", **sizes: Any) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = build_model(family, **{**SIZES, **sizes})
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.copy_(torch.randn(parameter.shape))
    return network


@pytest.fixture(scope="session")
def build() -> Any:
    """Builds a small network of any family with seeded weights, none of them trivial."""
    return _network


@pytest.fixture(scope="session")
def weights() -> dict[str, Tensor]:
    """The state dict of a small DeiT."""
    return dict(_network().state_dict())


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that appears when something from a checkpoint is executed."""
    return tmp_path / "something-was-executed"
