"""The learner: schedule, stochastic depth, smoothing, average, as the recipe says."""

import math
from dataclasses import replace

import pytest
import torch
from timm.layers.drop import DropPath
from torch.nn.functional import cross_entropy

from robustbench_twicing import build_model
from robustbench_twicing.training.learner import Learner, set_drop_path
from robustbench_twicing.training.recipe import Recipe
from robustbench_twicing.training.recipes import RECIPES

SMALL = {
    "img_size": 8,
    "patch_size": 4,
    "embed_dim": 8,
    "depth": 3,
    "num_heads": 2,
    "num_classes": 4,
}
FAMILIES = ("deit", "neutreno", "featscale", "attnscale", "twicing", "fan", "fan_twicing")


def learner(recipe: Recipe, family: str = "deit", steps: int = 10) -> Learner:
    torch.manual_seed(0)
    return Learner(build_model(family, **SMALL).train(), recipe, steps)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(4, 3, 8, 8, generator=generator), torch.tensor([0, 1, 2, 3])


def rates(recipe: Recipe, steps: int) -> list[float]:
    """The learning rate of every step."""
    made = learner(recipe, steps=steps)
    found = []
    for number in range(recipe.epochs * steps):
        found.append(made.lr)
        made.step(batch(), number=number)
        if (number + 1) % steps == 0:
            made.end_epoch(number // steps)
    return found


@pytest.mark.slow
def test_the_rate_follows_the_cosine_by_epochs() -> None:
    recipe = replace(RECIPES["deit"], epochs=8, warmup_epochs=2)
    found = rates(recipe, steps=3)
    assert found[0] == found[2] == pytest.approx(1e-6)
    assert found[3] == found[5] == pytest.approx((1e-6 + 5e-4) / 2)
    for epoch in range(2, 8):
        cosine = 1e-5 + (5e-4 - 1e-5) * (1 + math.cos(math.pi * epoch / 8)) / 2
        assert found[3 * epoch] == pytest.approx(cosine)


@pytest.mark.slow
def test_the_rate_follows_the_cosine_by_steps() -> None:
    recipe = replace(RECIPES["fmnist"], epochs=2, warmup_epochs=0.5, lr=1.0, min_lr=0.0)
    found = rates(recipe, steps=4)
    assert found[:2] == pytest.approx([1e-5, (1 + 1e-5) / 2])
    assert found[2:] == pytest.approx(
        [(1 + math.cos(math.pi * step / 8)) / 2 for step in range(2, 8)]
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_step_follows_the_gradient_of_the_smoothed_loss(family: str) -> None:
    made = learner(replace(RECIPES["deit"], drop_path=0.0, ema_decay=0.0), family)
    images, labels = batch()
    expected = cross_entropy(made.network(images), labels, label_smoothing=0.1)
    before = {key: tensor.clone() for key, tensor in made.network.named_parameters()}
    loss = made.step((images, labels), number=0)
    torch.testing.assert_close(loss, expected.detach())
    still = [
        key for key, tensor in made.network.named_parameters() if torch.equal(tensor, before[key])
    ]
    # A softmax over tokens does not see what is added to all of them.
    assert [key for key in still if not key.endswith("q.bias")] == []


def test_mixed_targets_are_not_smoothed_a_second_time() -> None:
    made = learner(replace(RECIPES["deit"], drop_path=0.0))
    images, labels = batch()
    shares = torch.eye(4)[labels]
    expected = cross_entropy(made.network(images), labels)
    torch.testing.assert_close(made.step((images, shares), number=0), expected.detach())


def test_biases_and_norms_have_no_weight_decay() -> None:
    groups = learner(RECIPES["deit"]).optimizer.param_groups
    decays = {
        tensor.ndim > 1: group["weight_decay"]
        for group in groups
        for tensor in group["params"]
        if tensor.shape[0] > 1  # a token or a position has a leading 1, and no decay
    }
    assert decays == {True: 0.05, False: 0.0}


def test_clipping_bounds_the_gradient() -> None:
    made = learner(replace(RECIPES["fmnist"], precision="fp32", clip_grad=1e-3))
    images, labels = batch()
    made.step((1000 * images, labels), number=0)
    norms = [float(p.grad.norm()) for p in made.network.parameters() if p.grad is not None]
    assert math.hypot(*norms) == pytest.approx(1e-3, rel=1e-3)


def test_the_average_follows_the_weights_by_its_decay() -> None:
    made = learner(replace(RECIPES["deit"], ema_decay=0.75, lr=0.1, warmup_epochs=0))
    assert made.ema is not None
    before = made.network.get_parameter("head.weight").detach().clone()
    made.step(batch(), number=0)
    after = made.network.get_parameter("head.weight").detach()
    assert float((after - before).abs().max()) > 0.01
    torch.testing.assert_close(
        made.ema.module.get_parameter("head.weight").detach(), 0.75 * before + 0.25 * after
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_stochastic_depth_is_in_every_block_and_only_in_training(family: str) -> None:
    torch.manual_seed(0)
    network = build_model(family, **SMALL)
    images, _ = batch()
    clean = network(images)
    keys = list(network.state_dict())
    set_drop_path(network, 0.5)
    found = [module.drop_prob for module in network.modules() if isinstance(module, DropPath)]
    rising = [0.0, 0.0, 0.25, 0.25, 0.5, 0.5]
    assert found == ([0.5] * 6 if family.startswith("fan") else rising)
    assert list(network.state_dict()) == keys
    assert torch.equal(network(images), clean)
    network.train()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    draws = [network(images) for _ in range(4)]
    assert any(not torch.equal(draw, clean) for draw in draws)


@pytest.mark.parametrize("family", FAMILIES)
def test_dropping_every_branch_leaves_the_stem(family: str) -> None:
    """With a rate close to 1 the main blocks pass their tokens on."""
    torch.manual_seed(0)
    network = build_model(family, **SMALL)
    set_drop_path(network, 0.999999)
    blocks = network.get_submodule("blocks")
    tokens = torch.randn(2, 4, 8)
    block = list(blocks.children())[-1].train()
    for module in block.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    out = block(tokens, (2, 2)) if family.startswith("fan") else block(tokens)
    assert torch.equal(out[0] if isinstance(out, tuple) else out, tokens)
