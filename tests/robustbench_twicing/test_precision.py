"""Full fp32 on CUDA, and what the caller had set after it."""

import pytest
import torch

from robustbench_twicing.precision import full_fp32


@pytest.mark.parametrize("before", [True, False])
def test_convolutions_are_in_full_fp32_inside_only(
    before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", before)
    with full_fp32(torch.device("cuda")):
        assert torch.backends.cudnn.allow_tf32 is False
    assert torch.backends.cudnn.allow_tf32 is before
    with pytest.raises(ZeroDivisionError), full_fp32(torch.device("cuda")):
        raise ZeroDivisionError
    assert torch.backends.cudnn.allow_tf32 is before
    with full_fp32(torch.device("cpu")):
        assert torch.backends.cudnn.allow_tf32 is before


@pytest.mark.cuda
def test_a_convolution_is_as_exact_as_fp32() -> None:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(4, 64, 32, 32, generator=draw)
    weight = torch.randn(64, 64, 3, 3, generator=draw)
    wanted = torch.nn.functional.conv2d(x.double(), weight.double())
    with full_fp32(torch.device("cuda")):
        found = torch.nn.functional.conv2d(x.cuda(), weight.cuda()).cpu().double()
    assert (found - wanted).abs().max() < 1e-5 * wanted.abs().max()
