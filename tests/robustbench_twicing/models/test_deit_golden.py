"""The DeiT family against reference outputs of the original research code."""

from pathlib import Path
from typing import Any

import pytest
import torch

from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.checks import AttentionForm
from tests.robustbench_twicing.models.golden import answer, close, read

SIZES: dict[str, Any] = {
    "img_size": 64,
    "patch_size": 16,
    "embed_dim": 48,
    "depth": 3,
    "num_heads": 3,
    "num_classes": 10,
}
FIXTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "deit": ("deit", {}),
    "deit_distilled": ("deit_distilled", {}),
    "neutreno": ("neutreno", {}),
    "featscale": ("featscale", {}),
    "attnscale": ("attnscale", {}),
    "twicing_all": ("twicing", {}),
    "twicing_last": ("twicing", {"layers": [2]}),
}


@pytest.mark.parametrize("attention", ["auto", "explicit", "fused"])
@pytest.mark.parametrize("name", FIXTURES)
def test_float32_outputs_and_gradients(shared: Path, name: str, attention: AttentionForm) -> None:
    family, extra = FIXTURES[name]
    golden = read(shared, name)
    network = build_model(family, **SIZES, **extra, attention=attention)
    seen = answer(network, golden, torch.float32)
    close(seen.logits, golden["logits"], 2e-5)
    close(seen.grad, golden["grad_x"], 5e-6)
    for module, output in seen.outputs.items():
        expected = golden[f"out.{module}"]
        close(output, expected, 1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("attention", ["explicit", "fused"])
@pytest.mark.parametrize("name", FIXTURES)
def test_float64_outputs_and_gradients(shared: Path, name: str, attention: AttentionForm) -> None:
    family, extra = FIXTURES[name]
    golden = read(shared, name)
    network = build_model(family, **SIZES, **extra, attention=attention)
    seen = answer(network, golden, torch.float64)
    close(seen.logits, golden["logits_f64"], 1e-9)
    close(seen.grad[:, :, ::8, ::8], golden["grad_x_f64_s8"], 1e-10)


def test_the_distilled_heads_are_averaged_not_chosen(shared: Path) -> None:
    golden = read(shared, "deit_distilled")
    network = build_model("deit_distilled", **SIZES)
    network.load_state_dict(golden.weights)
    close(network(golden["x"]), (golden["logits_cls"] + golden["logits_dist"]) / 2, 2e-5)
