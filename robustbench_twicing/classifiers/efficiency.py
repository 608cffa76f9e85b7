"""What a forward pass costs: time, multiply-adds, parameters, memory."""

import os
import statistics
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import BrokenAttackError, UserError
from ..models.facts import count_gmacs
from .classifier import Classifier
from .device import device_name, is_out_of_memory
from .gradient import input_gradient
from .timing import alternate, median_ratio

MIB = 2**20
CGROUP = Path("/sys/fs/cgroup")
"""Where Linux says what a container may use."""
SMALLEST_BATCH = 32
"""Attacks of other libraries are given as many images at a time, so that no size changes them."""
LEAST_GAIN = 1.05
"""By which twice as many images a batch must be faster, image by image."""
SHARE_OF_MEMORY = 0.5
"""For one gradient; the rest is for what attacks keep beside it."""


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
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        way()
    alive = largest = 0
    for event in profiled.profiler.kineto_results.events():
        if event.name() == "[memory]":
            alive += event.nbytes()
            largest = max(largest, alive)
    return largest / MIB


def fitting_batch(model: Classifier, most: int) -> int:
    """Images of a batch: doubled while memory suffices and a gradient of each becomes faster.

    Args:
        model: on its device; it is shown grey images.
        most: images.
    """
    size = min(SMALLEST_BATCH, most)
    seconds, needed = _gradient_costs(model, size)
    while 2 * size <= most and 2 * needed < SHARE_OF_MEMORY * free_mib(model.device):
        try:
            of_double, needed = _gradient_costs(model, 2 * size)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            break
        if seconds < LEAST_GAIN * of_double:
            break
        size, seconds = 2 * size, of_double
    return size


def _gradient_costs(model: Classifier, size: int) -> tuple[float, float]:
    """Seconds an image of the faster of two gradients, and the MiB that a batch of them takes."""
    side, device = model.preprocessing.crop, model.device
    x = torch.full((size, 3, side, side), 0.5, device=device)
    y = torch.zeros(size, dtype=torch.long, device=device)

    def gradient() -> None:
        with suppress(BrokenAttackError):  # a gradient that is no number took as long
            input_gradient(model, x, y)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    needed = peak_mib(gradient, device)
    return min(alternate({"gradient": gradient}, 2)["gradient"]) / size, needed


def free_mib(device: torch.device) -> float:
    """Memory that nobody uses: of a GPU, or of this machine as far as the process may have it."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(device)[0] / MIB
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit, used = (CGROUP / name for name in ("memory.max", "memory.current"))
    if limit.is_file() and used.is_file() and limit.read_text().strip() != "max":
        free = min(free, int(limit.read_text()) - int(used.read_text()))
    return free / MIB


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


WARM_UP = 3
"""Rounds that do not count: caches fill, a GPU chooses kernels and raises its clock."""


@dataclass(frozen=True)
class Efficiency:
    """The cost of one model's forward pass.

    Attributes:
        label: name in tables.
        ms_per_image_median: milliseconds per image of a forward pass, median over rounds.
        ms_p25: lower quartile over rounds.
        ms_p75: upper quartile over rounds.
        gmacs: 10^9 multiply-adds for one image of native size, attention explicit; counted.
        params_million: 10^6 parameters.
        peak_mib: weights, input and the most that a forward pass of a batch allocates, MiB.
        batch_size: images a forward pass.
        threads: CPU threads.
        device: kind and name.
        ratio: median over rounds of this model's time / the first model's in the same round.
    """

    label: str
    ms_per_image_median: float
    ms_p25: float
    ms_p75: float
    gmacs: float
    params_million: float
    peak_mib: float
    batch_size: int
    threads: int
    device: str
    ratio: float

    def row(self) -> dict[str, Any]:
        """The columns of the CSV file: all but the ratio, which is one to another model."""
        values = asdict(self)
        del values["ratio"]
        return values


def measure_efficiency(
    models: Mapping[str, Classifier], *, batch_size: int = 1, rounds: int = 30, device: torch.device
) -> list[Efficiency]:
    """Time the forward passes of all models in alternation, on noise of each one's native size.

    Args:
        models: label to classifier with plain kernels; they are moved to the device and stay there.
        batch_size: images a forward pass.
        rounds: measurements of each model, after `WARM_UP` rounds that do not count.
        device: where to compute.

    Raises:
        UserError: memory does not hold the models and a batch.
        ValueError: a model with other kernels, which leave multiply-adds out and hide others.
    """
    if any(model.record.details.get("kernels", "plain") != "plain" for model in models.values()):
        raise ValueError("efficiency is measured with kernels='plain'")
    inputs = {label: _noise(model, batch_size) for label, model in models.items()}
    try:
        passes = {
            label: _forward(model.to(device), inputs[label].to(device), device)
            for label, model in models.items()
        }
        seconds = alternate(passes, rounds, warm_up=WARM_UP)
        peaks = {label: peak_mib(way, device) for label, way in passes.items()}
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(
            f"memory of {device} does not hold {len(models)} models and {batch_size} images; "
            "take a smaller --batch-size or fewer models at once"
        ) from error
    first = next(iter(seconds.values()), [])
    return [
        _efficiency(label, model, seconds[label], first, inputs[label], peaks[label])
        for label, model in models.items()
    ]


def _efficiency(
    label: str,
    model: Classifier,
    seconds: list[float],
    first: list[float],
    x: Tensor,
    peak: float,
) -> Efficiency:
    milliseconds = [1000 * second / len(x) for second in seconds]
    low, high = np.percentile(milliseconds, [25, 75])
    return Efficiency(
        label,
        ms_per_image_median=statistics.median(milliseconds),
        ms_p25=float(low),
        ms_p75=float(high),
        gmacs=count_gmacs(model.network, x[:1].to(model.device)),
        params_million=sum(parameter.numel() for parameter in model.network.parameters()) / 1e6,
        peak_mib=weights_mib(model) + x.numel() * x.element_size() / MIB + peak,
        batch_size=len(x),
        threads=torch.get_num_threads(),
        device=device_name(model.device),
        ratio=median_ratio(seconds, first),
    )


def _noise(model: Classifier, batch_size: int) -> Tensor:
    crop = model.preprocessing.crop
    return torch.rand(batch_size, 3, crop, crop, generator=torch.Generator().manual_seed(0))


def _forward(model: Classifier, x: Tensor, device: torch.device) -> Callable[[], object]:
    def forward() -> None:
        with torch.no_grad():
            model(x)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return forward
