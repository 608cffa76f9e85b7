"""Convolutions over patches side by side, as one product."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.kernels import linear
from robustbench_twicing.classifiers.kernels.choice import has_onednn
from robustbench_twicing.classifiers.kernels.patches import OneDnnPatches, cuts_patches

onednn = pytest.mark.skipif(not has_onednn(), reason="this torch has no oneDNN")


def both(size: Any = (4, 4), **options: Any) -> tuple[nn.Conv2d, nn.Conv2d]:
    torch.manual_seed(0)
    plain = nn.Conv2d(3, 10, size, stride=size, **options).requires_grad_(False)
    other = nn.Conv2d(3, 10, size, stride=size, **options).requires_grad_(False)
    other.load_state_dict(plain.state_dict())
    other.__class__ = OneDnnPatches
    return plain, other


def gradient(module: nn.Module, x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad((module(leaf) ** 3).sum(), leaf)[0]


@pytest.fixture
def convolution_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: Any) -> Tensor:
        raise AssertionError("the convolution was used")

    monkeypatch.setattr(OneDnnPatches, "_conv_forward", never)


@onednn
@pytest.mark.usefixtures("convolution_forbidden")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("size", [(4, 4), (2, 5)])
@pytest.mark.parametrize("image", [(8, 20), (4, 5), (11, 13), (7, 21)])
def test_output_and_gradient_are_the_convolutions(
    image: tuple[int, int], size: tuple[int, int], batch: int, bias: bool
) -> None:
    plain, other = both(size, bias=bias)
    x = torch.randn(batch, 3, *image)
    torch.testing.assert_close(other(x), plain(x), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(gradient(other, x), gradient(plain, x), rtol=1e-4, atol=1e-4)
    assert other(x).requires_grad is False


@onednn
def test_pixels_that_fill_no_patch_have_no_gradient() -> None:
    found = gradient(both()[1], torch.randn(2, 3, 10, 9))
    assert not found[:, :, 8:].any()
    assert not found[:, :, :, 8:].any()
    assert found[:, :, :8, :8].all()


@onednn
@pytest.mark.usefixtures("convolution_forbidden")
def test_images_with_channels_last() -> None:
    plain, other = both()
    x = torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(other(x), plain(x), rtol=1e-5, atol=1e-5)


def test_what_is_not_a_batch_of_frozen_fp32_is_the_convolution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*arguments: Any) -> Tensor:
        raise AssertionError("the other kernel was used")

    monkeypatch.setattr(linear, "_pointwise", never)
    plain, other = both()
    x = torch.randn(2, 3, 8, 8)
    assert torch.equal(other(x[0]), plain(x[0]))
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(other(x), plain(x))
    assert torch.equal(other.double()(x.double()), plain.double()(x.double()))
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input"):
        both()[1](x[:, :, :3])
    _, other = both()
    other.requires_grad_(True)
    other(x).sum().backward()
    assert all(each.grad is not None for each in other.parameters())


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 3},
        {"stride": 4},
        {"padding": 1},
        {"padding": "valid"},
        {"dilation": 2},
        {"groups": 3},
        {"kernel_size": 1, "stride": 1},
        {"kernel_size": (2, 4)},
    ],
)
def test_other_convolutions_do_not_cut_patches(options: dict[str, Any]) -> None:
    sizes: dict[str, Any] = {"in_channels": 3, "out_channels": 6, "kernel_size": 2, "stride": 2}
    assert cuts_patches(nn.Conv2d(**sizes))
    assert not cuts_patches(nn.Conv2d(**{**sizes, **options}))


def test_a_subclass_may_do_something_else() -> None:
    class Mine(nn.Conv2d):
        """Somebody's own."""

    assert not cuts_patches(Mine(3, 6, 2, stride=2))
