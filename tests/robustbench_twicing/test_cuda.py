"""On a GPU: the same images, the same draws, the same numbers but for rounding."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.efficiency import measure_efficiency
from robustbench_twicing.classifiers.gradient import input_gradient
from robustbench_twicing.classifiers.precision import AUTOCAST, Precision, full_fp32
from robustbench_twicing.data.loader import to_tensor
from robustbench_twicing.seeds import image_generators, uniform_like
from tests.tiny import convnet, noise, quick_conditions, run

pytestmark = pytest.mark.cuda
CPU, GPU = torch.device("cpu"), torch.device("cuda")
SMALL = {"img_size": 32, "patch_size": 8}


def test_pixels_are_the_same_bit_for_bit() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 8, 9, 3), np.uint8)
    found = to_tensor(pixels, GPU)
    assert found.device.type == "cuda"
    assert found.is_contiguous()
    torch.testing.assert_close(found.cpu(), to_tensor(pixels, CPU), rtol=0, atol=1e-7)


def test_draws_are_the_same_bit_for_bit() -> None:
    x = torch.rand(3, 3, 8, 8)
    drawn = [
        uniform_like(each, image_generators(0, ["a", "b", "c"], "pgd", {}, "1/255"))
        for each in (x, x.to(GPU))
    ]
    assert drawn[1].device.type == "cuda"
    assert torch.equal(drawn[1].cpu(), drawn[0])


def test_a_run_finds_what_it_finds_on_the_cpu(tmp_path: Path) -> None:
    conditions = quick_conditions("clean", "fgsm", "pgd", "spsa", "noise")
    found, wanted = (
        run(convnet(), noise(6), conditions, tmp_path / device, device=device).records()
        for device in ("cuda", "cpu")
    )
    for column in ("condition", "image", "target", "status", "pixels_sha256"):
        assert list(found[column]) == list(wanted[column])
    assert set(found["status"]) == {"ok"}
    for column in ("loss", "linf"):
        values = [frame[column].to_numpy(float) for frame in (found, wanted)]
        np.testing.assert_allclose(values[0], values[1], rtol=0.02, atol=1e-3)


def test_the_same_part_again_is_the_same(tmp_path: Path) -> None:
    conditions = quick_conditions("clean", "spsa", "noise")
    once, again = (
        run(convnet(), noise(6), conditions, tmp_path / name, device="cuda").records()
        for name in ("once", "again")
    )
    assert once.equals(again)


def shorter(dtype: torch.dtype) -> tuple[Classifier, Tensor, Tensor, set[torch.dtype]]:
    """A classifier on the GPU, images, labels; and what number formats its head was given."""
    model = convnet().to(GPU)
    seen: set[torch.dtype] = set()
    model.get_submodule("network.first").register_forward_hook(
        lambda module, inputs, output: seen.add(output.dtype)
    )
    return model, torch.rand(4, 3, 8, 8).to(GPU), torch.arange(4).to(GPU), seen


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_autocast_shortens_the_passes_of_an_attack_only(precision: Precision) -> None:
    model, x, y, seen = shorter(AUTOCAST[precision])
    exact = input_gradient(model, x, y)
    assert seen == {torch.float32}
    seen.clear()
    with model.computing_in(precision):
        found = input_gradient(model, x, y)
        assert model(x).dtype == torch.float32
    assert seen == {AUTOCAST[precision]}
    assert found.dtype == torch.float32
    assert (found.sign() == exact.sign()).float().mean() > 0.8
    seen.clear()
    model(x)
    assert seen == {torch.float32}


@pytest.mark.parametrize("name", ["deit_tiny_patch16_224", "deit_tiny_twicing_patch16_224"])
def test_networks_compute_what_they_compute_on_the_cpu(name: str) -> None:
    models = [load_model(name, "random:0", crop=32, device=device) for device in ("cpu", "cuda")]
    assert models[1].record.details["kernels"] == "plain"
    x = torch.rand(2, 3, 32, 32)
    found, wanted = models[1](x.to(GPU)).cpu(), models[0](x)
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-3)


def test_efficiency_waits_for_the_gpu_and_counts_its_memory() -> None:
    (found,) = measure_efficiency({"a": convnet()}, rounds=2, device=GPU)
    assert found.device.startswith("cuda")
    assert found.peak_mib > 0


def test_channels_last_changes_no_number_but_for_rounding() -> None:
    x, y = torch.rand(2, 3, 64, 64).to(GPU), torch.tensor([1, 2]).to(GPU)
    models = [
        load_model("timm:test_byobnet", "random:0", crop=64, memory_format=form, device="cuda")
        for form in ("contiguous", "channels_last")
    ]
    with full_fp32(GPU):
        torch.testing.assert_close(models[1](x), models[0](x), rtol=1e-3, atol=1e-4)
        gradients = [input_gradient(model, x, y) for model in models]
        torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-2, atol=1e-5)
    with models[1].computing_in("fp16"):
        assert input_gradient(models[1], x, y).is_contiguous()
