"""Names: aliases, placements, timm, and help for the ones that do not exist."""

import pytest

from robustbench_twicing.data.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.family import read_sizes
from robustbench_twicing.models.resolve import resolve_model
from robustbench_twicing.models.spec import ModelSpec
from robustbench_twicing.models.table import MODELS, list_models


@pytest.mark.parametrize("name", list_models())
def test_every_name_resolves_to_a_model_whose_sizes_fit(name: str) -> None:
    spec = resolve_model(name)
    assert MODELS[spec.name] is spec
    assert spec.name == name or name in spec.aliases
    read_sizes(spec.family, spec.sizes)
    assert spec.source.startswith("https://")


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("deit_sharp_tiny_patch16_224", "deit_tiny_twicing_patch16_224"),
        ("featscale_small_12", "deit_small_featscale_patch16_224"),
        ("attnscale_base_12", "deit_base_attnscale_patch16_224"),
        ("our_small_12", "deit_small_patch16_224"),
    ],
)
def test_upstream_names_are_aliases(alias: str, name: str) -> None:
    assert resolve_model(alias) == resolve_model(name)
    assert resolve_model(alias).name == name


@pytest.mark.parametrize(
    ("name", "printed", "layers"),
    [
        (
            "deit_sharp_tiny_patch16_224[10-12]",
            "deit_tiny_twicing_patch16_224[10-12]",
            (9, 10, 11),
        ),
        ("deit_small_twicing_patch16_224[12]", "deit_small_twicing_patch16_224[12]", (11,)),
        ("deit_tiny_twicing_patch16_224[2,1]", "deit_tiny_twicing_patch16_224[1-2]", (0, 1)),
        ("fan_tiny_12_p16_224_twicing[10-12]", "fan_tiny_12_p16_224_twicing[10-12]", (9, 10, 11)),
        ("fan_tiny_8_p4_hybrid_twicing[8]", "fan_tiny_8_p4_hybrid_twicing[8]", (7,)),
        ("deit_tiny_twicing_patch16_224[1-12]", "deit_tiny_twicing_patch16_224", None),
    ],
)
def test_placements_are_printed_canonically(
    name: str, printed: str, layers: tuple[int, ...] | None
) -> None:
    spec = resolve_model(name)
    assert spec.name == printed
    assert spec.sizes.get("layers") == layers
    assert resolve_model(printed) == spec


@pytest.mark.parametrize("name", ["deit_tiny_patch16_224[10-12]", "timm:resnet18[1]"])
def test_only_twicing_models_take_a_placement(name: str) -> None:
    with pytest.raises(UserError, match="places twicing layers, but"):
        resolve_model(name)


def test_the_deit_family_is_evaluated_as_the_papers_did() -> None:
    for name, crop, resize in (
        ("deit_tiny_patch16_224", 224, 256),
        ("deit_tiny_neutreno_patch16_224", 224, 256),
        ("deit_base_distilled_patch16_384", 384, 438),
    ):
        assert resolve_model(name).preprocessing == Preprocessing(
            crop=crop, resize=resize, interpolation="bicubic", mean=IMAGENET_MEAN, std=IMAGENET_STD
        )


def test_fan_is_evaluated_as_its_paper_did() -> None:
    for name in ("fan_tiny_12_p16_224", "fan_small_12_p4_hybrid_twicing[9-10]"):
        assert resolve_model(name).preprocessing == Preprocessing(crop=224, resize=224)


@pytest.mark.parametrize(
    ("name", "twicing"),
    [
        ("deit_tiny_patch16_224", False),
        ("deit_tiny_twicing_patch16_224", True),
        ("fan_tiny_12_p16_224", False),
        ("fan_tiny_12_p16_224_twicing", True),
        ("fan_tiny_8_p4_hybrid", False),
        ("fan_tiny_8_p4_hybrid_twicing", True),
    ],
)
def test_a_spec_says_whether_a_placement_makes_sense(name: str, twicing: bool) -> None:
    assert resolve_model(name).twicing is twicing


def test_a_timm_prefix_brings_the_preprocessing_of_timm() -> None:
    spec = resolve_model("timm:deit_tiny_patch16_224")
    assert spec == ModelSpec(
        name="timm:deit_tiny_patch16_224",
        family="timm",
        sizes={"timm_name": "deit_tiny_patch16_224"},
        preprocessing=Preprocessing(crop=224, resize=248),
        source="https://github.com/huggingface/pytorch-image-models",
        timm_name="deit_tiny_patch16_224",
    )
    assert resolve_model("deit_tiny_patch16_224").family == "deit"


def test_a_bare_name_that_is_not_ours_is_looked_up_in_timm() -> None:
    assert resolve_model("resnet18") == resolve_model("timm:resnet18")
    preprocessing = resolve_model("vit_base_patch16_224.augreg_in1k").preprocessing
    assert (preprocessing.mean, preprocessing.std) == ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("deit_tny_patch16_224", "Did you mean deit_tiny_patch16_224 or"),
        ("timm:resnet5", "Did you mean timm:resnet50"),
        ("timm:deit_tiny_twicing_patch16_224", "no model is called"),
        (
            "mine/net.py",
            "mine/net.py' is a file of code; name a function in it, like mine/net.py:build",
        ),
        ("neutreno_tiny", "Did you mean deit_tiny_neutreno_patch16_224"),
        ("qqqqqqqq", r"in timm. The command `models` lists ours"),
        ("resnet18.nothing", "timm has no weights 'nothing' for 'resnet18'"),
        ("fan_swin_tiny_patch4_window7_224", "FAN on Swin is not supported"),
        ("fan_tiny_12_p16_224_neutreno", "neutreno is for DeiT alone"),
        ("fan_tny_12_p16_224", "Did you mean fan_tiny_12_p16_224"),
        ("vit_base_patch16_sapiens2.fb", "only a square centre crop"),
    ],
)
def test_unknown_names_are_explained_briefly(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as mistake:
        resolve_model(name)
    assert len(str(mistake.value)) < 250
    assert str(mistake.value).count(" or ") <= 3


def test_patterns_choose_names() -> None:
    assert list_models("neutreno") == list_models("*neutreno*")
    assert list_models("deit_*_neutreno_*") == list_models("neutreno_patch16")
    assert list_models("neutreno_*") == []
    assert list_models("no such name") == []
