"""The state of a training that a file holds is compared with our own before it is taken over."""

from collections import OrderedDict
from typing import Any

import pytest
import torch
from torch import nn

from robustbench_twicing.training.form import (
    find_misfit,
    find_moment_misfit,
    find_progress_misfit,
    plain,
)

OWN: dict[str, Any] = {"a": torch.zeros(2), "b": [{"lr": 1.0, "betas": (0.9, 0.99)}], "c": None}
DAMAGED: dict[str, Any] = {
    ".a": OWN | {"a": torch.zeros(3)},
    ".b": OWN | {"b": []},
    ".b[0]": OWN | {"b": [{"lr": 1.0}]},
    ".b[0].lr": OWN | {"b": [{"lr": float("nan"), "betas": (0.9, 0.99)}]},
    ".b[0].betas[1]": OWN | {"b": [{"lr": 1, "betas": [0.9, "x"]}]},
    ".c": OWN | {"c": 1},
}


def test_the_same_form_is_no_misfit() -> None:
    assert find_misfit({**OWN, "a": torch.ones(2)}, OWN) == ""
    assert find_misfit({}, OWN, "state") == "state"
    assert find_misfit(OWN | {"b": [{"lr": 3, "betas": [1, 1]}]}, OWN) == ""


@pytest.mark.parametrize("place", DAMAGED)
def test_the_place_of_a_misfit_is_named(place: str) -> None:
    assert find_misfit(DAMAGED[place], OWN) == place


def test_attributes_do_not_stand_before_methods() -> None:
    shadowed: Any = OrderedDict(a=[OrderedDict(b=1)])
    shadowed.keys = shadowed.items = shadowed.get = 3
    assert plain(shadowed) == {"a": [{"b": 1}]}
    assert type(plain(shadowed)) is dict
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        plain(endless)


def test_moments_fit_their_parameters() -> None:
    parameter = nn.Parameter(torch.zeros(2, 2))
    adam = {"step": torch.tensor(3.0), "exp_avg": torch.zeros(2, 2)}
    adam["exp_avg_sq"] = torch.zeros(2, 2)
    muon = {"use_muon": True, "momentum_buffer": torch.zeros(2, 2)}
    for moments in (adam, muon, {**adam, "use_muon": False}):
        assert find_moment_misfit({0: moments}, [parameter]) == ""
    wrong: list[Any] = [
        {**adam, "use_muon": True},
        {"step": 1, "exp_avg": torch.zeros(2, 2)},
        {**adam, "exp_avg": torch.zeros(2)},
        {**adam, "step": torch.zeros(2)},
        None,
    ]
    for each in wrong:
        assert find_moment_misfit({0: each}, [parameter]) == "optimizer.state.0"
    assert find_moment_misfit({1: adam}, [parameter]) == "optimizer.state.1"
    assert find_moment_misfit([], [parameter]) == "optimizer.state"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("taken", -1), ("taken", 11), ("taken", 1.5), ("taken", True), ("taken", None)),
        *(("lines", {}), ("lines", [1]), ("lines", [{"loss": "x"}])),
        *(("losses", []), ("losses", torch.zeros(2, 2)), ("losses", torch.zeros(2).to(torch.int8))),
        *(("right", "x"), ("right", 1.0), ("seconds", None), ("seconds", float("inf"))),
    ],
)
def test_progress_is_numbers(name: str, value: object) -> None:
    good: dict[str, Any] = {"taken": 10, "lines": [{"loss": 0.5}], "losses": torch.zeros(2)}
    good |= {"right": None, "seconds": 1.5}
    assert find_progress_misfit(good, 10) == ""
    assert find_progress_misfit(good | {name: value}, 10) == name
