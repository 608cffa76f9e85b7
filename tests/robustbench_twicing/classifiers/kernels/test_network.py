"""Whole networks with other kernels: the same logits and gradients but for rounding."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from robustbench_twicing import build_model, load_model
from robustbench_twicing.classifiers.kernels import OneDnnLinear, OneDnnMlp, has_onednn, use_onednn

pytestmark = pytest.mark.skipif(not has_onednn(), reason="this torch has no oneDNN")
SIZES = {"img_size": 32, "patch_size": 8, "embed_dim": 48, "depth": 2, "num_heads": 3}
VIT = ["deit", "deit_distilled", "twicing", "neutreno", "featscale", "attnscale"]
FAN = ["fan", "fan_twicing", "fan_hybrid"]


def pair(family: str, **sizes: Any) -> tuple[nn.Module, nn.Module]:
    """The same frozen network, as it is and with other kernels."""
    torch.manual_seed(0)
    plain, other = (
        build_model(family, num_classes=10, **sizes).eval().requires_grad_(False) for _ in range(2)
    )
    other.load_state_dict(plain.state_dict())
    use_onednn(other)
    return plain, other


def loss_gradient(network: nn.Module, x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    loss = cross_entropy(network(leaf), torch.arange(len(x)))
    return torch.autograd.grad(loss, leaf)[0]


def assert_same(plain: nn.Module, other: nn.Module, x: Tensor) -> None:
    with torch.no_grad():
        torch.testing.assert_close(other(x), plain(x), rtol=1e-4, atol=1e-4)
    found, wanted = loss_gradient(other, x), loss_gradient(plain, x)
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("family", VIT)
@pytest.mark.parametrize("count", [1, 3])
def test_a_vision_transformer_has_the_same_logits_gradients_and_keys(
    family: str, count: int
) -> None:
    plain, other = pair(family, **SIZES)
    assert list(other.state_dict()) == list(plain.state_dict())
    assert {type(each) for each in other.modules()} >= {OneDnnLinear, OneDnnMlp}
    assert not any(type(each) is nn.Linear for each in other.modules())
    assert_same(plain, other, torch.randn(count, 3, 32, 32))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAN)
def test_fan(family: str) -> None:
    plain, other = pair(family)
    assert list(other.state_dict()) == list(plain.state_dict())
    assert_same(plain, other, torch.randn(2, 3, 64, 64))


@pytest.mark.slow
def test_a_convolutional_network_of_timm() -> None:
    plain, other = (
        load_model("timm:test_convnext", "random:0", kernels=name) for name in ("plain", "onednn")
    )
    assert any(type(each) is OneDnnLinear for each in other.modules())
    side = plain.preprocessing.crop
    assert_same(plain, other, torch.rand(2, 3, side, side))
