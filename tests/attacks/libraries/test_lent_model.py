"""A lent model comes back as it was, and its nonsense stops the attack."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from attacks.libraries.lent_model import lent
from robustbench_twicing.errors import BrokenAttackError
from tests.tiny import convnet


def images() -> Tensor:
    return torch.linspace(0, 1, 2 * 192).view(2, 3, 8, 8)


def borrowed() -> nn.Module:
    """A model in mixed modes of which some parameters learn."""
    model = convnet()
    model.train()
    model.network.get_submodule("bn").eval()
    model.network.get_submodule("head").requires_grad_(True)
    return model


def facts(model: nn.Module) -> tuple[list[bool], list[bool]]:
    return (
        [module.training for module in model.modules()],
        [each.requires_grad for each in model.parameters()],
    )


def test_inside_it_is_frozen_in_eval_mode() -> None:
    model = borrowed()
    with lent(model):
        assert facts(model) == (
            [False] * len(list(model.modules())),
            [False] * len(list(model.parameters())),
        )


def leaves_train_mode(model: nn.Module) -> None:
    model.train()


def fails(model: nn.Module) -> None:
    raise ZeroDivisionError


def learns(model: nn.Module) -> None:
    x = images().requires_grad_()
    model(x).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("code", [leaves_train_mode, fails, learns])
def test_afterwards_it_is_as_it_was(code: Callable[[nn.Module], None]) -> None:
    model = borrowed()
    before = facts(model)
    assert len(set(before[0])) == len(set(before[1])) == 2
    try:
        with lent(model):
            code(model)
    except ZeroDivisionError:
        pass
    assert facts(model) == before
    assert all(each.grad is None for each in model.parameters())
    assert not model._forward_hooks


class Times(nn.Module):
    """Two logits: the sum of the pixels, and that sum times a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        total = x.flatten(1).sum(1)
        return torch.stack([total, self.factor * total], 1)


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), -float("inf")])
def test_logits_that_are_not_finite_stop_the_attack(factor: float) -> None:
    model = Times(factor)
    with pytest.raises(BrokenAttackError, match="logits that are not finite"), lent(model):
        model(images())
    assert not torch.isfinite(model(images())).all()


@pytest.mark.parametrize("through", ["leaf", "grad", "computed"])
def test_a_gradient_that_is_no_number_stops_the_attack(through: str) -> None:
    model = Times(2)
    leaf = images().requires_grad_()
    with lent(model):
        logits = model(leaf * 1 if through == "computed" else leaf)
        loss = (0 * logits[:1]).sqrt().sum()  # of the first image only
        with pytest.raises(BrokenAttackError, match="gradient that is not a number"):
            torch.autograd.grad(loss, leaf) if through == "grad" else loss.backward()


def test_what_is_a_number_goes_through() -> None:
    model = Times(2)
    leaf = images().requires_grad_()
    with lent(model), torch.enable_grad():
        (gradient,) = torch.autograd.grad(model(leaf).sum() * 1e30, leaf)
    assert torch.allclose(gradient, torch.full_like(leaf, 3e30))
