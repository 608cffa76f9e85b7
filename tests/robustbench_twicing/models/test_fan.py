"""FAN: closed-form pieces, sizes that work and sizes that do not."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.fan.channel_norm import ChannelNorm
from robustbench_twicing.models.fan.channel_processing import ChannelProcessing
from robustbench_twicing.models.fan.old_keys import modernise
from tests.robustbench_twicing.models.fused_kernels import FusedKernels

TINY: dict[str, Any] = {"embed_dim": 32, "depth": 2, "num_heads": 2, "num_classes": 5}


@pytest.mark.parametrize(("unbiased", "divisor"), [(False, 2), (True, 1)])
def test_channel_norm_of_two_channels(unbiased: bool, divisor: int) -> None:
    x = torch.tensor([1.0, 4.0], dtype=torch.float64).view(1, 2, 1, 1)
    deviation = 1.5 / math.sqrt(2 * 1.5**2 / divisor + 1e-6)
    norm = ChannelNorm(2, unbiased=unbiased).double()
    seen = norm(x).flatten()
    torch.testing.assert_close(seen, torch.tensor([-deviation, deviation], dtype=torch.float64))


def test_a_gate_of_equal_tokens_is_known() -> None:
    gate = ChannelProcessing(4, 2)
    nn.init.constant_(gate.temperature, 3.0)
    nn.init.zeros_(gate.q.weight)
    z = torch.ones(1, 6, 4) * torch.tensor([1.0, 2.0, 3.0, 4.0])
    # Both softmaxes over 6 equal tokens are 1/6 everywhere, so each gate is sigmoid(6/36) * 3.
    expected = 3 * torch.sigmoid(torch.tensor(1 / 6)) * gate.norm_v(gate.mlp_v(z, (2, 3)))
    torch.testing.assert_close(gate(z, (2, 3)), expected)


@pytest.mark.parametrize(
    ("family", "sizes", "pixels"),
    [
        ("fan", {"patch_size": 16}, 64),
        ("fan", {"patch_size": 8}, 28),
        ("fan", {"patch_size": 4}, 32),
        ("fan", {"channel_dims": (32, 48), "patch_size": 4}, 28),
        ("fan", {"c_head_num": 4}, 32),
        ("fan", {"se_mlp": True, "patch_size": 8}, 32),
        ("fan_twicing", {"layers": (1,), "patch_size": 8}, 32),
        ("fan_hybrid", {"patch_size": 8, "stem_dims": (8, 16), "stem_depths": (1, 2)}, 32),
        ("fan_hybrid", {"patch_size": 16, "twicing": True, "layers": (0,)}, 48),
    ],
)
def test_small_images_work(family: str, sizes: dict[str, Any], pixels: int) -> None:
    network = build_model(family, **{**TINY, **sizes})
    assert not network.training
    assert network(torch.zeros(2, 3, pixels, pixels)).shape == (2, 5)


@pytest.mark.parametrize(
    ("patch_size", "widths"), [(4, [8, 32]), (8, [8, 16, 32]), (16, [4, 8, 16, 32])]
)
def test_the_stem_widens_as_it_halves_the_grid(patch_size: int, widths: list[int]) -> None:
    stem = build_model("fan", **TINY, patch_size=patch_size).get_submodule("patch_embed")
    convolutions = [module for module in stem.modules() if isinstance(module, nn.Conv2d)]
    assert [each.out_channels for each in convolutions] == widths


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "extra"), [("fan_twicing", {}), ("fan_hybrid", {"twicing": True})]
)
def test_layers_choose_where_the_average_is_taken_twice(family: str, extra: dict[str, Any]) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 64, 64)
    plain = build_model("fan" if family == "fan_twicing" else family, **TINY)
    for name, weight in plain.named_parameters():
        # Fresh attention is nearly uniform, for which one average and two are the same.
        if name.endswith("attn.q.weight") or name.endswith("attn.kv.weight"):
            nn.init.normal_(weight)
    outputs = [plain(x)]
    for layers in ((0,), (1,), (0, 1), None):
        network = build_model(family, **TINY, **extra, layers=layers)
        network.load_state_dict(plain.state_dict())
        outputs.append(network(x))
    none, first, second, both, default = outputs
    assert torch.equal(both, default)
    pairs = [(none, first), (none, second), (first, second), (first, both), (second, both)]
    assert not any(torch.allclose(one, other, atol=1e-6) for one, other in pairs)


@pytest.mark.parametrize(
    ("family", "form", "kernels"),
    [
        ("fan", "explicit", 0),
        ("fan", "auto", 2 + 2),
        ("fan_twicing", "explicit", 0),
        ("fan_twicing", "auto", 0 + 2),
        ("fan_twicing", "fused", 4 + 2),
    ],
)
def test_attention_products_are_computed_once(family: str, form: str, kernels: int) -> None:
    network = build_model(family, **TINY, attention=form)
    with FusedKernels() as counter, torch.no_grad():
        network(torch.zeros(1, 3, 64, 64))
    assert counter.calls == kernels


@pytest.mark.parametrize(
    ("family", "sizes", "message"),
    [
        ("fan_neutreno", {}, "neutreno is for DeiT alone"),
        ("fan_featscale", {}, "featscale is for DeiT alone"),
        ("fan", {"layers": (1,)}, "a fan model has no size 'layers'"),
        ("fan", {"patch_size": 32}, r"patch_size 32 is none of \(4, 8, 16\)"),
        ("fan_hybrid", {"patch_size": 4}, r"patch_size 4 is none of \(8, 16, 32\)"),
        ("fan", {"num_heads": 5}, "embed_dim 192 does not divide by num_heads 5"),
        ("fan", {"num_heads": [4, 4]}, "num_heads .* must have one entry a block, 12"),
        ("fan", {"num_heads": 0}, "num_heads .* must be a whole number above 0"),
        ("fan", {"c_head_num": 5}, "does not divide by c_head_num 5"),
        ("fan", {"depth": 2, "channel_dims": (96, 192)}, "channel_dims begin with 96"),
        ("fan", {"attention": "flash"}, "attention 'flash' is none of"),
        ("fan_twicing", {"layers": ()}, "layers is empty"),
        ("fan_hybrid", {"layers": (1,)}, "needs twicing=True"),
        ("fan_hybrid", {"twicing": True, "layers": (12,)}, "no layer 12 in a model of 12"),
        ("fan_hybrid", {"stem_dims": (8,)}, "two numbers each"),
    ],
)
def test_mistakes_are_explained(family: str, sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_model(family, **sizes)


def test_old_checkpoints_load_after_renaming() -> None:
    network = build_model("fan", **TINY)
    modern = network.state_dict()
    old = {key.replace("pos_embed.", "pos_embeder."): tensor for key, tensor in modern.items()}
    for block in range(2):
        for kind in ("weight", "bias"):
            prefix = f"cls_attn_blocks.{block}.attn."
            parts = [old.pop(f"{prefix}{letter}.{kind}") for letter in "qkv"]
            old[f"{prefix}qkv.{kind}"] = torch.cat(parts)
    before = dict(old)
    renamed = modernise(old)
    assert old.keys() == before.keys()
    assert renamed.keys() == modern.keys()
    assert all(torch.equal(renamed[key], modern[key]) for key in modern)


def test_modern_keys_stay_as_they_are() -> None:
    state = {"blocks.0.attn.qkv.weight": torch.ones(6, 2), "pos_embed": torch.ones(1)}
    assert modernise(state) == state


@pytest.mark.parametrize(
    "state",
    [
        {"pos_embeder.x": torch.ones(1), "pos_embed.x": torch.ones(1)},
        {"pos_embed.x": torch.ones(1), "pos_embeder.x": torch.ones(1)},
        {"cls_attn_blocks.0.attn.qkv.bias": torch.ones(4)},
    ],
)
def test_keys_that_contradict_are_refused(state: dict[str, torch.Tensor]) -> None:
    with pytest.raises(UserError, match="checkpoint key"):
        modernise(state)


def test_a_single_image_has_the_gradient_that_it_has_beside_others() -> None:
    """Whose channels lie side by side in memory, which BatchNorm of torch 2.14 gets wrong."""
    model = build_model("fan", img_size=32, patch_size=16, **TINY).double().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_var, 0.5, 2)  # type: ignore[arg-type]
            nn.init.uniform_(module.weight, 0.5, 2)
    x = torch.rand(2, 3, 32, 32, dtype=torch.float64)

    def gradient(images: torch.Tensor) -> torch.Tensor:
        leaf = images.clone().requires_grad_()
        return torch.autograd.grad(model(leaf)[:, 0].sum(), leaf)[0]

    torch.testing.assert_close(gradient(x[:1]), gradient(x)[:1])
