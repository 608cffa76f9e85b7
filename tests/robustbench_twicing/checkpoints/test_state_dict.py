"""Strict loading: one wrong key is enough, and the line says which and why."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor

from robustbench_twicing.checkpoints.state_dict import load_into, weights_sha256
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model


def load(network: Any, state_dict: Any) -> Any:
    return load_into(network, state_dict, source="FILE", asked="NAME")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data(), change=st.sampled_from(["drop", "add", "longer", "flat", "swap"]))
def test_a_single_key_dropped_added_or_reshaped_is_refused_by_name(
    data: st.DataObject, change: str, weights: dict[str, Tensor], build: Any
) -> None:
    key = data.draw(st.sampled_from(sorted(weights)))
    changed = dict(weights)
    if change == "drop":
        del changed[key]
    elif change == "add":
        key = data.draw(st.text("abc.0", min_size=1).filter(lambda text: text not in weights))
        changed[key] = torch.zeros(1)
    elif change == "longer":
        changed[key] = torch.zeros(*weights[key].shape[:-1], weights[key].shape[-1] + 1)
    elif change == "flat":
        changed[key] = weights[key].flatten().repeat(2)
    else:
        changed[key] = torch.zeros(weights[key].shape)[None]
    network = build()
    before = weights_sha256(network.state_dict())
    with pytest.raises(UserError) as caught:
        load(network, changed)
    message = str(caught.value)
    assert message.startswith("FILE does not fit NAME: ")
    assert key in message
    assert "\n" not in message
    assert len(message) < 500
    if change in ("longer", "flat", "swap"):
        assert str(tuple(changed[key].shape)) in message
        assert str(tuple(weights[key].shape)) in message
    assert weights_sha256(network.state_dict()) == before, "the network was changed all the same"


def test_what_is_loaded_is_hashed_and_leaves_the_file_alone(
    weights: dict[str, Tensor], build: Any
) -> None:
    network = build(num_classes=5)
    network.head.bias.data.fill_(7)
    copy = {key: tensor.clone() for key, tensor in weights.items()}
    done = load(network, weights)
    assert done.sha256 == weights_sha256(weights)
    assert done.notes == ()
    network.head.bias.data.fill_(9)
    assert all(torch.equal(weights[key], copy[key]) for key in copy)


@pytest.mark.parametrize(
    ("asked", "have", "words"),
    [
        ("deit", "featscale", ["a FeatScale DeiT (lamb1 and lamb2", "blocks.*.lamb1 (2 keys)"]),
        (
            "deit",
            "attnscale",
            ["an AttnScale DeiT (attn.lamb", "unexpected blocks.*.attn.lamb (2 keys)"],
        ),
        ("twicing", "featscale", ["is a FeatScale DeiT", "not a DeiT-like ViT"]),
        ("featscale", "deit", ["not a FeatScale DeiT (lamb1", "missing blocks.*.lamb1"]),
        ("attnscale", "featscale", ["is a FeatScale DeiT", "not an AttnScale DeiT"]),
        (
            "deit",
            "deit_distilled",
            ["is a distilled DeiT (dist_token and head_dist)", "not a DeiT"],
        ),
        ("deit_distilled", "deit", ["not a distilled DeiT", "dist_token", "head_dist"]),
    ],
)
def test_another_variant_is_named(asked: str, have: str, words: list[str], build: Any) -> None:
    with pytest.raises(UserError) as caught:
        load(build(asked), build(have).state_dict())
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"embed_dim": 24}, ["width is 24 in the file and 12 in the network"]),
        ({"depth": 3}, ["depth is 3 in the file and 2 in the network"]),
        ({"patch_size": 8}, ["patch size is 8 in the file and 16 in the network"]),
    ],
)
def test_another_size_is_named_without_listing_every_key(
    sizes: dict[str, int], words: list[str], build: Any
) -> None:
    with pytest.raises(UserError) as caught:
        load(build(), build(**sizes).state_dict())
    assert len(str(caught.value)) < 400
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("family", ["deit", "deit_distilled"])
@pytest.mark.parametrize("count", [6, 1001])
def test_another_number_of_classes_names_both(family: str, count: int, build: Any) -> None:
    with pytest.raises(
        UserError, match=rf"has {count} classes .* built for 5; --num-classes {count}"
    ):
        load(build(family), build(family, num_classes=count).state_dict())


@pytest.mark.parametrize("keep", ["pos_embed", "blocks."])
def test_a_missing_classifier_is_named_whatever_else_is_missing(
    keep: str, weights: dict[str, Tensor], build: Any
) -> None:
    few = {key: tensor for key, tensor in weights.items() if key.startswith(keep)}
    with pytest.raises(UserError, match=r"missing head\.weight, head\.bias, \w+"):
        load(build(), few)


def test_a_missing_classifier_is_named_beside_another_size(build: Any) -> None:
    deeper = build(depth=5).state_dict()
    backbone = {key: tensor for key, tensor in deeper.items() if not key.startswith("head")}
    with pytest.raises(
        UserError, match=r"depth is 5 in the file and 2 in .*; missing head\.weight, head\.bias$"
    ):
        load(build(), backbone)


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        ({"normalize.mean": torch.zeros(3)}, "; unexpected normalize.mean"),
        ({}, "; take it off the keys and save the file again"),
    ],
)
@pytest.mark.parametrize("prefix", ["model.", "1.", "base_model.model."])
def test_a_prefix_is_named_and_so_is_what_lies_beside_it(
    beside: dict[str, Tensor], words: str, prefix: str, weights: dict[str, Tensor], build: Any
) -> None:
    wrapped = {**beside, **{prefix + key: tensor for key, tensor in weights.items()}}
    with pytest.raises(UserError) as caught:
        load_into(build(), wrapped, source="FILE", asked="NAME", taken_off="module.")
    message = str(caught.value)
    assert f"the network's keys are behind the prefix 'module.{prefix}' in it" in message
    assert words in message
    assert "missing" not in message


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_are_evaluated_in_float32_and_that_is_said(
    dtype: torch.dtype, weights: dict[str, Tensor], build: Any
) -> None:
    cast = {key: tensor.to(dtype) for key, tensor in weights.items()}
    network = build()
    done = load(network, cast)
    name = str(dtype).removeprefix("torch.")
    assert done.notes == (f"{len(cast)} tensors were stored as {name} and evaluated in float32.",)
    assert torch.equal(network.head.weight, cast["head.weight"].float())
    assert done.sha256 == weights_sha256(network.state_dict())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_values_that_are_not_finite_are_refused_by_key(
    value: float, weights: dict[str, Tensor], build: Any
) -> None:
    bad = weights["blocks.1.mlp.fc2.weight"].clone()
    bad[0, 1] = value
    with pytest.raises(UserError, match=rf"blocks\.1\.mlp\.fc2\.weight has 1 of {bad.numel()} val"):
        load(build(), {**weights, "blocks.1.mlp.fc2.weight": bad})


def test_a_float64_that_float32_cannot_hold_is_not_finite(
    weights: dict[str, Tensor], build: Any
) -> None:
    bad = weights["head.bias"].double()
    bad[0] = 1e300
    with pytest.raises(UserError, match=r"head\.bias has 1 of 5 values that are not finite"):
        load(build(), {**weights, "head.bias": bad})


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(5, dtype=torch.int8),
        torch.zeros(5, dtype=torch.complex64),
        torch.zeros(5, dtype=torch.bool),
        torch.zeros(5, dtype=torch.float8_e4m3fn),
        torch.zeros(5, dtype=torch.float8_e5m2),
        torch.zeros(5).to_sparse(),
        torch.zeros(5, device="meta"),
    ],
)
def test_what_are_no_dense_floating_point_numbers_is_refused(
    tensor: Tensor, weights: dict[str, Tensor], build: Any
) -> None:
    with pytest.raises(UserError, match=r"head\.bias"):
        load(build(), {**weights, "head.bias": tensor})


@pytest.mark.parametrize("family", ["deit", "twicing", "deit_distilled"])
def test_another_grid_is_resampled_and_announced(family: str, build: Any) -> None:
    extra = 2 if family == "deit_distilled" else 1
    have = build(family, img_size=64).state_dict()
    network = build(family, img_size=96)
    done = load(network, have)
    assert torch.equal(network.pos_embed[:, :extra], have["pos_embed"][:, :extra])
    assert network.pos_embed.shape[1] == extra + 36
    (note,) = done.notes
    assert f"from {16 + extra} to {36 + extra} tokens" in note
    assert "6 x 6 patches" in note
    assert "without antialias" in note
    assert done.sha256 == weights_sha256(network.state_dict())


def test_positions_that_are_no_square_are_refused(weights: dict[str, Tensor], build: Any) -> None:
    with pytest.raises(
        UserError, match=r"^FILE does not fit NAME: pos_embed covers 7 tokens and the network has 5"
    ):
        load(build(), {**weights, "pos_embed": torch.zeros(1, 7, 12)})


@pytest.mark.parametrize(
    ("fixture", "family"),
    [
        ("deit", "deit"),
        ("deit_distilled", "deit_distilled"),
        ("neutreno", "neutreno"),
        ("featscale", "featscale"),
        ("attnscale", "attnscale"),
        ("twicing_all", "twicing"),
    ],
)
def test_reference_weights_load_strictly(fixture: str, family: str, shared: Path) -> None:
    weights = load_file(shared / "golden" / "models" / f"{fixture}.weights.safetensors")
    sizes = {"img_size": 64, "embed_dim": 48, "depth": 3, "num_heads": 3, "num_classes": 10}
    done = load(build_model(family, **sizes), weights)
    assert done.sha256 == weights_sha256(weights)
    assert done.notes == ()
