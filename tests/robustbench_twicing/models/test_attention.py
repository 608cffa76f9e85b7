"""Averages of values with known answers, and the switch between their forms."""

import pytest
import torch
from torch import Tensor

from robustbench_twicing.models.attention import average, average_twice, weights
from robustbench_twicing.models.build import build_model
from tests.robustbench_twicing.models.fused_kernels import FusedKernels

TINY = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 2}
FAMILIES = ("deit", "deit_distilled", "neutreno", "featscale", "attnscale", "twicing")


def random_qkv() -> list[Tensor]:
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(2, 3, 7, 5, generator=draw, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize("fused", [False, True])
def test_equal_keys_average_evenly(fused: bool) -> None:
    q, k, v = random_qkv()
    even = average(q, torch.ones_like(k), v, fused=fused)
    torch.testing.assert_close(even, v.mean(dim=2, keepdim=True).expand_as(v))


@pytest.mark.parametrize("fused", [False, True])
def test_twicing_is_two_a_minus_a_squared(fused: bool) -> None:
    q, k, v = random_qkv()
    a = torch.softmax(q @ k.transpose(-2, -1) / 5**0.5, dim=-1)
    torch.testing.assert_close(weights(q, k), a)
    torch.testing.assert_close(average_twice(q, k, v, fused=fused), (2 * a - a @ a) @ v)


@pytest.mark.parametrize("family", FAMILIES)
def test_explicit_uses_no_fused_kernel_and_fused_does(family: str) -> None:
    x = torch.zeros(1, 3, 32, 32)
    per_layer = 2 if family == "twicing" else 1
    for form, expected in (("explicit", 0), ("fused", per_layer * 2)):
        with FusedKernels() as kernels, torch.no_grad():
            build_model(family, **TINY, attention=form)(x)
        assert kernels.calls == expected


def test_auto_is_explicit_in_twicing_layers_alone() -> None:
    network = build_model("twicing", **TINY, layers=(1,))
    with FusedKernels() as kernels, torch.no_grad():
        network(torch.zeros(1, 3, 32, 32))
    assert kernels.calls == 1


@pytest.mark.parametrize("family", ["featscale", "attnscale", "twicing"])
def test_masks_are_refused_rather_than_ignored(family: str) -> None:
    block = build_model(family, **TINY).get_submodule("blocks.0")
    with pytest.raises(NotImplementedError, match="mask"):
        block(torch.zeros(1, 17, 24), is_causal=True)


def test_neutreno_does_not_lose_v0_through_the_intermediate_layers_of_timm() -> None:
    network = build_model("neutreno", **TINY)
    with pytest.raises(NotImplementedError, match="v0"):
        network.get_intermediate_layers(torch.zeros(1, 3, 32, 32))  # type: ignore[operator]
