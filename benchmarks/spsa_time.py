"""One step of SPSA per image, against torchattacks and cleverhans at equal samples.

    python benchmarks/spsa_time.py [--batch 1] [--rounds 3] [--threads N]

DeiT-tiny at 224 px with random weights, 128 pairs of probes. Also the largest memory that the
tensors of each took, beyond the model's, as torch's profiler counts it.
"""

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import spsa
from benchmarks.table import Table, show
from benchmarks.timing import arguments, measured, ratio_table, threads
from robustbench_twicing import load_model
from robustbench_twicing.classifiers.efficiency import peak_mib
from robustbench_twicing.seeds import image_keys, random_signs

EPS, SAMPLES = 1 / 255, 128
PROBES = 8
CPU = torch.device("cpu")
TORCHATTACKS, CLEVERHANS = "torchattacks.SPSA", "cleverhans.spsa"
MISSING = (
    "cleverhans is not installed: `pip install --no-deps cleverhans==4.0.0` and "
    "`pip install easydict absl-py`."
)


def ways(batch: int) -> dict[str, Callable[[], object]]:
    """One Adam step with 128 pairs of probes, each."""
    import torchattacks

    model = load_model("deit_tiny_patch16_224", "random:0")
    fast = load_model("deit_tiny_patch16_224", "random:0", kernels="onednn")
    x, y = torch.rand(batch, 3, 224, 224), torch.arange(batch)

    def own(chosen: nn.Module) -> object:
        generator = torch.Generator().manual_seed(0)
        return spsa(chosen, x, y, eps=EPS, steps=1, samples=SAMPLES, generator=generator)

    def with_torchattacks() -> object:
        attack = torchattacks.SPSA(model, eps=EPS, nb_iter=1, nb_sample=SAMPLES, max_batch_size=64)
        return attack(x, y)

    found: dict[str, Callable[[], object]] = {
        "attacks.spsa": lambda: own(model),
        "attacks.spsa, --kernels onednn": lambda: own(fast),
        TORCHATTACKS: with_torchattacks,
    }
    if find_spec("cleverhans"):
        from cleverhans.torch.attacks.spsa import spsa as cleverhans_spsa

        found[CLEVERHANS] = lambda: cleverhans_spsa(
            model, x, EPS, 1, clip_min=0, clip_max=1, y=y, spsa_samples=SAMPLES
        )
    return found


def measure(*, batch: int = 1, rounds: int = 3) -> Iterator[Table]:
    """One table of times, one of memory."""
    all_ways = ways(batch)
    # A measurement takes seconds: what is set up in the first does not show.
    seconds = measured(all_ways, rounds, warm_up=0)
    floors = [name for name in (TORCHATTACKS, CLEVERHANS) if name in seconds]
    about = (
        f"DeiT-tiny, one step of {SAMPLES} pairs of probes, batch {batch}, {threads()}, "
        f"median of {rounds}."
    )
    if CLEVERHANS not in seconds:
        about += f" {MISSING}"
    yield ratio_table("SPSA", seconds, floors, images=batch, about=about)
    rows = [[name, f"{peak_mib(way, CPU):.0f}"] for name, way in all_ways.items()]
    about = "Tensors alive at once beyond model and images, at the most, of the same."
    yield Table("Memory of SPSA", ["way", "MiB"], rows, about)
    yield _signs(rounds)


def _signs(rounds: int) -> Table:
    """What random signs cost, beside as many draws of torch's generator."""
    like, generator = torch.empty(PROBES, 3, 224, 224), torch.Generator().manual_seed(0)
    keys, numbers = image_keys(1, generator).expand(PROBES), torch.arange(PROBES)

    def by_torch() -> object:
        return torch.randint(2, like.shape, generator=generator, dtype=torch.int8).to(like) * 2 - 1

    ways = {"torch.randint": by_torch, "random_signs": lambda: random_signs(keys, numbers, like)}
    about = f"{PROBES} probes of 3 x 224 x 224 pixels at a time, {threads()}."
    return ratio_table(
        "Signs of SPSA's probes", measured(ways, rounds), list(ways)[:1], images=PROBES, about=about
    )


if __name__ == "__main__":
    show(measure(**arguments(__doc__, measure.__kwdefaults__)))
