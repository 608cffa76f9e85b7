"""FMN finds distances that can be worked out on paper, and those of another implementation."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attacks.fmn import BISECTIONS, STEPS, fmn
from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.distances import length
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.records.cost import CostMeter
from tests.tiny import Linear, convnet

PHOTOGRAPHS = int(os.environ.get("GOLDEN", "4"))
NORMS: tuple[Norm, ...] = ("linf", "l2")
ORDERS = {"linf": 1, "l2": 2}
"""Of the dual norms."""


class Constant(nn.Module):
    """Class 0, whatever the pixels; it has no gradient."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, 2)."""
        return torch.tensor([[1.0, 0.0]]).expand(len(x), 2)


class Flat(nn.Module):
    """Class 0, whatever the pixels; its gradient is zero."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, 2)."""
        return torch.tensor([[1.0, 0.0]]) + 0 * x.flatten(1).sum(1, keepdim=True)


def images(count: int = 7) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 256, (count, 3, 8, 8), generator=generator) / 255


def distances(x: Tensor, x_adv: Tensor, norm: Norm) -> list[float]:
    return length(x_adv.double() - x.double(), norm).tolist()


def exact(weight: Tensor, logits: Tensor, label: int, norm: Norm) -> float:
    """Distance to the nearest face of the decision region of a linear network."""
    gaps = {
        other: (logits[label] - logits[other])
        / torch.linalg.vector_norm((weight[label] - weight[other]).flatten(), ORDERS[norm])
        for other in range(len(logits))
        if other != label
    }
    return float(min(gaps.values()))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("seed", range(4))
def test_on_a_linear_network_it_finds_the_nearest_boundary(norm: Norm, seed: int) -> None:
    model = Linear(classes=5, seed=seed)
    model.weight.mul_(0.1)
    x = 0.5 + 0.01 * torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(seed))
    logits = model(x)
    y = logits.argmax(1)
    x_adv = fmn(model, x, y, norm=norm)
    assert (model(x_adv).argmax(1) != y).all()
    wanted = [
        exact(model.weight, row, int(label), norm) for row, label in zip(logits, y, strict=True)
    ]
    assert distances(x, x_adv, norm) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("norm", NORMS)
def test_the_distance_of_a_linear_network_worked_out_elsewhere(norm: Norm, shared: Path) -> None:
    known = golden(shared)["derived"]["linear_3x12_seed1_x0.5"]
    model = Linear(classes=3, side=2)
    model.weight = torch.tensor(known["W"]).view(3, 3, 2, 2)
    x, y = torch.full((1, 3, 2, 2), 0.5), torch.tensor([known["label"]])
    (distance,) = distances(x, fmn(model, x, y, norm=norm), norm)
    assert distance == pytest.approx(known[f"radius_{norm}"], rel=1e-3)
    assert distance >= known[f"radius_{norm}"] * (1 - 1e-6)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("network", [Constant, Flat])
def test_a_network_that_is_never_wrong_leaves_the_image(
    norm: Norm, network: type[nn.Module]
) -> None:
    x = images()
    assert torch.equal(fmn(network(), x, torch.zeros(7, dtype=torch.long), norm=norm), x)


@pytest.mark.parametrize("norm", NORMS)
def test_an_image_that_is_wrong_already_is_left_as_it_is(norm: Norm) -> None:
    model, x = convnet(), images()
    y = model(x).argmax(1)
    y[::2] = (y[::2] + 1) % 5
    x_adv = fmn(model, x, y, norm=norm)
    assert [torch.equal(*pair) for pair in zip(x, x_adv, strict=True)] == [True, False] * 3 + [True]


@pytest.mark.parametrize("norm", NORMS)
def test_examples_are_wrong_valid_and_nearer_after_more_steps(norm: Norm) -> None:
    model, x = convnet(), images()
    y = model(x).argmax(1)
    reached = []
    for steps in (10, 30):
        x_adv = fmn(model, x, y, norm=norm, steps=steps)
        assert (model(x_adv).argmax(1) != y).all()
        assert x_adv.min() >= 0
        assert x_adv.max() <= 1
        reached.append(sum(distances(x, x_adv, norm)))
    assert reached[1] < reached[0]


@pytest.mark.parametrize("norm", NORMS)
def test_neither_batches_nor_their_order_matter(norm: Norm) -> None:
    model, x = convnet().double(), images().double()
    y = model(x).argmax(1)
    together = fmn(model, x, y, norm=norm, steps=20)
    alone = [fmn(model, x[[row]], y[[row]], norm=norm, steps=20) for row in reversed(range(7))]
    torch.testing.assert_close(torch.cat(alone[::-1]), together, atol=1e-9, rtol=0)


def test_its_cost_is_one_gradient_a_step_and_eleven_scores() -> None:
    model, meter, x = convnet(), CostMeter(), images(3)
    with meter.watch(model), meter.measure("fmn"):
        fmn(model, x, torch.tensor([0, 1, 2]))
    cost = meter.costs["fmn"]
    assert cost.n_forward == 3 * (STEPS + 1 + BISECTIONS) == 3 * 111
    assert cost.n_backward == 3 * STEPS == 3 * 100


def golden(shared: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads((shared / "golden" / "threats.json").read_text())
    return values


@pytest.fixture(scope="module")
def photographs(shared: Path) -> tuple[Classifier, Tensor, Tensor]:
    """DeiT-tiny and the first photographs on which it is right; `GOLDEN` says how many at most."""
    data = shared / "data"
    model = load_model(
        "deit_tiny_patch16_224", checkpoint=data / "deit_tiny_patch16_224.safetensors"
    )
    dataset = open_dataset(data / "imagenet-val-100")
    bits = golden(shared)["clean"]["deit_tiny"]["bits"]
    right = [index for index, bit in enumerate(bits) if bit == "1"][:PHOTOGRAPHS]
    pixels = [torch.tensor(dataset.pixels(index, model.preprocessing)) for index in right]
    x = torch.stack(pixels).permute(0, 3, 1, 2).float() / 255
    return model, x, torch.tensor([dataset.labels[index] for index in right])


@pytest.mark.slow
@pytest.mark.golden
@pytest.mark.parametrize("norm", NORMS if PHOTOGRAPHS > 4 else NORMS[:1])
def test_photographs_are_fooled_as_near_as_another_implementation_found(
    norm: Norm, shared: Path, photographs: tuple[Classifier, Tensor, Tensor]
) -> None:
    """Four in L-infinity; all of them, and L2, in `make golden`."""
    model, x, y = photographs
    x_adv = fmn(model, x, y, norm=norm)
    assert (model(x_adv).argmax(1) != y).all()
    unit = 255 if norm == "linf" else 1
    radii = unit * length(x_adv.double() - x.double(), norm)
    wanted = torch.tensor(golden(shared)["derived"][f"own_fmn_100_{norm}"]["radius"][: len(x)])
    wanted = wanted.double()
    assert radii.tolist() == pytest.approx(wanted.tolist(), rel=0.2)
    assert float(radii.median()) == pytest.approx(float(wanted.median()), rel=0.02)
    if norm == "linf":
        bisection = torch.tensor(golden(shared)["min_linf_bisection"]["radius_255"])
        assert (radii < bisection[bisection > 0][: len(x)]).all()
    if len(x) == 13:
        counts = golden(shared)["derived"][f"own_fmn_100_{norm}"]["accuracy_at"]
        assert {eps: int((radii > float(eps)).sum()) for eps in counts} == counts
