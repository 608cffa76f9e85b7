"""ViT and DeiT as transformers saves them: our networks give transformers' own logits."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.inspection import inspect_checkpoint
from robustbench_twicing.errors import UserError

pytestmark = pytest.mark.slow  # transformers takes seconds to import
SIZES = {
    **{"image_size": 28, "patch_size": 4, "num_labels": 10, "hidden_size": 64},
    **{"num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 256},
}
"""Of fmnist_deit and its variants."""
Make = Callable[..., tuple[Path, Any]]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """From the name of a class of transformers to a folder of random weights, and the network."""
    transformers = pytest.importorskip("transformers")

    def saved(kind: str, **sizes: Any) -> tuple[Path, Any]:
        config = transformers.ViTConfig if kind.startswith("ViT") else transformers.DeiTConfig
        with torch.random.fork_rng():
            torch.manual_seed(0)
            network = getattr(transformers, kind)(config(**{**SIZES, **sizes})).eval()
            for parameter in network.parameters():  # biases and norms begin as zeros and ones
                parameter.data += 0.1 * torch.randn_like(parameter)
        folder = tmp_path_factory.mktemp(kind)
        network.save_pretrained(folder)
        return folder, network

    return saved


@pytest.fixture(scope="module")
def vit(make: Make) -> tuple[Path, Any]:
    """With another LayerNorm than DeiT's, which shows in the logits."""
    return make("ViTForImageClassification", layer_norm_eps=0.05)


def images() -> Tensor:
    return torch.rand(3, 3, 28, 28, generator=torch.Generator().manual_seed(1))


def logits(network: Any) -> Tensor:
    with torch.no_grad():
        shown: Tensor = network(images()).logits
    return shown


def test_a_vit_gives_the_logits_of_transformers(vit: tuple[Path, Any]) -> None:
    folder, network = vit
    model = load_model("fmnist_deit", folder)
    torch.testing.assert_close(model.network(images()), logits(network))
    assert model.record.details["sizes"]["norm_eps"] == 0.05
    assert any("q, k and v of each block joined" in note for note in model.record.notes)


def test_a_distilled_deit_gives_the_mean_of_its_two_heads(make: Make) -> None:
    folder, network = make("DeiTForImageClassificationWithTeacher")
    from robustbench_twicing.checkpoints.state_dict import load_into
    from robustbench_twicing.models.build import build_model

    ours = build_model(
        "deit_distilled",
        **{"img_size": 28, "patch_size": 4, "num_classes": 10, "embed_dim": 64},
        **{"depth": 4, "num_heads": 2, "norm_eps": 1e-12},
    )
    from safetensors.torch import load_file

    load_into(ours, load_file(folder / "model.safetensors"), source="FILE", asked="NAME")
    with torch.no_grad():
        torch.testing.assert_close(ours(images()), logits(network))


def test_keys_of_a_network_of_transformers_5_are_known_too(
    vit: tuple[Path, Any], tmp_path: Path
) -> None:
    folder, network = vit
    torch.save(network.state_dict(), tmp_path / "model.pth")
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    saved, kept = (load_model("fmnist_deit", path).record for path in (folder, tmp_path))
    assert saved.weights_sha256 == kept.weights_sha256


def test_twicing_is_switched_on_by_the_name(vit: tuple[Path, Any]) -> None:
    folder, _ = vit
    plain = load_model("fmnist_deit", folder)
    twicing = load_model("fmnist_twicing[3-4]", folder)
    assert twicing.record.weights_sha256 == plain.record.weights_sha256
    assert (twicing(images()) - plain(images())).abs().max() > 1e-3


def test_an_activation_or_heads_of_another_network_are_refused(make: Make) -> None:
    folder, _ = make("ViTForImageClassification", num_attention_heads=4)
    with pytest.raises(UserError, match="says 4 attention heads, and fmnist_deit has 2"):
        load_model("fmnist_deit", folder)
    folder, _ = make("ViTForImageClassification", hidden_act="gelu_new")
    with pytest.raises(UserError, match="hidden_act 'gelu_new', and fmnist_deit computes with"):
        load_model("fmnist_deit", folder)


def test_missing_parts_and_other_heads_are_named(make: Make) -> None:
    folder, _ = make("DeiTForImageClassification")  # a distillation token without its head
    with pytest.raises(UserError, match="unexpected dist_token"):
        load_model("fmnist_deit", folder)
    folder, _ = make("ViTModel")
    with pytest.raises(UserError, match=r"missing head\.weight, head\.bias"):
        load_model("fmnist_deit", folder)
    folder, _ = make("ViTForImageClassification", qkv_bias=False)
    with pytest.raises(UserError, match=r"missing blocks\.\*\.attn\.qkv\.bias"):
        load_model("fmnist_deit", folder)


def test_inspect_recognises_the_layout(vit: tuple[Path, Any]) -> None:
    inspection = inspect_checkpoint(vit[0])
    assert "fmnist_deit" in [candidate.name for candidate in inspection.candidates]
    assert any("transformers' layout" in note for note in inspection.weights["plain"].notes)
    assert any(f"--model hf:{vit[0]} evaluates it as it is" in note for note in inspection.remarks)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("ViTImageProcessor", {}),
        ("ViTImageProcessor", {"resample": 3, "size": {"height": 64, "width": 64}}),
        ("DeiTImageProcessor", {}),
        ("ConvNextImageProcessor", {"size": {"shortest_edge": 224}}),
        ("ConvNextImageProcessor", {"size": {"shortest_edge": 384}}),
        ("BitImageProcessor", {}),
        ("ViTImageProcessor", {"do_normalize": False}),
        ("EfficientNetImageProcessor", {"include_top": False, "rescale_offset": True}),
    ],
)
def test_photographs_become_what_processors_make_of_them(
    kind: str, settings: Any, tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    processor = getattr(transformers, f"{kind}Pil")(**settings)
    processor.save_pretrained(tmp_path)
    from robustbench_twicing.checkpoints.beside.config_file import read_expected
    from robustbench_twicing.data.preprocessing import Preprocessing

    shown = Preprocessing(1, None).override(**read_expected(tmp_path).parts)
    rows, columns = np.mgrid[:300, :500]
    channels = [rows % 256, columns % 256, (rows * columns) // 500 % 256]
    photograph = Image.fromarray(np.stack(channels, axis=-1).astype(np.uint8))
    ours = (shown.pixels(photograph) / 255 - shown.mean) / shown.std
    theirs = processor(photograph, return_tensors="np")["pixel_values"][0].transpose(1, 2, 0)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert json.loads((tmp_path / "preprocessor_config.json").read_text())
