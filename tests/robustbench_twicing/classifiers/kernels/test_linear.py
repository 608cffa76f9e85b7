"""Linear layers in oneDNN: the same but for rounding, and only where they may be."""

from typing import Any

import pytest
import torch
from timm.layers.mlp import Mlp
from torch import Tensor, nn

from robustbench_twicing.classifiers import kernels
from robustbench_twicing.classifiers.kernels import OneDnnMlp, has_onednn, use_onednn

onednn = pytest.mark.skipif(not has_onednn(), reason="this torch has no oneDNN")


def layer(*, bias: bool = True, seed: int = 0) -> nn.Linear:
    torch.manual_seed(seed)
    return nn.Linear(24, 40, bias=bias).requires_grad_(False)


def faster(module: nn.Module) -> nn.Module:
    use_onednn(module)
    return module


def both(bias: bool) -> tuple[nn.Module, nn.Module]:
    return layer(bias=bias), faster(nn.Sequential(layer(bias=bias)))


def gradient(module: nn.Module, x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    loss = (module(leaf) ** 3).sum()
    return torch.autograd.grad(loss, leaf)[0]


def never(*arguments: Any) -> Tensor:
    raise AssertionError("the other kernel was used")


@onednn
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(24,), (1, 24), (7, 24), (2, 5, 24), (2, 3, 4, 24), (0, 24)])
def test_a_linear_layer_is_the_same_but_for_rounding(shape: tuple[int, ...], bias: bool) -> None:
    plain, other = both(bias)
    x = torch.randn(shape)
    torch.testing.assert_close(other(x), plain(x), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient(other, x), gradient(plain, x), rtol=1e-4, atol=1e-4)
    assert other(x).requires_grad is False
    assert other(x.requires_grad_()).requires_grad is True


@onednn
def test_input_that_is_not_in_one_piece() -> None:
    plain, other = both(bias=True)
    x = torch.randn(6, 24, 5).transpose(1, 2)
    torch.testing.assert_close(other(x), plain(x), rtol=1e-5, atol=1e-5)


def mlp(**options: Any) -> Mlp:
    torch.manual_seed(0)
    return Mlp(24, 40, **options).eval().requires_grad_(False)


@onednn
@pytest.mark.parametrize("norm", [None, nn.LayerNorm])
def test_gelu_in_the_same_pass_is_the_exact_one(
    norm: type[nn.Module] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, other = mlp(norm_layer=norm), faster(mlp(norm_layer=norm))
    x = torch.linspace(-9, 9, 7 * 24).view(7, 24)
    torch.testing.assert_close(gradient(other, x), gradient(plain, x), rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(nn.GELU, "forward", never)
    found = other(x)
    monkeypatch.undo()
    torch.testing.assert_close(found, plain(x), rtol=1e-5, atol=1e-5)


@onednn
def test_a_part_of_an_mlp_that_is_used_alone_has_no_activation() -> None:
    plain, other, x = mlp(), mlp(), torch.randn(3, 24)
    use_onednn(other)
    assert type(other) is OneDnnMlp
    torch.testing.assert_close(other.fc1(x), plain.fc1(x), rtol=1e-5, atol=1e-5)


@onednn
@pytest.mark.parametrize("activation", [nn.ReLU, lambda: nn.GELU("tanh")])
def test_another_activation_stays(activation: Any) -> None:
    plain, other = mlp(act_layer=activation), faster(mlp(act_layer=activation))
    x = torch.randn(7, 24)
    torch.testing.assert_close(other(x), plain(x), rtol=1e-5, atol=1e-5)


@onednn
def test_what_is_not_frozen_fp32_on_the_cpu_computes_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "_pointwise", never)
    for make in (layer, mlp):
        plain, x = make(), torch.randn(3, 24)
        other = faster(nn.Sequential(make()))
        assert torch.equal(other.double()(x.double()), plain.double()(x.double()))
        plain, other = make(), faster(nn.Sequential(make()))
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(other(x), plain(x))
        other.requires_grad_(True)
        other(x).sum().backward()
        assert all(each.grad is not None for each in other.parameters())


@onednn
def test_layers_of_a_subclass_are_left_alone() -> None:
    class Mine(nn.Linear):
        """Somebody's own."""

        def forward(self, input: Tensor) -> Tensor:
            """Something else."""
            return input

    network = faster(nn.Sequential(Mine(2, 2)))
    assert type(network[0]) is Mine  # type: ignore[index]


@onednn
def test_a_logit_that_is_not_a_number_stays_one() -> None:
    _, other = both(bias=True)
    x = torch.zeros(2, 24)
    x[0, 0] = float("nan")
    assert other(x)[0].isnan().all()
    assert other(x)[1].isfinite().all()
