"""Passes through the network are counted by image, charged to what asked for them."""

import time

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.gradient import input_gradient
from robustbench_twicing.records.cost import Cost, CostMeter
from tests.tiny import Linear


def test_forward_and_backward_passes_are_counted_by_image() -> None:
    model, meter = Linear(), CostMeter()
    with meter.watch(model):
        with meter.measure("forward"), torch.no_grad():
            model(torch.zeros(3, 3, 8, 8))
            model(torch.zeros(2, 3, 8, 8))
        with meter.measure("both"):
            input_gradient(model, torch.zeros(4, 3, 8, 8), torch.zeros(4, dtype=torch.long))
        with meter.measure("forward"), torch.no_grad():
            model(torch.zeros(1, 3, 8, 8))
    assert {name: (cost.n_forward, cost.n_backward) for name, cost in meter.costs.items()} == {
        "forward": (6, 0),
        "both": (4, 4),
    }
    assert all(cost.seconds > 0 for cost in meter.costs.values())


def test_time_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 3.0, 10.0, 10.5])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    meter = CostMeter()
    for _ in range(2):
        with meter.measure("a"):
            pass
    assert meter.costs["a"].seconds == 2.5


def test_a_backward_pass_is_charged_to_what_asks_for_it() -> None:
    model, meter = Linear(), CostMeter()
    x = torch.zeros(2, 3, 8, 8, requires_grad=True)
    with meter.watch(model):
        with meter.measure("one"):
            logits = model(x)
        with meter.measure("other"):
            torch.autograd.grad(logits.sum(), x)
    assert meter.costs["one"].n_backward == 0
    assert meter.costs["other"].n_backward == 2


def test_nothing_stays_on_the_model() -> None:
    model, meter = Linear(), CostMeter()
    with meter.watch(model), meter.measure("a"):
        model(torch.zeros(1, 3, 8, 8))
    model(torch.zeros(1, 3, 8, 8))
    assert meter.costs["a"].n_forward == 1
    assert not model._forward_hooks


def test_a_failure_is_charged_too_and_unhooks() -> None:
    model, meter = Linear(), CostMeter()
    try:
        with meter.watch(model), meter.measure("a"):
            model(torch.zeros(1, 3, 8, 8))
            raise KeyError
    except KeyError:
        pass
    assert meter.costs["a"].n_forward == 1
    assert meter.costs["a"].seconds > 0
    assert not model._forward_hooks


class Tuple(nn.Module):
    """Returns what is no tensor."""

    def forward(self, x: Tensor) -> tuple[Tensor]:
        """Pixels to a tuple."""
        return (x,)


def test_other_outputs_are_not_counted() -> None:
    model, meter = Tuple(), CostMeter()
    with meter.watch(model), meter.measure("a"):
        model(torch.zeros(1, 3, 8, 8))
    assert meter.costs["a"].n_forward == 0


def test_costs_add_up() -> None:
    cost = Cost(1, 2, 0.5)
    cost.add(Cost(10, 20, 0.25))
    assert cost == Cost(11, 22, 0.75)
