"""What a file says of itself is compared with what was asked for."""

import argparse
import json
import types
from pathlib import PurePosixPath
from typing import Any

import pytest
import torch

from robustbench_twicing.checkpoints.declared import (
    check_declared,
    declared_architectures,
    training_facts,
)
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.resolve import resolve_model


def check(content: Any, asked: str, *, override: bool = False) -> Any:
    return check_declared(
        declared_architectures(content), resolve_model(asked), override=override, source="FILE"
    )


def namespaced(model: str) -> dict[str, Any]:
    return {"args": argparse.Namespace(model=model), "model": {}}


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        (namespaced("deit_tiny_patch16_224"), "deit_tiny_patch16_224"),
        (namespaced("deit_sharp_tiny_patch16_224"), "deit_tiny_twicing_patch16_224"),
        (namespaced("deit_sharp_tiny_patch16_224"), "deit_tiny_twicing_patch16_224[10-12]"),
        (namespaced("deit_tiny_patch16_224"), "timm:deit_tiny_patch16_224"),
        (namespaced("deit_tiny_patch16_224"), "timm:deit_tiny_patch16_224.fb_in1k"),
        ({"arch": "fan_tiny_12_p16_224"}, "fan_tiny_12_p16_224"),
        ({"args": types.SimpleNamespace(arch="our_small_12")}, "deit_small_patch16_224"),
        ({"args": {"model": "featscale_small_12"}}, "deit_small_featscale_patch16_224"),
        ({"args": argparse.Namespace(model=None), "arch": 3}, "deit_tiny_patch16_224"),
        ({"epoch": 1}, "deit_tiny_patch16_224"),
        ([1], "deit_tiny_patch16_224"),
    ],
)
def test_the_same_architecture_under_any_name_is_no_contradiction(content: Any, asked: str) -> None:
    assert check(content, asked) == ((), ())


@pytest.mark.parametrize(
    ("content", "asked", "said"),
    [
        (namespaced("deit_sharp_tiny_patch16_224"), "deit_tiny_patch16_224", "args.model"),
        (namespaced("deit_tiny_patch16_224"), "deit_tiny_neutreno_patch16_224", "args.model"),
        (namespaced("deit3_small_patch16_224"), "deit_small_patch16_224", "args.model"),
        ({"arch": "fan_tiny_12_p16_224"}, "fan_tiny_12_p16_224_twicing", "arch"),
        ({"arch": "deit_base_patch16_384"}, "deit_base_patch16_224", "arch"),
        ({"hyper_parameters": {"arch": "resnet18"}}, "deit_base_patch16_224", "hyper_parameters"),
    ],
)
def test_a_contradiction_is_an_error_that_a_flag_overrides(
    content: Any, asked: str, said: str
) -> None:
    with pytest.raises(UserError, match=rf"FILE says it is .*{said}.*but {asked} was asked for"):
        check(content, asked)
    notes, flags = check(content, asked, override=True)
    assert flags == ("arch-override",)
    assert f"evaluated as {asked} by request" in notes[0]


def test_an_unknown_architecture_is_said_and_is_no_error() -> None:
    notes, flags = check(namespaced("my_vit"), "deit_tiny_patch16_224")
    assert flags == ()
    assert notes == ("The file names its architecture 'my_vit' (args.model), unknown here.",)


def test_facts_are_plain_values() -> None:
    content = {
        "epoch": 3,
        "metric": 71.5,
        "model": {"a": torch.zeros(1)},
        "optimizer": {"state": torch.zeros(10)},
        "args": argparse.Namespace(path=PurePosixPath("/a"), betas=(0.9, 0.99), long="x" * 999),
        7: "odd",
    }
    facts = training_facts(content)
    assert facts["epoch"] == 3
    assert facts["metric"] == 71.5
    assert facts["args"]["path"] == "/a"
    assert facts["args"]["betas"] == "(0.9, 0.99)"
    assert len(facts["args"]["long"]) == 200
    assert facts.keys() == {"epoch", "metric", "args"}
    json.dumps(facts)
    assert declared_architectures(content) == {}


def test_arguments_that_python_would_print_without_end_are_named_by_type() -> None:
    doubled: list[Any] = []
    for _ in range(60):
        doubled = [doubled, doubled]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    inside: list[Any] = []
    inside.append(inside)
    odd = argparse.Namespace()
    odd.__dict__["_get_kwargs"] = 3
    values = {"doubled": doubled, "deep": deep, "inside": inside, "odd": odd}
    arguments = training_facts({"args": argparse.Namespace(**values, sizes=[1, {"a": (2,)}])})[
        "args"
    ]
    assert arguments.pop("sizes") == "[1, {'a': (2,)}]"
    assert arguments.pop("odd") == "a Namespace that cannot be shown"
    assert set(arguments.values()) == {"a list that cannot be shown"}


@pytest.mark.parametrize("asked", ["fmnist_twicing", "fmnist_twicing[1]", "fmnist_twicing[3-4]"])
def test_a_placement_counts_where_the_file_names_one(asked: str) -> None:
    spec = resolve_model(asked)
    assert check({"arch": spec.placed_name}, asked) == ((), ())
    assert check({"arch": "fmnist_twicing"}, asked) == ((), ())
    for other in ("fmnist_twicing[1-4]", "fmnist_twicing[1]", "fmnist_twicing[3-4]"):
        if other != spec.placed_name:
            with pytest.raises(UserError, match="FILE says it is"):
                check({"arch": other}, asked)
