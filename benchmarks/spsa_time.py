"""One step of SPSA per image, against torchattacks and cleverhans at equal samples.

    python benchmarks/spsa_time.py [--batch 1] [--rounds 3] [--threads N]

DeiT-tiny at 224 px with random weights, 128 pairs of probes. Also prints the largest memory that
the own SPSA's tensors took, beyond the model's, as torch's profiler counts it.
"""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import spsa
from benchmarks.timing import arguments, ratio_table
from robustbench_twicing import load_model
from robustbench_twicing.memory import peak_mib
from robustbench_twicing.timing import alternate

EPS, SAMPLES = 1 / 255, 128
CPU = torch.device("cpu")


def ways(batch: int) -> dict[str, Callable[[], object]]:
    """One Adam step with 128 pairs of probes, each."""
    import torchattacks

    model = load_model("deit_tiny_patch16_224", "random:0")
    x, y = torch.rand(batch, 3, 224, 224), torch.arange(batch)

    fast = load_model("deit_tiny_patch16_224", "random:0", kernels="auto")

    def own(chosen: nn.Module = model) -> object:
        generator = torch.Generator().manual_seed(0)
        return spsa(chosen, x, y, eps=EPS, steps=1, samples=SAMPLES, generator=generator)

    def with_torchattacks() -> object:
        attack = torchattacks.SPSA(model, eps=EPS, nb_iter=1, nb_sample=SAMPLES, max_batch_size=64)
        return attack(x, y)

    found: dict[str, Callable[[], object]] = {
        "torchattacks.SPSA": with_torchattacks,
        "attacks.spsa": own,
        f"attacks.spsa, --kernels auto ({fast.record.details['kernels']})": lambda: own(fast),
    }
    if find_spec("cleverhans"):
        from cleverhans.torch.attacks.spsa import spsa as cleverhans_spsa

        found["cleverhans.spsa"] = lambda: cleverhans_spsa(
            model, x, EPS, 1, clip_min=0, clip_max=1, y=y, spsa_samples=SAMPLES
        )
    return found


def main() -> None:
    """Measure and print the tables."""
    asked = arguments(__doc__, batch=1, rounds=3)
    print(f"DeiT-tiny, SPSA, 1 step of {SAMPLES} pairs, {torch.get_num_threads()} threads")
    all_ways = ways(asked.batch)
    seconds = alternate(all_ways, asked.rounds)
    print(ratio_table(seconds, "torchattacks.SPSA", images=asked.batch))
    if "cleverhans.spsa" in seconds:
        print(ratio_table(seconds, "cleverhans.spsa", images=asked.batch))
    for name, way in all_ways.items():
        print(f"{name:44} {peak_mib(way, CPU):9.1f} MiB of tensors at the peak")


if __name__ == "__main__":
    main()
