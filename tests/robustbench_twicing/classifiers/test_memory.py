"""The peak of memory, on tensors whose sizes are known."""

import torch
from torch import nn

from robustbench_twicing.classifiers.efficiency import peak_mib, weights_mib

CPU = torch.device("cpu")


def mib(count: int) -> torch.Tensor:
    return torch.empty(count, 2**18)


def test_the_peak_is_what_is_alive_at_once() -> None:
    before = mib(3)

    def way() -> None:
        first = mib(2)
        second = mib(4)
        del first
        third = mib(1)
        del second, third

    assert peak_mib(way, CPU) == 6
    assert len(before) == 3


def test_no_tensor_takes_nothing() -> None:
    assert peak_mib(lambda: None, CPU) == 0


def test_weights_are_parameters_and_buffers_in_their_own_format() -> None:
    network = nn.Linear(2**9, 2**9, bias=False)
    network.register_buffer("table", torch.zeros(2**17, dtype=torch.float64))
    assert weights_mib(network) == 2
    assert weights_mib(network.half()) == 0.75
