"""Maps of attention: uniform ones, places on the grid, and which layers and images are kept."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from robustbench_twicing.analysis.attention_maps import KeptMaps, MapChoice, map_layers
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.probe import LayerTensor, probe
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.family import ModelRecord
from tests.robustbench_twicing.analysis.golden import network, network_input, photographs, read

DEPTH, HEADS, PATCH = 2, 2, 8
SIZES: dict[str, Any] = {"embed_dim": 16, "depth": DEPTH, "num_heads": HEADS, "num_classes": 3}
HEIGHT, WIDTH = 32, 48
GRID = HEIGHT // PATCH, WIDTH // PATCH
IMAGES = ("a", "b", "c")
PIXELS = torch.tensor([-0.1, 0.5, 1]).view(1, 3, 1, 1).expand(1, 3, 2, 5)


def classifier(family: str, *, side: int | tuple[int, int] = 32) -> Classifier:
    sizes = {**SIZES, "patch_size": PATCH, **({} if "fan" in family else {"img_size": side})}
    torch.manual_seed(0)
    model = build_model(family, **sizes)
    return Classifier(model, Preprocessing(crop=32, resize=None), ModelRecord(family))


def with_equal_queries(family: str) -> Classifier:
    """A network whose queries are 0, so that all keys get the same weight."""
    model = classifier(family)
    with torch.no_grad():
        for name, parameter in model.network.named_parameters():
            if "attn.qkv" in name:
                parameter[: len(parameter) // 3] = 0
            elif "attn.q." in name:
                parameter.zero_()
            elif name.endswith("lamb"):
                parameter.fill_(0.7)
    return model


def kept(model: Classifier, pixels: Tensor, **choice: Any) -> pd.DataFrame:
    """Maps of images that are called `IMAGES`, all of them unless others are chosen."""
    maps = KeptMaps(model, MapChoice(**{"images": IMAGES, **choice}))
    maps.begin(IMAGES[: len(pixels)], pixels)
    with torch.inference_mode(), probe(model, ("weights",), maps.look):
        model(pixels)
    return maps.table()


def shown(values: Tensor, *, extra_tokens: int, grid: tuple[int, int]) -> LayerTensor:
    return LayerTensor("weights", DEPTH, values, extra_tokens, extra_tokens > 0, grid)


@pytest.mark.parametrize("matrix", ["softmax", "effective"])
@pytest.mark.parametrize("rows", ["class", "received"])
@pytest.mark.parametrize(
    "family", ["deit", "deit_distilled", "twicing", "attnscale", "neutreno", "fan", "fan_twicing"]
)
def test_uniform_attention_is_one_everywhere(family: str, rows: str, matrix: str) -> None:
    pixels = torch.rand(2, 3, 32, 32)
    table = kept(with_equal_queries(family), pixels, layers="1-2", rows=rows, matrix=matrix)
    assert len(table) == 2 * DEPTH * (2 if family == "deit_distilled" and rows == "class" else 1)
    for weights in table["map"]:
        np.testing.assert_allclose(weights, 1, atol=1e-5)


def test_patches_lie_row_by_row_and_the_other_tokens_columns_are_left_out() -> None:
    """Class and distillation token look at one patch each; all other tokens at the first patch."""
    rows, columns = GRID
    tokens = 2 + rows * columns
    weights = torch.zeros(1, HEADS, tokens, tokens)
    weights[:, :, :, 2] = 1
    weights[:, :, :2] = 0
    weights[:, :, 0, 2 + 1 * columns + 4] = 0.75
    weights[:, :, 0, 0] = 0.25
    weights[:, :, 1, 2 + 3 * columns + 5] = 1
    maps = KeptMaps(classifier("deit_distilled"), MapChoice(IMAGES))
    maps.begin(["a"], PIXELS)
    maps.look(shown(weights, extra_tokens=2, grid=GRID))
    table = maps.table()
    assert list(table["row"]) == ["class", "dist"]
    places = [(1, 4), (3, 5)]
    for of_patches, place, weight in zip(table["map"], places, (0.75, 1), strict=True):
        assert of_patches.shape == GRID
        assert of_patches[place] == pytest.approx(weight * tokens)
        assert of_patches.sum() == pytest.approx(weight * tokens)


def test_crops_are_what_the_network_saw() -> None:
    maps = KeptMaps(classifier("deit"), MapChoice(["b"]))
    maps.begin(IMAGES[:2], torch.cat([torch.zeros_like(PIXELS), PIXELS]))
    assert list(maps.crops) == ["b"]
    crop = maps.crops["b"]
    assert crop.shape == (2, 5, 3)
    assert crop.dtype == np.uint8
    assert (crop == [0, 128, 255]).all()


def test_received_is_the_mean_over_all_queries() -> None:
    weights = torch.rand(1, HEADS, 13, 13).softmax(-1)
    maps = KeptMaps(classifier("deit"), MapChoice(IMAGES, rows="received"))
    maps.begin(["a"], PIXELS)
    maps.look(shown(weights, extra_tokens=1, grid=(3, 4)))
    (received,) = maps.table()["map"]
    expected = weights.mean((0, 1, 2))[1:].view(3, 4) * 13
    torch.testing.assert_close(torch.from_numpy(received), expected)


@pytest.mark.parametrize("family", ["deit", "deit_distilled"])
def test_patches_and_the_other_tokens_have_the_whole_weight(family: str) -> None:
    model = classifier(family)
    pixels = torch.rand(1, 3, 32, 32)
    rows = []
    with (
        torch.inference_mode(),
        probe(model, ("weights",), lambda seen: rows.append(seen.values[0, :, 0])),
    ):
        model(pixels)
    extra = 2 if "distilled" in family else 1
    tokens = extra + (32 // PATCH) ** 2
    on_others = float(rows[-1][:, :extra].sum(1).mean())
    (weights,) = kept(model, pixels).query("row == 'class'")["map"]
    assert weights.sum() / tokens + on_others == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("family", ["deit", "fan"])
def test_the_grid_is_that_of_images_that_are_not_square(family: str) -> None:
    """FAN takes any size; a ViT is built for one."""
    model = classifier(family, side=(HEIGHT, WIDTH))
    table = kept(model, torch.rand(1, 3, HEIGHT, WIDTH), rows="received")
    assert [weights.shape for weights in table["map"]] == [GRID]


def test_heads_and_their_mean() -> None:
    model, pixels = classifier("deit"), torch.rand(2, 3, 32, 32)
    heads = kept(model, pixels, heads="each")
    mean = kept(model, pixels)
    assert list(heads["head"]) == ["1", "2"] * 2
    assert list(mean["head"]) == ["mean"] * 2
    for image in IMAGES[:2]:
        of_heads = np.stack(list(heads[heads["image"] == image]["map"]))
        (of_mean,) = mean[mean["image"] == image]["map"]
        np.testing.assert_allclose(of_heads.mean(0), of_mean, rtol=1e-5)


def test_only_the_images_that_are_asked_for_are_kept() -> None:
    model, pixels = classifier("deit"), torch.rand(3, 3, 32, 32)
    everything = kept(model, pixels)
    some = kept(model, pixels, images=("c", "a"))
    assert list(some["image"]) == ["a", "c"]
    for image, weights in zip(some["image"], some["map"], strict=True):
        (expected,) = everything[everything["image"] == image]["map"]
        np.testing.assert_array_equal(weights, expected)
    assert kept(model, pixels, images=()).empty


@pytest.mark.parametrize(
    ("family", "choice", "layers"),
    [
        ("deit", {}, [2]),
        ("deit", {"layers": "1-2"}, [1, 2]),
        ("fan", {}, ["class-1", "class-2"]),
        ("fan", {"rows": "received"}, [2]),
        ("fan", {"layers": "1"}, [1]),
    ],
)
def test_layers_of_a_choice(family: str, choice: dict[str, str], layers: list[int | str]) -> None:
    model = classifier(family)
    assert list(map_layers(model, MapChoice(IMAGES, **choice))) == layers
    table = kept(model, torch.rand(1, 3, 32, 32), **choice)
    assert list(table["layer"]) == list(map(str, layers))
    of_class = not choice.get("rows") and (family == "deit" or "layers" not in choice)
    assert set(table["row"]) == {"class" if of_class else "received"}


@pytest.mark.parametrize("layers", ["3", "0", "2-1", "last", "1,1", ""])
def test_a_layer_that_is_not_there_is_refused(layers: str) -> None:
    with pytest.raises(UserError, match="does not fit deit, which has layers 1 to 2") as caught:
        map_layers(classifier("deit"), MapChoice(IMAGES, layers))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("family", "matrices"),
    [
        ("deit", ["A", "A"]),
        ("featscale", ["A", "A"]),
        ("twicing", ["2A - A²", "2A - A²"]),
        ("fan_twicing", ["2A - A²", "2A - A²"]),
        ("attnscale", ["D + (1 + λ)(A - D)"] * 2),
        ("neutreno", ["A", "A, without its pull to the first values"]),
    ],
)
def test_the_effective_matrix_has_a_name(family: str, matrices: list[str]) -> None:
    pixels = torch.rand(1, 3, 32, 32)
    effective = kept(classifier(family), pixels, layers="1-2", matrix="effective")
    assert list(effective["matrix"]) == matrices
    softmax = kept(classifier(family), pixels, layers="1-2")
    assert list(softmax["matrix"]) == ["A", "A"]


def effective_of(family: str, a: Tensor) -> Tensor:
    """The explicit matrix of (heads, N, N)."""
    if family == "twicing":
        return 2 * a - torch.stack([head @ head for head in a])
    uniform = torch.full_like(a, 1 / a.shape[-1])
    return uniform + 1.7 * (a - uniform)


@pytest.mark.parametrize("family", ["twicing", "attnscale"])
def test_effective_maps_are_rows_of_the_explicit_matrix(family: str) -> None:
    model = classifier(family).double()
    with torch.no_grad():
        for name, parameter in model.network.named_parameters():
            if name.endswith("lamb"):
                parameter.fill_(0.7)
            elif "qkv" in name:
                parameter.mul_(20)
    pixels = torch.rand(1, 3, 32, 32, dtype=torch.float64)
    matrices: list[Tensor] = []
    with (
        torch.inference_mode(),
        probe(model, ("weights",), lambda seen: matrices.append(seen.values[0])),
    ):
        model(pixels)
    expected = effective_of(family, matrices[-1])
    torch.testing.assert_close(expected.sum(-1), torch.ones_like(expected[..., 0]))
    (weights,) = kept(model, pixels, matrix="effective")["map"]
    row = expected.mean(0)[0, 1:] * expected.shape[-1]
    torch.testing.assert_close(torch.from_numpy(weights).flatten(), row.float())
    assert (weights < 0).any()


@pytest.mark.slow
@pytest.mark.golden
@pytest.mark.parametrize("variant", ["baseline", "twicing", "neutreno"])
def test_the_last_layer_of_a_photograph(shared: Path, variant: str) -> None:
    """Where the class token looks, as a script beside the checkout worked it out."""
    reference = read(shared)
    expected = reference["variants"][variant]["last_layer_cls_attention_head_mean"]
    model = network(shared, variant).double()
    images = network_input(photographs(shared, reference["images"][:1]), model)
    maps = KeptMaps(model, MapChoice(IMAGES))
    maps.begin(["a"], PIXELS)
    with torch.inference_mode(), probe(model, ("weights",), maps.look):
        model.network(images)
    weights = maps.table()["map"][0] / 197
    assert weights.shape == (14, 14)
    assert float(weights.sum()) == pytest.approx(expected["image0_sum_over_patches"], abs=1e-6)
    place = np.unravel_index(weights.argmax(), weights.shape)
    assert list(place) == expected["image0_argmax_row_col"]
    assert float(weights.max()) == pytest.approx(expected["image0_max"], abs=1e-8)
    np.testing.assert_allclose(weights[0], expected["image0_first_row"], atol=1e-8)
