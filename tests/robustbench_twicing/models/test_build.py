"""Sizes: what is accepted, what is refused and how."""

from typing import Any

import pytest
import torch

from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model

TINY: dict[str, Any] = {"embed_dim": 24, "depth": 2, "num_heads": 2, "num_classes": 5}
FAMILIES = ("deit", "deit_distilled", "neutreno", "featscale", "attnscale", "twicing")


@pytest.mark.parametrize(("img_size", "patch_size"), [(28, 7), (32, 4), ((16, 24), 8)])
@pytest.mark.parametrize("family", FAMILIES)
def test_small_images_work(family: str, img_size: int | tuple[int, int], patch_size: int) -> None:
    network = build_model(family, img_size=img_size, patch_size=patch_size, **TINY)
    height, width = img_size if isinstance(img_size, tuple) else (img_size, img_size)
    assert not network.training
    assert network(torch.zeros(2, 3, height, width)).shape == (2, 5)


def test_the_same_seed_gives_twicing_and_plain_the_same_weights() -> None:
    states = []
    for family in ("deit", "twicing", "neutreno"):
        torch.manual_seed(0)
        states.append(build_model(family, img_size=32, **TINY).state_dict())
    plain, *others = states
    for other in others:
        assert plain.keys() == other.keys()
        assert all(torch.equal(plain[key], other[key]) for key in plain)


def test_layers_choose_where_the_average_is_taken_twice() -> None:
    torch.manual_seed(0)
    plain = build_model("deit", img_size=32, **TINY)
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(2, 3, 32, 32, generator=draw)
    outputs = []
    for layers in ((0,), (1,), (0, 1), (1, 0), None):
        network = build_model("twicing", img_size=32, **TINY, layers=layers)
        network.load_state_dict(plain.state_dict())
        outputs.append(network(x))
    first, second, both, reverse, default = outputs
    assert not torch.allclose(first, second)
    assert not torch.allclose(first, both)
    assert torch.equal(both, reverse)
    assert torch.equal(both, default)


@pytest.mark.parametrize(
    ("family", "sizes", "message"),
    [
        ("diet", {}, r"no model family is called 'diet'. Did you mean 'deit'\?"),
        ("deit", {"embed_dims": 48}, r"no size 'embed_dims'. Did you mean 'embed_dim'\?"),
        ("deit", {"layers": (1,)}, "a deit model has no size 'layers'"),
        ("deit", {"depth": 0}, "depth 0 must be a whole number above 0"),
        ("deit", {"embed_dim": 48.0}, "embed_dim 48.0 must be a whole number"),
        ("deit", {"img_size": (32, -16)}, "img_size .* must be a whole number"),
        ("deit", {"num_heads": 5}, "embed_dim 192 does not divide by num_heads 5"),
        ("deit", {"img_size": 225}, "img_size 225 is not a multiple of patch_size 16"),
        ("deit", {"attention": "flash"}, "attention 'flash' is none of auto, explicit, fused"),
        ("twicing", {"layers": ()}, "layers is empty"),
        ("twicing", {"layers": (12,)}, "no layer 12 in a model of 12; layers are 0 to 11"),
        ("twicing", {"layers": (-1,)}, "no layer -1"),
        ("twicing", {"layers": (3, 3)}, r"layers \(3, 3\) name one twice"),
        ("twicing", {"layers": "10-12"}, "not 0-based indices"),
        ("timm", {}, "a timm model needs timm_name"),
        ("timm", {"timm_name": "resnet5"}, "timm has no model 'resnet5'"),
        ("timm", {"timm_name": "resnet18", "img_size": 64}, "takes any image size"),
    ],
)
def test_mistakes_are_explained(family: str, sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        build_model(family, **sizes)


@pytest.mark.slow
def test_timm_models_are_built_with_other_sizes() -> None:
    network = build_model(
        "timm", timm_name="vit_tiny_patch16_224", img_size=32, num_classes=7, attention="explicit"
    )
    assert network(torch.zeros(1, 3, 32, 32)).shape == (1, 7)
    assert not network.get_submodule("blocks.0.attn").fused_attn
