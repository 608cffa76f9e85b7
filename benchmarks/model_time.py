"""Forward and forward+backward of FAN-tiny, FAN-tiny with twicing and DeiT-tiny, side by side.

    python benchmarks/model_time.py [--batch 8] [--rounds 9] [--threads N] [--attention auto]
                                    [--device cpu] [--model NAME ...]

Backward is the gradient with respect to the input on frozen parameters, as attacks take it. Random
weights: the time does not depend on them. Ratios are to the first model.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.timing import ratio_table
from robustbench_twicing.models import build_model, model_facts, resolve_model
from robustbench_twicing.timing import alternate

NAMES = ("deit_tiny_patch16_224", "fan_tiny_12_p16_224", "fan_tiny_12_p16_224_twicing")


def ways(
    name: str, batch: int, attention: str, device: torch.device
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Forward alone, and forward with the gradient of the input."""
    spec = resolve_model(name)
    network = build_model(spec.family, **{**spec.sizes, "attention": attention})
    network.requires_grad_(False).to(device)
    x = torch.rand(batch, 3, spec.preprocessing.crop, spec.preprocessing.crop, device=device)

    def finish() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize()

    def forward() -> None:
        with torch.no_grad():
            network(x)
        finish()

    def gradient() -> None:
        leaf = x.clone().requires_grad_()
        torch.autograd.grad(network(leaf).sum(), leaf)
        finish()

    return forward, gradient


def main() -> None:
    """Print multiply-adds, then one table for forward and one for forward+backward."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--attention", default="auto", choices=["auto", "explicit", "fused"])
    parser.add_argument("--device", default="cpu", type=torch.device)
    parser.add_argument("--model", action="append", metavar="NAME", help="repeat; the first is 1")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    names = options.model or list(NAMES)
    built = {name: ways(name, options.batch, options.attention, options.device) for name in names}
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {options.device}, "
        f"batch {options.batch}, attention {options.attention}\n"
    )
    for name in names:
        print(f"{name:44} {model_facts(name).gmacs:9.4f} GMACs")
    for title, index in (("forward", 0), ("forward + backward to the input", 1)):
        seconds = alternate({name: both[index] for name, both in built.items()}, options.rounds)
        print(f"\n{title}\n{ratio_table(seconds, names[0], images=options.batch)}")


if __name__ == "__main__":
    main()
