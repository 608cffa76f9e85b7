"""Weights of attention in closed form, and what a network with equal queries gives."""

import math

import pytest
import torch

from robustbench_twicing.analysis.attention import class_row, row_numbers
from robustbench_twicing.analysis.measures import attention, similarity
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.probe import LayerTensor, probe
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.family import ModelRecord

N = 8


def test_one_token_has_everything() -> None:
    numbers = row_numbers(torch.eye(N))
    assert numbers.entropy.tolist() == [0] * N
    assert numbers.participation.tolist() == [1] * N


@pytest.mark.parametrize("sharing", [2, 5, N])
def test_some_tokens_share_alike(sharing: int) -> None:
    row = torch.zeros(N, dtype=torch.float64)
    row[:sharing] = 1 / sharing
    numbers = row_numbers(row)
    assert float(numbers.entropy) == pytest.approx(math.log(sharing))
    assert float(numbers.participation) == pytest.approx(sharing)


def test_the_class_tokens_row_and_its_patches() -> None:
    row = torch.tensor([0.5, 0.3, 0.05, 0.15])
    weights = torch.stack([row, row.roll(1), row.roll(2), row.roll(3)])[None, None]
    of_class = class_row(weights, extra_tokens=2, has_class_token=True)
    assert float(of_class.itself) == pytest.approx(0.5)
    assert float(of_class.largest) == pytest.approx(0.15)
    assert float(of_class.entropy) == pytest.approx(-sum(a * math.log(a) for a in row.tolist()))


def test_without_a_class_token_there_is_no_such_row() -> None:
    of_class = class_row(torch.full((2, 3, N, N), 1 / N), extra_tokens=0, has_class_token=False)
    assert all(numbers.isnan().all() and numbers.shape == (2, 3) for numbers in of_class)


@pytest.mark.parametrize("family", ["deit", "twicing"])
def test_equal_queries_average_everything(family: str) -> None:
    """Q = 0: A = J/N, which is its own square, so that all mixed tokens of a layer are equal."""
    network = build_model(
        family, embed_dim=16, depth=2, num_heads=2, num_classes=3, img_size=32, patch_size=8
    )
    tokens = 1 + (32 // 8) ** 2
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "attn.qkv" in name:
                parameter[:16] = 0
    model = Classifier(network, Preprocessing(crop=32, resize=None), ModelRecord(family))
    entropies, alike = list[float](), list[float]()

    def look(seen: LayerTensor) -> None:
        if seen.name == "weights":
            ((_, numbers),) = attention().rows(seen)
            entropies.extend([float(numbers["class_entropy"]), float(numbers["row_entropy"])])
        else:
            ((_, of_all), _) = similarity().rows(seen)
            alike.append(float(of_all["similarity"]))

    with torch.inference_mode(), probe(model, ("weights", "mix"), look):
        model(torch.rand(1, 3, 32, 32))
    assert entropies == pytest.approx([math.log(tokens)] * 4, abs=1e-5)
    assert alike == pytest.approx([1, 1], abs=1e-5)


def test_each_head_has_numbers_of_its_own_whose_mean_is_the_mean() -> None:
    weights = torch.rand(2, 3, N, N, generator=torch.Generator().manual_seed(0)).softmax(-1)
    seen = LayerTensor("weights", 1, weights, 1, has_class_token=True, grid=(1, N - 1))
    rows = dict(attention(each_head=True).rows(seen))
    assert list(rows) == [("1", name) for name in ("mean", "1", "2", "3")]
    means = rows.pop(("1", "mean"))
    for name, values in means.items():
        heads = torch.stack([numbers[name] for numbers in rows.values()], 1)
        assert heads.mean(1) == pytest.approx(values)
        assert heads.std() > 0
    assert rows["1", "2"]["class_self"] == pytest.approx(weights[:, 1, 0, 0])
    assert list(dict(attention().rows(seen))) == [("1", "mean")]
