"""Names, networks and data that `evaluate` refuses, in the words of a script."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset

from attacks import fgsm, pgd
from robustbench_twicing import evaluate
from robustbench_twicing.cli.api_messages import in_python
from robustbench_twicing.errors import UserError
from tests.tiny import Linear

IMAGES = torch.randint(
    256, (4, 3, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8
)
DATA = IMAGES, torch.tensor([0, 1, 0, 1])


def plain(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return x


@pytest.mark.parametrize("name", ["pgd@4/255", "PGD@4/255", "fgsm@4/255"])
def test_a_function_does_not_take_the_name_of_another_attack(name: str) -> None:
    with pytest.raises(UserError, match=f"another function than .*, like my-{name}"):
        evaluate(Linear(), DATA, {name: plain})
    other = pgd if name.startswith("fgsm") else fgsm
    with pytest.raises(UserError, match="another function than"):
        evaluate(Linear(), DATA, {name: partial(other, eps=4 / 255)})


def test_a_condition_has_a_name_of_one_line() -> None:
    with pytest.raises(UserError, match=r"'mine\\nown@4/255' has a line break"):
        evaluate(Linear(), DATA, {"mine\nown@4/255": plain})


class Typed(Linear):
    """A network whose logits are of another type."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).to(self.dtype)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.int64])
def test_logits_are_real_numbers_with_a_fraction(dtype: torch.dtype) -> None:
    words = f"logits of {str(dtype).removeprefix('torch.')}; they must be real numbers"
    with pytest.raises(UserError, match=words):
        evaluate(Typed(dtype), DATA, ["clean", "fgsm@1/255"])


class Drawing(Dataset[Any]):
    """Images that are brightened at random whenever they are read."""

    def __len__(self) -> int:
        return len(IMAGES)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return IMAGES[index] // 2 + torch.randint(100, (), dtype=torch.uint8), 0


@pytest.mark.parametrize("data", [Drawing(), DataLoader(Drawing(), batch_size=2)])
def test_images_that_change_between_passes_are_refused(data: Any) -> None:
    with pytest.raises(UserError, match="other images or labels when they are read again"):
        evaluate(Linear(), data)


def test_a_stream_that_is_read_once_is_taken() -> None:
    class Stream(IterableDataset[Any]):
        items = iter(list(zip(*DATA, strict=True)))

        def __iter__(self) -> Any:
            return self.items

    assert evaluate(Linear(), DataLoader(Stream(), batch_size=2)).complete


def test_messages_name_arguments_of_python(tmp_path: Path) -> None:
    evaluate(Linear(), DATA, out=tmp_path / "run", limit=2)
    attempts: list[tuple[dict[str, Any], str]] = [
        ({"limit": 3}, "give the same data= and limit=, or use another out="),
        ({"limit": 2, "seed": 1}, "give the same seed=, or use another out="),
        ({"limit": 2, "conditions": "fgsm@1/255"}, "give the same conditions=, or"),
    ]
    for arguments, words in attempts:
        with pytest.raises(UserError, match=words):
            evaluate(Linear(), DATA, out=tmp_path / "run", **arguments)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("--limit 0 is none", "limit=0 is none"),
        ("with --on-bad-image skip", "with on_bad_image=skip"),
        ("see --limit and --limit-seed", "see limit= and limit_seed="),
        ("run--out/--out-of: --attack-precision or --eps", "run--out/--out-of: --attack-precision"),
    ],
)
def test_options_become_arguments(message: str, expected: str) -> None:
    assert in_python(message).startswith(expected)
