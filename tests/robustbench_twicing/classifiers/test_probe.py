"""What a probe shows is what the network computes, and the network computes as without."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from robustbench_twicing import load_model
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.probe import TENSORS, LayerTensor, probe
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.attention import set_attention
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.family import ModelRecord

SIDE, DEPTH, HEADS = 32, 2, 2
SIZES: dict[str, Any] = {"embed_dim": 16, "depth": DEPTH, "num_heads": HEADS, "num_classes": 5}
VIT_SIZES = {**SIZES, "img_size": SIDE, "patch_size": 8}
FAMILIES: dict[str, Callable[[], nn.Module]] = {
    **{
        family: lambda family=family: build_model(family, **VIT_SIZES)  # type: ignore[misc]
        for family in ("deit", "deit_distilled", "neutreno", "featscale", "attnscale", "twicing")
    },
    "fan": lambda: build_model("fan", **SIZES, patch_size=8),
    "fan_twicing": lambda: build_model("fan_twicing", **SIZES, patch_size=8),
    "timm with normalised queries": lambda: VisionTransformer(
        **VIT_SIZES,
        qk_norm=True,
        init_values=0.1,
        reg_tokens=2,
        class_token=False,
        global_pool="avg",
        fc_norm=False,
    ),
}
PIXELS = torch.rand(3, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))


def classifier(network: nn.Module, **details: Any) -> Classifier:
    """Seeded weights, larger than those of a fresh network, whose attention is uniform."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    record = ModelRecord("small", details=details)
    return Classifier(network, Preprocessing(crop=SIDE, resize=None), record)


def show(model: Classifier, *tensors: str) -> tuple[Tensor, list[LayerTensor]]:
    """Logits, and what was shown meanwhile."""
    shown: list[LayerTensor] = []
    with torch.inference_mode(), probe(model, tensors or TENSORS, shown.append):
        return model(PIXELS), shown


def hooks(model: Classifier) -> int:
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()
    )


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> Classifier:
    return classifier(FAMILIES[request.param]())


def test_the_logits_are_the_same_bit_for_bit_and_the_hooks_are_gone(model: Classifier) -> None:
    with torch.inference_mode():
        without = model(PIXELS)
    logits, shown = show(model)
    assert torch.equal(logits, without)
    assert shown
    assert hooks(model) == 0


def test_an_error_leaves_no_hooks_behind(model: Classifier) -> None:
    def fail(seen: LayerTensor) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), probe(model, TENSORS, fail):
        model(PIXELS)
    assert hooks(model) == 0


def test_every_layer_is_shown_once_in_order(model: Classifier) -> None:
    _, shown = show(model)
    layers = list(range(1, DEPTH + 1))
    of = {name: [seen.layer for seen in shown if seen.name == name] for name in TENSORS}
    assert of["attention"] == of["mix"] == layers
    assert of["block"] == [0, *layers, "norm"]
    classes = ["class-1", "class-2"] if model.network.__class__.__name__ == "Fan" else []
    assert of["weights"] == [*layers, *classes]


def test_patches_lie_on_the_grid(model: Classifier) -> None:
    _, shown = show(model)
    for seen in shown:
        assert seen.grid == (SIDE // 8, SIDE // 8)
        assert seen.values.shape[-1 if seen.name == "weights" else 1] == (
            seen.extra_tokens + seen.grid[0] * seen.grid[1]
        )


def test_a_fan_that_halves_its_grid_says_so() -> None:
    sizes = {**SIZES, "depth": 3, "channel_dims": (16, 16, 24)}
    _, shown = show(classifier(build_model("fan", **sizes, patch_size=8)), "weights", "block")
    grids = {(seen.name, seen.layer): seen.grid for seen in shown}
    before = [("block", 0), ("block", 1), ("weights", 1), ("weights", 2)]
    assert [key for key, grid in grids.items() if grid == (4, 4)] == sorted(
        before, key=list(grids).index
    )
    assert all(grids[key] == (2, 2) for key in grids.keys() - before)


def test_rows_of_the_weights_sum_to_one(model: Classifier) -> None:
    _, shown = show(model, "weights")
    for seen in shown:
        assert seen.values.shape[:2] == (len(PIXELS), HEADS)
        torch.testing.assert_close(seen.values.sum(-1), torch.ones(seen.values.shape[:-1]))


@pytest.mark.parametrize("family", ["deit", "twicing", "attnscale", "fan", "fan_twicing"])
def test_the_weights_are_those_that_mix_the_values(family: str) -> None:
    """M v of values that are computed here is the mix that the probe shows."""
    model = classifier(FAMILIES[family]()).double()
    values: list[Tensor] = []
    name = "kv" if family.startswith("fan") else "qkv"
    for block in model.network.get_submodule("blocks").children():
        block.get_submodule(f"attn.{name}").register_forward_hook(
            lambda module, inputs, output: values.append(
                output.chunk(3 - 1 * (name == "kv"), -1)[-1]
            )
        )
    mixes, matrices = list[Tensor](), list[tuple[Tensor, Tensor]]()

    def look(seen: LayerTensor) -> None:
        if seen.name == "mix":
            mixes.append(seen.values)
        elif isinstance(seen.layer, int):
            matrices.append((seen.values, seen.value_weights.matrix(seen.values)))

    with torch.inference_mode(), probe(model, ("mix", "weights"), look):
        model(PIXELS.double())
    assert len(mixes) == len(matrices) == DEPTH
    for v, (a, matrix), mix in zip(values, matrices, mixes, strict=True):
        if family != "attnscale":
            torch.testing.assert_close(matrix, 2 * a - a @ a if "twicing" in family else a)
        v = v.view(*v.shape[:2], HEADS, -1).transpose(1, 2)
        torch.testing.assert_close((matrix @ v).transpose(1, 2).flatten(2), mix)


@pytest.mark.parametrize("family", [*FAMILIES])
def test_layers_say_what_multiplies_the_values(family: str) -> None:
    network = FAMILIES[family]()
    model = classifier(network)
    _, shown = show(model, "weights")
    for seen in shown:
        twice = "twicing" in family and isinstance(seen.layer, int)
        assert seen.value_weights.twicing is twice
        lamb = seen.value_weights.lamb
        if family == "attnscale":
            attention: Any = network.get_submodule(f"blocks.{int(seen.layer) - 1}.attn")
            assert lamb is not None
            assert torch.equal(lamb, attention.lamb)
        else:
            assert lamb is None


def test_normalised_queries_are_those_of_the_network() -> None:
    network = FAMILIES["timm with normalised queries"]()
    set_attention(network, "explicit")
    a: list[Tensor] = []
    model = classifier(network)
    network.get_submodule("blocks.0.attn.attn_drop").register_forward_hook(
        lambda module, inputs, output: a.append(output)
    )
    _, shown = show(model, "weights")
    torch.testing.assert_close(shown[0].values, a[0])


def test_fused_and_explicit_attention_show_the_same() -> None:
    shown = [
        show(classifier(build_model("deit", **VIT_SIZES, attention=form)))[1]
        for form in ("fused", "explicit")
    ]
    assert len(shown[0]) == len(shown[1])
    for fused, explicit in zip(*shown, strict=True):
        torch.testing.assert_close(fused.values, explicit.values, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "extra", "has_class_token"),
    [
        ("deit", 1, True),
        ("deit_distilled", 2, True),
        ("fan", 0, False),
        ("timm with normalised queries", 2, False),
    ],
)
def test_tokens_before_the_patches_are_counted(
    family: str, extra: int, has_class_token: bool
) -> None:
    _, shown = show(classifier(FAMILIES[family]()), "attention")
    patches = (SIDE // 8) ** 2
    for seen in shown:
        assert seen.values.shape[1] == patches + extra == patches + seen.extra_tokens
        assert seen.has_class_token is has_class_token


def test_only_what_is_asked_for_is_shown() -> None:
    _, shown = show(classifier(FAMILIES["deit"]()), "mix")
    assert {seen.name for seen in shown} == {"mix"}


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: load_model("timm:resnet18", "random:0"), "ResNet"),
        (lambda: load_model("timm:test_efficientnet", "random:0"), "EfficientNet"),
        (lambda: classifier(nn.Sequential(nn.Flatten(), nn.Linear(3, 2))), "Sequential"),
        (lambda: classifier(FAMILIES["deit"](), kernels="onednn"), "kernels='onednn'"),
        (lambda: classifier(VisionTransformer(**VIT_SIZES, attn_layer="diff")), "DiffAttention"),
        (
            lambda: classifier(VisionTransformer(**VIT_SIZES, scale_attn_norm=True)),
            "of Attention",
        ),
    ],
)
def test_what_is_not_supported_gets_one_line(model: Callable[[], Classifier], reason: str) -> None:
    with pytest.raises(UserError, match=reason) as caught, probe(model(), ("mix",), print):
        pass
    assert "supported are DeiT and its variants, FAN" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_tensor_is_refused() -> None:
    with (
        pytest.raises(
            UserError, match=r"'values' is unknown. Known: block, attention, mix, weights"
        ),
        probe(classifier(FAMILIES["deit"]()), ("values",), print),
    ):
        pass
