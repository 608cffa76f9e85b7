"""Photographs under DeiT-tiny's weights, run as three architectures, against values of others."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from robustbench_twicing.analysis.measures import attention, similarity, spectrum
from robustbench_twicing.classifiers.probe import LayerTensor, probe
from tests.robustbench_twicing.analysis.golden import (
    PHOTOGRAPHS,
    VARIANTS,
    network,
    network_input,
    photographs,
    read,
)

pytestmark = [pytest.mark.slow, pytest.mark.golden]
NAMES = {"block": "block", "attention": "attn", "mix": "mix"}
FLOAT32 = 2e-5


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict[str, Any]:
    return read(shared)


@pytest.fixture(scope="module", params=VARIANTS)
def measured(
    request: pytest.FixtureRequest, shared: Path, golden: dict[str, Any]
) -> tuple[dict[str, Any], dict[torch.dtype, dict[tuple[str, str], Tensor]]]:
    """The reference, and similarity by number format, name in the reference and layer."""
    model = network(shared, request.param)
    images = network_input(photographs(shared, golden["images"][:PHOTOGRAPHS]), model)
    by_type = {}
    for dtype in (torch.float32, torch.float64):
        values: dict[tuple[str, str], Tensor] = {}

        def look(seen: LayerTensor, values: dict[tuple[str, str], Tensor] = values) -> None:
            for (tensor, tokens, layer), numbers in similarity().rows(seen):
                key = ("final_norm", "12") if layer == "norm" else (NAMES[tensor], layer)
                values[f"{key[0]}_{tokens}", key[1]] = numbers["similarity"]

        with torch.inference_mode(), probe(model.to(dtype), similarity().tensors, look):
            model.network(images.to(dtype))
        by_type[dtype] = values
    return golden["variants"][request.param], by_type


def test_similarity_of_each_image(measured: Any) -> None:
    """Block outputs, image by image, in float64 and float32."""
    reference, by_type = measured
    for name, layers in reference["similarity_per_image"].items():
        for layer, images in layers.items():
            expected = torch.tensor(images[:PHOTOGRAPHS], dtype=torch.float64)
            for dtype, atol in ((torch.float64, 1e-9), (torch.float32, FLOAT32)):
                torch.testing.assert_close(
                    by_type[dtype][name, layer], expected, atol=atol, rtol=0, msg=f"{name} {layer}"
                )


def test_float32_agrees_with_float64(measured: Any) -> None:
    """In every tensor and layer, of which the reference has the means over twenty images."""
    reference, by_type = measured
    in_reference = {
        (name, layer) for name, layers in reference["similarity_mean"].items() for layer in layers
    }
    assert by_type[torch.float64].keys() == in_reference
    for key, values in by_type[torch.float64].items():
        torch.testing.assert_close(by_type[torch.float32][key], values, atol=FLOAT32, rtol=0)


@pytest.mark.skipif(PHOTOGRAPHS < 20, reason="means over all twenty photographs: make golden")
@pytest.mark.parametrize("variant", VARIANTS)
def test_attention_of_the_photographs(shared: Path, golden: dict[str, Any], variant: str) -> None:
    """Entropies and the largest weight, which NeuTRENO and twicing have of A, too."""
    model = network(shared, variant).double()
    images = network_input(photographs(shared, golden["images"]), model)
    expected = golden["variants"][variant]["attention_mean"]
    names = {
        "class_entropy": "entropy_cls_row",
        "class_max": "max_cls_patch",
        "row_entropy": "entropy_rows",
    }

    def look(seen: LayerTensor) -> None:
        ((_, numbers),) = attention().rows(seen)
        for name, reference in names.items():
            value = expected[reference][int(seen.layer) - 1]
            assert float(numbers[name].mean()) == pytest.approx(value, abs=1e-9), seen.layer

    with torch.inference_mode(), probe(model, attention().tensors, look):
        model.network(images)


@pytest.mark.skipif(PHOTOGRAPHS < 20, reason="means over all twenty photographs: make golden")
@pytest.mark.parametrize("variant", VARIANTS)
def test_spectrum_of_the_photographs(shared: Path, golden: dict[str, Any], variant: str) -> None:
    """Eigenvalues of A, and of what multiplies the values: 2A - A^2 of twicing, else A."""
    model = network(shared, variant).double()
    images = network_input(photographs(shared, golden["images"]), model)
    expected = golden["variants"][variant]["spectrum_mean"]
    tables: dict[tuple[str, str], dict[str, Tensor]] = {}

    def look(seen: LayerTensor) -> None:
        tables.update(spectrum().rows(seen))  # type: ignore[arg-type]

    with torch.inference_mode(), probe(model, spectrum().tensors, look):
        model.network(images)
    heads = len(tables) // 12
    largest = 0.0
    for layer in range(12):
        columns = [tables[str(layer + 1), str(head + 1)] for head in range(heads)]
        stacked = {name: torch.stack([of[name] for of in columns], 1) for name in columns[0]}
        means = {
            "mean_abs": stacked["mean_abs"].mean(1),
            "second_abs": stacked["second_abs"].mean(1),
            "mean_abs_effective": stacked["mean_abs_effective"].mean(1),
            "second_abs_effective": stacked["second_abs_effective"].mean(1),
            "max_abs_effective": stacked["max_abs_effective"].amax(1),
        }
        shares = {
            "share_effective_above_1": stacked["share_above_1"].mean(1),
            "share_complex_large": stacked["complex"].sum(1) / stacked["large"].sum(1),
            "share_negative_large": stacked["negative"].sum(1) / stacked["large"].sum(1),
        }
        for numbers, atol in ((means, 1e-6), (shares, 2e-3)):
            for name, values in numbers.items():
                mean = expected[name][layer]
                assert float(values.mean()) == pytest.approx(mean, abs=atol), f"{name} {layer}"
        largest = max(largest, float(stacked["max_abs_effective"].max()))
    assert largest == pytest.approx(golden["variants"][variant]["max_abs_effective_max"], abs=1e-6)


@pytest.mark.skipif(PHOTOGRAPHS < 20, reason="means over all twenty photographs: make golden")
def test_means_over_the_photographs(measured: Any) -> None:
    reference, by_type = measured
    for (name, layer), values in by_type[torch.float64].items():
        expected = reference["similarity_mean"][name][layer]
        assert float(values.mean()) == pytest.approx(expected, abs=1e-9), f"{name} {layer}"
