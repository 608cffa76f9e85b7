"""The input's gradient, and a model left as it was found."""

import math

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.gradient import eval_mode, input_gradient
from robustbench_twicing.errors import BrokenAttackError
from tests.tiny import ConvNet, Linear


def test_the_gradient_is_that_of_the_summed_cross_entropy() -> None:
    model = Linear(classes=3).double()
    x = torch.rand(4, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    y = torch.tensor([0, 1, 2, 0])
    shares = model(x).softmax(1) - nn.functional.one_hot(y, 3)
    wanted = torch.einsum("nk,kchw->nchw", shares, model.weight)
    assert torch.allclose(input_gradient(model, x, y), wanted, rtol=1e-10, atol=0)


def test_no_image_depends_on_its_batch() -> None:
    model, y = Linear(classes=3).double(), torch.tensor([0, 1, 2, 0])
    x = torch.rand(4, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    alone = torch.cat([input_gradient(model, x[n : n + 1], y[n : n + 1]) for n in range(4)])
    assert torch.allclose(input_gradient(model, x, y), alone, rtol=1e-9, atol=0)


@pytest.mark.parametrize("grad", [True, False])
def test_nothing_is_left_behind(grad: bool) -> None:
    model = ConvNet().eval()
    x = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    before = x.clone()
    with torch.set_grad_enabled(grad):
        gradient = input_gradient(model, x, torch.tensor([0, 1]))
    assert torch.equal(x, before)
    assert not x.requires_grad
    assert x.grad is None
    assert not gradient.requires_grad
    assert (gradient != 0).all()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_an_input_with_a_graph_of_its_own_keeps_it() -> None:
    source = torch.rand(2, 3, 8, 8, requires_grad=True)
    x = source * 0.5
    input_gradient(Linear(), x, torch.tensor([0, 1]))
    assert x.requires_grad
    assert source.grad is None


class Rounding(nn.Module):
    """Piecewise constant: the gradient is zero wherever it exists."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        logits: Tensor = Linear()((x * 255).round())
        return logits


class Constant(nn.Module):
    """Ignores its input."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits that do not depend on them."""
        return torch.zeros(len(x), 2)


class Detached(nn.Module):
    """Depends on its weights alone, with a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits that do not depend on them."""
        return self.weight.expand(len(x), 2)


@pytest.mark.parametrize("model", [Rounding(), Constant(), Detached()])
def test_a_model_without_a_gradient_has_a_zero_gradient(model: nn.Module) -> None:
    x = torch.rand(2, 3, 8, 8)
    assert torch.equal(input_gradient(model, x, torch.tensor([0, 1])), torch.zeros_like(x))


class Root(nn.Module):
    """Its value at 0 is fine, its slope is not: 0 times infinity."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        root = (x * 0).sqrt().flatten(1).sum(1)
        return torch.stack([root, -root], 1)


def test_a_gradient_that_is_not_a_number_is_a_broken_attack_and_no_zero() -> None:
    assert torch.tensor(math.nan).sign().item() == 0  # which would leave the image as it is
    with pytest.raises(BrokenAttackError, match="gradient is not a number"):
        input_gradient(Root(), torch.rand(2, 3, 8, 8), torch.tensor([0, 1]))


def test_eval_mode_gives_every_module_its_mode_back() -> None:
    first, last = ConvNet(), ConvNet()
    model = nn.Sequential(first, nn.Dropout(), last).train()
    last.eval()
    first.drop.eval()
    before = [module.training for module in model.modules()]
    assert 0 < sum(before) < len(before)
    with eval_mode(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == before


def test_eval_mode_gives_the_mode_back_after_a_failure() -> None:
    model = ConvNet().train()
    with pytest.raises(RuntimeError, match="boom"), eval_mode(model):
        raise RuntimeError("boom")
    assert all(module.training for module in model.modules())
