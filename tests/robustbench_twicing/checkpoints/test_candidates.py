"""Every model of the table is recognised by its keys and shapes, with its twins."""

from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from robustbench_twicing.checkpoints.architecture import _one_block, anatomy, is_ambiguous
from robustbench_twicing.checkpoints.candidates import _weights, recognise, same_keys
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.family import FAMILIES
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
    families = [candidate.family for candidate in found]
    assert sorted(families) == sorted([MODELS[name].family, *twins])


def test_reasons_name_what_speaks_for_a_model() -> None:
    (found,) = recognise(shapes("deit_small_featscale_patch16_224"))
    assert found.reasons == (
        "all 176 keys fit: a FeatScale DeiT (lamb1 and lamb2 in every block)",
        "width 384, depth 12, patch size 16",
    )
    (found,) = recognise(shapes("deit_small_distilled_patch16_224"))
    assert found.reasons[0].endswith("a distilled DeiT (dist_token and head_dist)")


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


@pytest.mark.parametrize(
    ("name", "families", "sizes"),
    [
        (
            "deit_base_patch16_384",
            ("deit", "neutreno", "twicing"),
            {"embed_dim": 768, "depth": 12, "patch_size": 16, "num_heads": None, "grid": 24},
        ),
        ("deit_small_distilled_patch16_224", ("deit_distilled",), {"grid": 14}),
        ("deit_base_attnscale_patch16_224", ("attnscale",), {"num_heads": 12}),
        (
            "fan_base_18_p16_224",
            ("fan", "fan_twicing"),
            {"embed_dim": 448, "depth": 18, "patch_size": 16, "num_heads": 8, "se_mlp": False},
        ),
        ("fan_small_12_p16_224_se_attn", ("fan", "fan_twicing"), {"se_mlp": True}),
        (
            "fan_large_16_p4_hybrid",
            ("fan_hybrid",),
            {"embed_dim": 480, "depth": 22, "patch_size": None, "num_classes": 1000},
        ),
    ],
)
def test_anatomy_of_each_layout(
    name: str, families: tuple[str, ...], sizes: dict[str, int | None]
) -> None:
    seen = anatomy(shapes(name))
    assert seen is not None
    assert seen.families == families
    assert sizes.items() <= seen.sizes.items()


def test_families_whose_files_tell_nothing_are_computed() -> None:
    """By building them: nobody lists which families have the same keys and shapes."""
    assert {name for name in FAMILIES if is_ambiguous(name)} == {
        *("deit", "neutreno", "twicing"),
        *("fan", "fan_twicing", "fan_hybrid"),
    }


def test_what_a_file_does_not_tell_is_one_sentence() -> None:
    assert same_keys(recognise(shapes("deit_tiny_patch16_224"))) == (
        "Checkpoints of the families deit, neutreno, twicing have the same keys and shapes: the "
        "file cannot tell them apart, nor which layers are twicing. The name says it."
    )
    assert "the family fan_hybrid" in same_keys(recognise(shapes("fan_tiny_8_p4_hybrid")))
    assert same_keys(recognise(shapes("deit_base_distilled_patch16_384"))) == ""


def test_recognising_draws_no_random_numbers() -> None:
    _weights.cache_clear()
    _one_block.cache_clear()
    before = torch.random.get_rng_state()
    recognise(shapes("deit_tiny_patch16_224"))
    assert torch.equal(before, torch.random.get_rng_state())
