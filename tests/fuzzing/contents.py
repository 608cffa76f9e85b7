"""Sound checkpoint files with strange contents."""

import io
from argparse import Namespace
from collections import OrderedDict
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from robustbench_twicing.models.build import build_model

from .textwise import VALUES

SIZES: dict[str, Any] = {
    **{"img_size": 32, "patch_size": 16, "embed_dim": 12, "depth": 2, "num_heads": 3},
    "num_classes": 5,
}
KEYS = (
    "",
    "a\nb",
    "\x1b[31m",
    "\ud800",
    "head.weight",
    "module.head.bias",
    "x" * 3000,
    "\0",
    "[b]",
)


@cache
def weights() -> dict[str, Tensor]:
    """The state dict of a small DeiT."""
    return dict(build_model("deit", **SIZES).state_dict())


def _tensors() -> tuple[Callable[[], Any], ...]:
    """Tensors that no network has."""
    return (
        lambda: torch.zeros(()),
        lambda: torch.zeros(0),
        lambda: torch.zeros(1).expand(10, 10),
        lambda: torch.full((5, 12), float("nan")),
        lambda: torch.zeros(5, 12, dtype=torch.complex64),
        lambda: torch.zeros(5, 12, dtype=torch.int8),
        lambda: torch.zeros(5, 12).to(torch.float8_e4m3fn),
        lambda: torch.zeros(5, 12).to_sparse(),
        lambda: torch.zeros(5, 12, device="meta"),
        lambda: torch.zeros([1] * 60),
        lambda: torch.zeros(5, 12).bool(),
        lambda: torch.zeros(12, 5).T,
        lambda: torch.zeros(5, 12, requires_grad=True),
        lambda: torch.full((5, 12), 1e308, dtype=torch.float64),
    )


def strange_content(random: Random) -> dict[Any, Any]:
    """A state dict in wrappers, with something in it that does not belong there."""
    content: dict[Any, Any] = dict(weights())
    for _ in range(random.choice((1, 2, 3))):
        key = random.choice((*content, *KEYS))
        change = random.choice(("tensor", "tensor", "value", "drop", "name", "key"))
        if change == "tensor":
            content[key] = random.choice(_tensors())()
        elif change == "value":
            content[key] = random.choice(VALUES)
        elif change == "drop":
            content.pop(key, None)
        elif change == "name":
            content[random.choice(KEYS)] = content.pop(key, torch.zeros(2))
        else:
            content[random.choice((3, None, (1, 2), 1.5, True))] = torch.zeros(2)
    if random.random() < 0.3:
        content = _shadowed(content)
    for _ in range(random.choice((0, 1, 2))):
        wrapper = random.choice(
            ("model", "state_dict", "state_dict_ema", "checkpoint", "args", "x")
        )
        content = {wrapper: content, random.choice(("args", "arch", "epoch")): _said(random)}
    return content


def _shadowed(content: dict[Any, Any]) -> dict[Any, Any]:
    """Attributes that stand before the methods of a dict."""
    made = OrderedDict(content)
    for name in ("keys", "get", "values", "copy", "_metadata"):
        setattr(made, name, 3)
    return made


def _said(random: Random) -> Any:
    value = random.choice(VALUES)
    return random.choice(
        (
            value,
            Namespace(model=value, arch=value),
            {"model": value, "arch": "deit_tiny_patch16_224[99]"},
            OrderedDict(model="hf-hub:a/b"),
            {str(number): number for number in range(2000)},
        )
    )


def strange_file(random: Random, content: bytes) -> bytes:
    """A file that torch.save or safetensors wrote, with something strange in it."""
    made = strange_content(random)
    if random.random() < 0.2:
        plain = {
            str(key).encode("utf-8", "replace").decode(): value.contiguous()
            for key, value in made.items()
            if type(value) is Tensor
            and value.layout == torch.strided
            and value.device.type == "cpu"
        }
        plain = {key: value for key, value in plain.items() if not value.is_quantized}
        said = {"arch": "deit_tiny", "recipe": random.choice(("\x1b[31m", "x" * 9999, "<b>"))}
        return save({key: value.clone() for key, value in plain.items()}, said)
    file = io.BytesIO()
    torch.save(made, file, _use_new_zipfile_serialization=random.random() < 0.6)
    return file.getvalue()
