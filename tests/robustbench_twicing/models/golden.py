"""Reading the golden fixtures of ../shared: reference inputs and outputs of each network."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy


@dataclass(frozen=True)
class Golden:
    """Arrays of one fixture: x (2, 3, H, W), y, logits, grad_x, their float64 versions, out.*."""

    arrays: dict[str, Tensor]
    weights: dict[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        return self.arrays[name]


@dataclass(frozen=True)
class Answer:
    """Logits, the input gradient of the mean cross-entropy, and the outputs of named modules."""

    logits: Tensor
    grad: Tensor
    outputs: dict[str, Tensor]


def read(shared: Path, name: str, weights: str | None = None) -> Golden:
    folder = shared / "golden" / "models"
    with np.load(folder / f"{name}.io.npz") as file:
        arrays = {key: torch.from_numpy(file[key]) for key in file.files}
    return Golden(arrays, load_file(folder / f"{weights or name}.weights.safetensors"))


def answer(network: nn.Module, golden: Golden, dtype: torch.dtype) -> Answer:
    """Load the weights strictly, run x, and note what every module of an ``out.*`` array gave."""
    network.load_state_dict(golden.weights)
    network.to(dtype)
    outputs: dict[str, Tensor] = {}

    def note(name: str) -> None:
        def hook(_module: nn.Module, _args: object, out: Tensor | tuple[Tensor, ...]) -> None:
            outputs[name] = (out[0] if isinstance(out, tuple) else out).detach()

        network.get_submodule(name).register_forward_hook(hook)

    for key in golden.arrays:
        if key.startswith("out."):
            note(key.removeprefix("out."))
    x = golden["x"].to(dtype).requires_grad_()
    logits = network(x)
    (grad,) = torch.autograd.grad(cross_entropy(logits, golden["y"]), x)
    return Answer(logits.detach(), grad, outputs)


def close(actual: Tensor, expected: Tensor, atol: float) -> None:
    torch.testing.assert_close(actual, expected, atol=atol, rtol=0)
