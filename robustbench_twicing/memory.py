"""How much memory tensors take."""

import os
from collections.abc import Callable

import torch
from torch import nn

MIB = 2**20


def peak_mib(way: Callable[[], object], device: torch.device) -> float:
    """Largest sum of tensors alive at once that a call allocates, in MiB.

    What was there before the call is not counted. On CUDA it is what torch's allocator hands out,
    on the CPU what torch's profiler sees; workspaces that libraries allocate past torch are in
    neither.

    Args:
        way: called once.
        device: where it computes.
    """
    if device.type == "cuda":
        return _peak_on_cuda(way, device)
    from torch.profiler import ProfilerActivity, profile

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else it reports each start on stderr
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        way()
    alive = largest = 0
    for event in found.profiler.kineto_results.events():
        if event.name() == "[memory]":
            alive += event.nbytes()
            largest = max(largest, alive)
    return largest / MIB


def weights_mib(network: nn.Module) -> float:
    """Parameters and buffers in MiB."""
    tensors = [*network.parameters(), *network.buffers()]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors) / MIB


def _peak_on_cuda(way: Callable[[], object], device: torch.device) -> float:
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    way()
    torch.cuda.synchronize(device)
    return (torch.cuda.max_memory_allocated(device) - before) / MIB
