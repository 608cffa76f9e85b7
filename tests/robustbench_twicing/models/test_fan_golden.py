"""FAN against reference outputs of the original research code."""

from pathlib import Path
from typing import Any

import pytest
import torch

from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.checks import AttentionForm
from robustbench_twicing.models.fan.channel_norm import ChannelNorm
from tests.robustbench_twicing.models.golden import Golden, answer, close, read

pytestmark = pytest.mark.slow

VIT: dict[str, Any] = {
    "img_size": 64,
    "embed_dim": 64,
    "depth": 3,
    "num_heads": 4,
    "num_classes": 10,
}
FIXTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "fan_vit": ("fan", VIT),
    "fan_vit_p8_chead": (
        "fan",
        {
            "img_size": 32,
            "patch_size": 8,
            "embed_dim": 48,
            "depth": 2,
            "num_heads": 4,
            "num_classes": 10,
            "tokens_norm": False,
            "c_head_num": [2, 2],
            "cls_attn_layers": 1,
        },
    ),
    "fan_vit_se": ("fan", {**VIT, "se_mlp": True}),
    "fan_twicing": ("fan_twicing", VIT),
    "fan_hybrid": (
        "fan_hybrid",
        {**VIT, "embed_dim": 48, "stem_dims": (32, 64), "stem_depths": (2, 1)},
    ),
    "fan_hybrid_down": (
        "fan_hybrid",
        {
            **VIT,
            "embed_dim": 32,
            "num_heads": [2, 2, 3],
            "channel_dims": [32, 32, 48],
            "stem_dims": (16, 32),
            "stem_depths": (1, 1),
        },
    ),
}
RECTANGULAR = ("fan_vit", "fan_twicing", "fan_hybrid", "fan_hybrid_down")


def fixture(shared: Path, name: str) -> Golden:
    return read(shared, name, weights="fan_vit" if name == "fan_twicing" else None)


def build(name: str, attention: AttentionForm = "auto") -> torch.nn.Module:
    family, sizes = FIXTURES[name]
    return build_model(family, **sizes, attention=attention)


@pytest.mark.parametrize("attention", ["auto", "explicit", "fused"])
@pytest.mark.parametrize("name", FIXTURES)
def test_float32_outputs_and_gradients(shared: Path, name: str, attention: AttentionForm) -> None:
    golden = fixture(shared, name)
    seen = answer(build(name, attention), golden, torch.float32)
    close(seen.logits, golden["logits"], 2e-5)
    close(seen.grad, golden["grad_x"], 5e-6)
    for module, output in seen.outputs.items():
        # The position is the same for every image; it is computed for one and broadcast.
        expected = golden[f"out.{module}"][: len(output)]
        close(output, expected, 1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("name", FIXTURES)
def test_float64_outputs_and_gradients(shared: Path, name: str, attention: AttentionForm) -> None:
    golden = fixture(shared, name)
    seen = answer(build(name, attention), golden, torch.float64)
    close(seen.logits, golden["logits_f64"], 1e-9)
    close(seen.grad[:, :, ::8, ::8], golden["grad_x_f64_s8"], 1e-10)


@pytest.mark.parametrize("name", RECTANGULAR)
def test_images_that_are_not_square(shared: Path, name: str) -> None:
    golden = fixture(shared, name)
    network = build(name)
    network.load_state_dict(golden.weights)
    close(network(golden["x_rect"]), golden["logits_rect"], 2e-5)
    close(network.double()(golden["x_rect"].double()), golden["logits_rect_f64"], 1e-9)


@pytest.mark.parametrize("name", ["fan_vit", "fan_hybrid"])
def test_memory_layout_does_not_change_the_numbers(shared: Path, name: str) -> None:
    golden = fixture(shared, name)
    network = build(name).double()
    network.load_state_dict(golden.weights)
    x = golden["x"].double()
    for images in (x, x.to(memory_format=torch.channels_last)):
        close(network(images), golden["logits_f64"], 1e-9)
        # One image is contiguous in both layouts, which once decided the variance.
        close(network(images[:1]), golden["logits_f64"][:1], 1e-9)


def test_the_biased_reading_of_the_stem_norms_is_the_other_one(shared: Path) -> None:
    golden = fixture(shared, "fan_hybrid")
    network = build("fan_hybrid")
    network.load_state_dict(golden.weights)
    norms = [module for module in network.modules() if isinstance(module, ChannelNorm)]
    assert [norm.correction for norm in norms] == [0, 1, 1, 1, 1]
    for norm in norms:
        norm.correction = 0
    close(network(golden["x"]), golden["diag.logits_if_all_stem_norms_biased"], 2e-5)


@pytest.mark.parametrize("name", FIXTURES)
def test_evaluation_leaves_the_running_statistics_alone(shared: Path, name: str) -> None:
    golden = fixture(shared, name)
    network = build(name)
    answer(network, golden, torch.float32)
    for key, before in golden.weights.items():
        assert torch.equal(network.state_dict()[key], before), key
