"""A file of another layout is named in one short line."""

from typing import Any

import pytest
import torch

from robustbench_twicing.checkpoints.state_dict import load_into, weights_sha256
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model

FAN = {"img_size": 32, "embed_dim": 16, "depth": 2, "num_heads": 2, "num_classes": 5}


def load(network: Any, state_dict: Any) -> Any:
    return load_into(network, state_dict, source="FILE", asked="NAME")


@pytest.mark.parametrize(
    ("asked", "have", "words"),
    [
        ("deit", "fan", ["is a FAN-ViT", "not a DeiT-like ViT"]),
        ("fan", "deit", ["is a DeiT-like ViT", "not a FAN-ViT"]),
        ("fan", "fan_hybrid", ["is a FAN-Hybrid", "not a FAN-ViT"]),
        ("fan_hybrid", "fan", ["is a FAN-ViT", "not a FAN-Hybrid"]),
        ("fan_twicing", "fan_hybrid", ["is a FAN-Hybrid", "not a FAN-ViT"]),
    ],
)
def test_another_layout_is_named(asked: str, have: str, words: list[str]) -> None:
    networks = {family: build_model(family, **FAN) for family in (asked, have)}
    with pytest.raises(UserError) as caught:
        load(networks[asked], networks[have].state_dict())
    assert len(str(caught.value)) < 300
    for word in words:
        assert word in str(caught.value)


def test_a_fan_swin_is_named() -> None:
    swin = {
        "layers.0.blocks.0.attn.relative_position_bias_table": torch.zeros(169, 3),
        "layers.0.blocks.0.mlp.temperature": torch.zeros(3, 1, 1),
    }
    with pytest.raises(UserError, match="is a FAN-Swin"):
        load(build_model("fan", **FAN), swin)


@pytest.mark.slow
def test_squeeze_excite_and_sizes_of_a_fan_are_named() -> None:
    have = build_model("fan", **FAN, se_mlp=True).state_dict()
    with pytest.raises(UserError, match="se_mlp is True in the file and False in the network"):
        load(build_model("fan", **FAN), have)
    have = build_model("fan", **{**FAN, "num_heads": 4}).state_dict()
    with pytest.raises(UserError, match="heads is 4 in the file and 2 in the network"):
        load(build_model("fan", **FAN), have)
    have = build_model("fan", **{**FAN, "patch_size": 8}).state_dict()
    with pytest.raises(UserError, match="patch size is 8 in the file and 16 in the network"):
        load(build_model("fan", **FAN), have)


def test_keys_of_an_early_fan_are_renamed_and_that_is_said() -> None:
    network = build_model("fan", **FAN)
    early = {
        key.replace("pos_embed.", "pos_embeder."): tensor
        for key, tensor in network.state_dict().items()
    }
    done = load(build_model("fan", **FAN), early)
    assert done.sha256 == weights_sha256(network.state_dict())
    assert "early FAN" in done.notes[0]
