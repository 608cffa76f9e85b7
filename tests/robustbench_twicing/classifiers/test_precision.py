"""Full fp32 on CUDA, what the caller had set after it, and gradients of fp16 passes."""

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.gradient import input_gradient
from robustbench_twicing.classifiers.precision import (
    Precision,
    check_precision,
    full_fp32,
    in_short_format,
)
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import PREPROCESSING


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


class Confident(nn.Module):
    """Two classes whose logits differ by eight times the sum of an image of 3 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 2, bias=False)
        self.head.weight.data = torch.tensor([[4.0], [-4.0]]).expand(2, 3).contiguous()

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, 1, 1) to logits (N, 2)."""
        logits: Tensor = self.head(x.flatten(1))
        return logits


def confident() -> Classifier:
    record = ModelRecord(model="confident", family="own")
    return Classifier(Confident(), PREPROCESSING, record, normalize=False)


MEANS = torch.tensor([0.0, 0.1, 0.25, 0.4, 0.5, 0.75]).view(-1, 1, 1, 1).expand(-1, 3, 1, 1)


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_a_confident_network_has_a_gradient_in_a_short_format(precision: Precision) -> None:
    model, y = confident(), torch.zeros(len(MEANS), dtype=torch.long)
    wanted = input_gradient(model, MEANS, y)
    assert 0 < wanted.abs().min() < 1e-6  # in fp16 all of it would be rounded away
    with model.computing_in(precision):
        found = input_gradient(model, MEANS, y)
    assert torch.allclose(found, wanted, rtol=0.1, atol=0)  # of rounded logits


def test_an_image_far_from_the_boundary_does_not_change_another_ones_gradient() -> None:
    model, y = confident(), torch.zeros(len(MEANS), dtype=torch.long)
    with model.computing_in("fp16"):
        together = input_gradient(model, MEANS, y)
        alone = torch.cat([input_gradient(model, MEANS[[i]], y[[i]]) for i in range(len(y))])
    assert torch.equal(together, alone)


def test_a_gradient_of_zero_stays_zero_and_one_too_large_is_not_hidden() -> None:
    x = torch.ones(2, 3, 1, 1, requires_grad=True)
    logits = in_short_format(Confident(), x, torch.float16)
    assert isinstance(logits, Tensor)
    factor = torch.tensor([[0.0, 0.0], [float("inf"), 1.0]])
    (gradient,) = torch.autograd.grad(logits, x, factor)
    assert (gradient[0] == 0).all()
    assert not gradient[1].isfinite().any()


def test_what_is_not_a_tensor_is_handed_on() -> None:
    class Two(Confident):
        def forward(self, x: Tensor) -> list[Tensor]:  # type: ignore[override]
            return [x, x]

    assert isinstance(in_short_format(Two(), MEANS.clone().requires_grad_(), torch.float16), list)


def test_tf32_is_for_gpus_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    for precision in ("fp32", "bf16", "fp16"):
        check_precision(precision, cpu)
    with pytest.raises(UserError, match=r"tf32 is a number format of NVIDIA's GPUs, .* is cpu"):
        check_precision("tf32", cpu)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Tesla V100")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 0))
    with pytest.raises(UserError, match=r"needs a GPU of the Ampere .* not Tesla V100"):
        check_precision("tf32", gpu)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    check_precision("tf32", gpu)


def test_products_are_in_tf32_only_while_an_attack_runs() -> None:
    def allowed() -> tuple[bool, bool]:
        return torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32

    model, before = confident(), allowed()
    seen: list[tuple[bool, bool]] = []
    model.network.register_forward_hook(lambda *_: seen.append(allowed()))
    with full_fp32(torch.device("cuda")):
        model(MEANS)
        with model.computing_in("tf32"):
            model(MEANS)
        model(MEANS)
    assert seen == [(False, False), (True, True), (False, False)]
    assert allowed() == before
