"""Every model of the table is recognised by its keys and shapes, with its twins."""

from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from robustbench_twicing.checkpoints.architecture import anatomy
from robustbench_twicing.checkpoints.candidates import _shapes, recognise
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.table import MODELS

pytestmark = pytest.mark.slow


@cache
def shapes(name: str) -> dict[str, Tensor]:
    spec = MODELS[name]
    with torch.device("meta"):
        return dict(build_model(spec.family, **spec.sizes).state_dict())


@pytest.mark.parametrize(
    ("name", "twins"),
    [
        ("deit_tiny_patch16_224", ["neutreno", "twicing"]),
        ("deit_tiny_twicing_patch16_224", ["neutreno", "deit"]),
        ("deit_small_distilled_patch16_224", []),
        ("deit_small_featscale_patch16_224", []),
        ("deit_base_attnscale_patch16_224", []),
        ("fan_tiny_12_p16_224", ["fan_twicing"]),
        ("fan_tiny_8_p4_hybrid", ["fan_hybrid"]),
        ("fan_Xlarge_16_p4_hybrid", ["fan_hybrid"]),
        ("fan_small_12_p16_224_se_attn", ["fan_twicing"]),
    ],
)
def test_a_model_is_recognised_with_its_twins(name: str, twins: list[str]) -> None:
    found = recognise(shapes(name))
    assert name in [candidate.name for candidate in found]
    assert all(not candidate.against for candidate in found)
    assert sorted(each.family for each in found) == sorted([MODELS[name].family, *twins])


def test_reasons_name_what_speaks_for_a_model() -> None:
    (found,) = recognise(shapes("deit_small_featscale_patch16_224"))
    assert found.reasons == (
        "all 176 keys fit: a DeiT-like ViT (fused attn.qkv)",
        "width 384, depth 12",
        "lamb1 and lamb2 in every block (FeatScale)",
    )
    (found,) = recognise(shapes("deit_small_distilled_patch16_224"))
    assert found.reasons[-1] == "dist_token and head_dist (distilled)"


def test_another_grid_or_head_is_said_and_comes_last() -> None:
    own = {**shapes("deit_base_patch16_384")}
    found = recognise(own)
    assert (found[0].name, found[0].against) == ("deit_base_patch16_384", ())
    others = {candidate.name: candidate.against for candidate in found[1:]}
    assert others["deit_base_patch16_224"] == ("pos_embed of 577 tokens instead of 197",)
    own["head.weight"], own["head.bias"] = torch.empty(10, 768), torch.empty(10)
    assert recognise(own)[0].against == ("10 classes instead of 1000",)


@pytest.mark.parametrize("change", ["drop", "add", "reshape"])
def test_what_fits_no_model_is_not_recognised(change: str) -> None:
    changed: dict[str, Any] = {**shapes("deit_tiny_patch16_224")}
    if change == "drop":
        del changed["norm.bias"]
    elif change == "add":
        changed["more"] = torch.empty(1)
    else:
        changed["norm.bias"] = torch.empty(193)
    assert recognise(changed) == ()
    assert recognise({"conv1.weight": torch.empty(64, 3, 7, 7)}) == ()


def test_anatomy_of_each_layout() -> None:
    deit = anatomy(shapes("deit_base_patch16_384"))
    assert deit is not None
    assert (deit.layout, deit.embed_dim, deit.depth, deit.patch) == ("vit", 768, 12, 16)
    assert (deit.heads, deit.grid, deit.classes, deit.distilled) == (None, 24, 1000, False)
    distilled = anatomy(shapes("deit_small_distilled_patch16_224"))
    assert distilled is not None
    assert (distilled.grid, distilled.distilled) == (14, True)
    fan = anatomy(shapes("fan_base_18_p16_224"))
    assert fan is not None
    assert (fan.layout, fan.embed_dim, fan.depth, fan.patch) == ("fan-vit", 448, 18, 16)
    assert (fan.heads, fan.grid, fan.squeeze_excite) == (8, None, False)
    hybrid = anatomy(shapes("fan_large_16_p4_hybrid"))
    assert hybrid is not None
    assert (hybrid.layout, hybrid.embed_dim, hybrid.depth, hybrid.patch) == (
        "fan-hybrid",
        480,
        22,
        None,
    )


def test_recognising_draws_no_random_numbers() -> None:
    _shapes.cache_clear()
    before = torch.random.get_rng_state()
    recognise(shapes("deit_tiny_patch16_224"))
    assert torch.equal(before, torch.random.get_rng_state())
