"""What a script may get wrong with `evaluate`, and what would be a wrong number without a word."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)

from robustbench_twicing import evaluate
from robustbench_twicing.conditions.condition import CLASS_SUBSET
from robustbench_twicing.errors import UserError
from tests.tiny import Linear

IMAGES = torch.randint(
    256, (4, 3, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8
)
DATA = IMAGES, torch.tensor([0, 1, 0, 1])


class Scaled(Linear):
    """A network whose answer depends on a number that is no weight."""

    def __init__(self, scale: float = 1) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * super().forward(x)


class Same(nn.Module):
    """The logits as they are."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Negated(nn.Module):
    """Their opposite, under the other's description."""

    def forward(self, x: Tensor) -> Tensor:
        return -x

    def __repr__(self) -> str:
        return "Same()"


class Step:
    """An attack as a method of an object, which does not describe itself."""

    def __init__(self, sign: int) -> None:
        self.sign = sign

    def attack(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return (x + self.sign * 4 / 255).clamp(0, 1)


def plain(model: nn.Module, x: Tensor, y: Tensor, hint: object = None) -> Tensor:
    return x


def keywords(*, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return x


def more(model: nn.Module, x: Tensor, y: Tensor, *, threat: object) -> Tensor:
    return x


def careless(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    torch.set_grad_enabled(False)
    torch.set_default_dtype(torch.float64)
    return x


def negated(module: nn.Module, inputs: Any, logits: Tensor) -> Tensor:
    return -logits


def hooked() -> nn.Module:
    network = Linear()
    network.register_forward_hook(negated)
    return network


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Scaled(1), Scaled(-1)),
        (nn.Sequential(Linear(), Same()), nn.Sequential(Linear(), Negated())),
        (Linear(), hooked()),
    ],
    ids=["attribute", "inner code", "hook"],
)
def test_a_module_that_answers_otherwise_is_another_model(
    first: nn.Module, second: nn.Module, tmp_path: Path
) -> None:
    evaluate(first, DATA, out=tmp_path / "run")
    evaluate(first.train(), DATA, out=tmp_path / "run")
    with pytest.raises(UserError, match=r"the code of model .* has changed"):
        evaluate(second, DATA, out=tmp_path / "run")


def long(place: int) -> np.ndarray[Any, Any]:
    """An array whose representation leaves the middle out."""
    values = np.zeros(5000)
    values[place] = 1
    return values


def linear(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (partial(plain, hint=long(2000)), partial(plain, hint=long(3000)), "settings.hint"),
        (partial(plain, hint=linear(0)), partial(plain, hint=linear(1)), "settings.hint"),
        (Step(1).attack, Step(-1).attack, "has no name"),
        (partial(plain, hint=Step(1)), partial(plain, hint=Step(1)), "has no name"),
    ],
    ids=["array", "module", "method", "bound object"],
)
def test_what_a_function_is_bound_to_tells_it_apart(
    first: Callable[..., Tensor], second: Callable[..., Tensor], words: str, tmp_path: Path
) -> None:
    evaluate(Linear(), DATA, {"mine@4/255": first}, out=tmp_path / "run")
    with pytest.raises(UserError, match=words):
        evaluate(Linear(), DATA, {"mine@4/255": second}, out=tmp_path / "run")


def test_what_an_attack_sets_in_torch_does_not_outlast_the_run() -> None:
    evaluate(Linear(), DATA, {"mine@4/255": careless})
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(
    "around",
    [torch.no_grad, torch.inference_mode, partial(torch.autocast, "cpu", torch.bfloat16)],
    ids=["no_grad", "inference_mode", "autocast"],
)
def test_numbers_do_not_depend_on_the_state_of_torch(around: Callable[[], Any]) -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
    expected = evaluate(network, DATA, ["clean", "fgsm@4/255"]).images()["loss"].tolist()
    with around():
        run = evaluate(network, DATA, ["clean", "fgsm@4/255"])
    assert run.images()["loss"].tolist() == expected


ANY: Any = plain


@pytest.mark.parametrize(
    "function",
    [keywords, more, Step, partial(ANY, size=3)],
    ids=["keywords", "more", "class", "wrong"],
)
def test_a_function_that_cannot_be_called_is_refused_before_the_run(
    function: Callable[..., Tensor],
) -> None:
    with pytest.raises(UserError, match=r"'mine@4/255' is given .* called as \(model, x, y\)"):
        evaluate(Linear(), DATA, {"mine@4/255": function})


@pytest.mark.parametrize("name", ["clean", CLASS_SUBSET, "imagenet-c/fog/3"])
def test_a_function_does_not_take_the_name_of_what_is_no_attack(name: str) -> None:
    with pytest.raises(UserError, match=r"given a function|is a corruption"):
        evaluate(Linear(), DATA, {f"{name}@4/255": plain})


@pytest.mark.parametrize(
    "sampler",
    [
        BatchSampler(RandomSampler(IMAGES), 2, False),
        BatchSampler(SequentialSampler(IMAGES), 3, True),
    ],
    ids=["shuffles", "leaves out"],
)
def test_batch_samplers_are_looked_into(sampler: BatchSampler) -> None:
    with pytest.raises(UserError, match="the DataLoader"):
        evaluate(Linear(), DataLoader(TensorDataset(*DATA), batch_sampler=sampler))


@pytest.mark.parametrize(
    "options",
    [
        {"seed": "1"},
        {"seed": None},
        {"seed": 1.5},
        {"limit": True},
        {"limit": 2.5},
        {"num_classes": 2.0},
        {"batch_size": 2.5},
        {"workers": True},
    ],
    ids=str,
)
def test_what_is_no_whole_number_is_named(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(options))}=.* is not a whole number"):
        evaluate(Linear(), DATA, **options)


def test_mean_and_std_may_be_arrays_or_tensors() -> None:
    kinds: list[Any] = [tuple, np.array, torch.tensor]
    first, *others = (kind([0.5, 0.5, 0.5]) for kind in kinds)
    expected = evaluate(Linear(), DATA, mean=first, std=first).images()["loss"].tolist()
    for values in others:
        run = evaluate(Linear(), DATA, mean=values, std=values)
        assert run.images()["loss"].tolist() == expected


@pytest.mark.parametrize(
    ("mean", "words"),
    [(0.5, "not three numbers"), ("abc", "not three"), ((123, 116, 103), "by 255")],
)
def test_mean_that_is_not_of_pixels_is_refused(mean: Any, words: str) -> None:
    with pytest.raises(UserError, match=words):
        evaluate(Linear(), DATA, mean=mean, std=(0.2, 0.2, 0.2))


@pytest.mark.parametrize(
    "layer", [nn.LazyLinear(2), nn.Linear(192, 2, device="meta")], ids=["lazy", "meta"]
)
def test_a_module_without_values_is_refused(layer: nn.Module) -> None:
    with pytest.raises(UserError, match="tensors without values"):
        evaluate(nn.Sequential(nn.Flatten(), layer), DATA)


def test_a_module_made_in_inference_mode_is_refused() -> None:
    with torch.inference_mode():
        network = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
    with pytest.raises(UserError, match=r"made in torch\.inference_mode"):
        evaluate(network, DATA)


def test_a_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert evaluate(Linear(), DATA, out="~/run").folder.path == tmp_path / "run"
