"""A last block that leaves tokens out: the logits are what they were, to the last digits."""

from collections.abc import Callable
from typing import Any

import pytest
import timm
import torch
from timm.layers.attention import Attention
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import Block, VisionTransformer
from torch import Tensor, nn

from robustbench_twicing import build_model, load_model
from robustbench_twicing.classifiers.kernels.choice import has_onednn
from robustbench_twicing.classifiers.kernels.last_block import PrefixBlock, read_prefix_only
from robustbench_twicing.models.attention import set_attention
from robustbench_twicing.models.facts import count_gmacs

pytestmark = pytest.mark.slow

SIZES: dict[str, Any] = {
    "img_size": 32,
    "patch_size": 8,
    "embed_dim": 48,
    "depth": 3,
    "num_heads": 3,
}
FAMILIES = ["deit", "deit_distilled", "neutreno", "featscale", "attnscale", "twicing"]
OPTIONS: dict[str, dict[str, Any]] = {
    "layer scale": {"init_values": 0.3},
    "q and k normalised": {"qk_norm": True},
    "attention normalised": {"scale_attn_norm": True},
    "hidden layer normalised": {"scale_mlp_norm": True},
    "no bias": {"qkv_bias": False, "proj_bias": False},
    "registers": {"reg_tokens": 4},
    "stochastic depth": {"drop_path_rate": 0.5},
    "norm after pooling": {"fc_norm": True},
    "no last norm": {"final_norm": False},
    "no classes": {"num_classes": 0},
    "position without class": {"no_embed_class": True},
}


def randomised(network: nn.Module) -> nn.Module:
    """Frozen, float64, in eval mode, with every parameter drawn: nothing is 0 or 1 by default."""
    torch.manual_seed(0)
    with torch.no_grad():
        for each in network.parameters():
            each.copy_(0.3 * torch.randn(each.shape))
    return network.double().eval().requires_grad_(False)


def family(name: str, **more: Any) -> nn.Module:
    return randomised(build_model(name, num_classes=10, **SIZES, **more))


def vit(**options: Any) -> Any:
    return randomised(VisionTransformer(**{"num_classes": 10, **SIZES, **options}))


def images(count: int = 3) -> Tensor:
    return torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(1)).double()


def output_and_gradient(network: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    leaf = x.clone().requires_grad_()
    logits = network(leaf)
    weights = torch.linspace(1, 2, logits.numel(), dtype=logits.dtype).view_as(logits)
    return logits.detach(), torch.autograd.grad((weights * logits).sum(), leaf)[0]


def assert_same(make: Callable[[], nn.Module], *, count: int = 3, form: Any = "auto") -> nn.Module:
    """The shortened network against the whole one, in float64."""
    whole, short = make(), make()
    keys = list(short.state_dict())
    assert read_prefix_only(short)
    assert list(short.state_dict()) == keys
    for each in (whole, short):
        set_attention(each, form)
    for found, wanted in zip(
        output_and_gradient(short, images(count)),
        output_and_gradient(whole, images(count)),
        strict=True,
    ):
        assert wanted.abs().max() > 1e-3
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-11)
    return short


@pytest.mark.parametrize("form", ["auto", "explicit", "fused"])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name: str, form: str) -> None:
    assert_same(lambda: family(name), form=form)


@pytest.mark.parametrize("name", FAMILIES)
def test_one_image(name: str) -> None:
    assert_same(lambda: family(name), count=1)


@pytest.mark.parametrize("layers", [(0,), (2,), (0, 2)])
def test_twicing_in_some_layers(layers: tuple[int, ...]) -> None:
    assert_same(lambda: family("twicing", layers=layers))


@pytest.mark.parametrize("what", OPTIONS)
def test_everything_that_a_block_of_timm_may_have(what: str) -> None:
    assert_same(lambda: vit(**OPTIONS[what]))


def test_both_heads_of_a_distilled_network_are_read() -> None:
    network = assert_same(lambda: family("deit_distilled"))
    block: Any = network.get_submodule("blocks.2")
    assert block(torch.randn(2, 18, 48).double()).shape == (2, 2, 48)


@pytest.mark.parametrize("name", FAMILIES)
def test_only_what_is_read_is_computed(name: str) -> None:
    whole, short = family(name), family(name)
    read_prefix_only(short)
    seen: list[int] = []
    short.get_submodule("blocks.2.mlp").register_forward_hook(
        lambda module, inputs, output: seen.append(output.shape[1])
    )
    short(images())
    assert seen == [2 if name == "deit_distilled" else 1]
    x = images(1)
    tokens = 18 if name == "deit_distilled" else 17
    left_out = (tokens - seen[0]) * 8 * 48**2 / 1e9  # of the MLP
    assert count_gmacs(short, x) <= count_gmacs(whole, x) - left_out


def test_under_autocast() -> None:
    whole, short = (vit().float() for _ in range(2))
    read_prefix_only(short)
    x = images().float()
    with torch.autocast("cpu", torch.bfloat16):
        found, wanted = short(x).float(), whole(x).float()
    torch.testing.assert_close(found, wanted, rtol=0.05, atol=0.05 * float(wanted.abs().max()))


class Mine(VisionTransformer):
    """Somebody's own, which may read any token."""


class MyAttention(Attention):
    """Somebody's own."""


class MyBlock(Block):
    """Somebody's own."""


def watched() -> Any:
    network = vit()
    network.get_submodule("blocks.1").register_forward_hook(lambda *arguments: None)
    return network


def replaced() -> Any:
    network = vit()
    network.pool = lambda x: x.mean(1)
    return network


def shared() -> Any:
    network = vit()
    network.blocks[0] = network.blocks[2]
    return network


def shared_attention() -> Any:
    network = vit()
    network.blocks[0].attn = network.blocks[2].attn
    return network


def another_part() -> Any:
    network = vit()
    network.blocks[2].attn.more = nn.Identity()
    return network


LEFT_ALONE: dict[str, Callable[[], nn.Module]] = {
    "mean of tokens": lambda: vit(global_pool="avg"),
    "attention pooling": lambda: vit(global_pool="map"),
    "all tokens": lambda: vit(global_pool=""),
    "subclass": lambda: randomised(Mine(num_classes=10, **SIZES)),
    "part of a network": lambda: nn.Sequential(vit()),
    "subclass of attention": lambda: vit(attn_layer=MyAttention),
    "subclass of block": lambda: vit(block_fn=MyBlock),
    "subclass of norm": lambda: vit(norm_layer=type("Norm", (nn.LayerNorm,), {})),
    "hook": watched,
    "replaced method": replaced,
    "one block twice": shared,
    "one attention twice": shared_attention,
    "attention of another version": another_part,
    "fan": lambda: build_model("fan", img_size=32, num_classes=10).eval(),
}


@pytest.mark.parametrize("what", LEFT_ALONE)
def test_what_is_left_alone(what: str) -> None:
    network = LEFT_ALONE[what]()
    types = [type(each) for each in network.modules()]
    assert not read_prefix_only(network)
    assert [type(each) for each in network.modules()] == types
    assert not any(getattr(each, "read", None) for each in network.modules())


@pytest.mark.parametrize("name", ["test_vit", "vit_tiny_patch16_224", "deit3_small_patch16_224"])
def test_networks_of_timm(name: str) -> None:
    sizes: dict[str, Any] = {} if name == "test_vit" else {"img_size": 32, "depth": 2}
    whole, short = (randomised(timm.create_model(name, **sizes)) for _ in range(2))
    assert read_prefix_only(short)
    side = 160 if name == "test_vit" else 32
    x = torch.randn(2, 3, side, side).double()
    torch.testing.assert_close(short(x), whole(x), rtol=1e-9, atol=1e-11)


def test_distilled_networks_of_timm_are_ours() -> None:
    assert type(family("deit_distilled")) is VisionTransformerDistilled


@pytest.mark.skipif(not has_onednn(), reason="this torch has no oneDNN")
def test_a_classifier_of_some_classes() -> None:
    options: Any = {"num_classes": 10, "classes": [3, 1, 8]}
    plain, other = (
        load_model("deit_tiny_patch16_224", "random:0", crop=32, kernels=name, **options)
        for name in ("plain", "onednn")
    )
    assert type(other.get_submodule("network.blocks.11")) is PrefixBlock
    x = torch.rand(2, 3, 32, 32)
    torch.testing.assert_close(other(x), plain(x), rtol=1e-4, atol=1e-5)
    found, wanted = (output_and_gradient(each, x)[1] for each in (other, plain))
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-6)
