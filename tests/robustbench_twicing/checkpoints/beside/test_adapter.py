"""LoRA adapters are merged as peft merges them, and never left out."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.beside.adapter import merge_adapter
from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.checkpoints.inspection import inspect_checkpoint
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model

QKV = [f"blocks.{block}.attn.qkv" for block in range(4)]
LORA = {"peft_type": "LORA", "r": 2, "lora_alpha": 6}
Tensors = dict[str, Tensor]


def random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 0.3


@pytest.fixture(scope="module")
def whole() -> Tensors:
    """The weights of the bundled DeiT."""
    return load_file(bundled_file("fmnist_deit"))


@pytest.fixture(scope="module")
def matrices(whole: Tensors) -> Tensors:
    """An adapter of rank 2 for every qkv, in peft's keys."""
    made = {}
    for seed, module in enumerate(QKV):
        rows, columns = whole[f"{module}.weight"].shape
        made[f"base_model.model.{module}.lora_A.weight"] = random(2, columns, seed=seed)
        made[f"base_model.model.{module}.lora_B.weight"] = random(rows, 2, seed=seed + 9)
    return made


def product(matrices: Tensors, module: str) -> Tensor:
    a, b = (matrices[f"base_model.model.{module}.lora_{letter}.weight"] for letter in "AB")
    return b @ a


@pytest.fixture(scope="module")
def base(whole: Tensors, matrices: Tensors) -> Tensors:
    """The weights from which the adapter, added three times (6 / 2), leads to the whole ones."""
    changed = dict(whole)
    for module in QKV:
        changed[f"{module}.weight"] = whole[f"{module}.weight"] - 3 * product(matrices, module)
    return changed


def save(folder: Path, tensors: Mapping[str, Tensor], **config: Any) -> Path:
    folder.mkdir(exist_ok=True)
    contiguous = {key: tensor.contiguous() for key, tensor in tensors.items()}
    save_file(contiguous, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps(LORA | config))
    return folder


@pytest.fixture
def files(base: Tensors, matrices: Tensors, tmp_path: Path) -> tuple[Path, Path]:
    """A file of the base weights, and the adapter's folder."""
    torch.save(base, tmp_path / "base.pth")
    return tmp_path / "base.pth", save(tmp_path / "adapter", matrices)


def test_the_product_is_added_alpha_over_r_times(files: tuple[Path, Path], whole: Tensors) -> None:
    file, adapter = files
    givens = (adapter, adapter / "adapter_model.safetensors")
    models = [load_model("fmnist_deit", file, adapter=given) for given in givens]
    for model in models:
        merged = model.network.state_dict()
        for key in whole:
            torch.testing.assert_close(merged[key], whole[key], atol=1e-5, rtol=0)
    model = models[1]
    details = model.record.details
    assert details["adapter"].endswith("adapter_model.safetensors")
    assert len(details["adapter_sha256"]) == 64
    (note,) = [note for note in model.record.notes if "LoRA" in note]
    assert "was merged into 4 weights" in note


@pytest.mark.parametrize(
    ("config", "factor"),
    [
        ({}, 3),
        ({"use_rslora": True}, 6 / 2**0.5),
        ({"alpha_pattern": {"qkv": 2}}, 1),
        ({"alpha_pattern": {"attn.qkv": 4, "qkv": 2}}, 2),
        ({"alpha_pattern": {"proj": 4}}, 3),
    ],
)
def test_factors_are_those_of_the_configuration(
    config: Any, factor: float, base: Tensors, matrices: Tensors, tmp_path: Path
) -> None:
    merged = merge_adapter(base, save(tmp_path / "a", matrices, **config), "FILE").state_dict
    for module in QKV:
        expected = base[f"{module}.weight"] + factor * product(matrices, module)
        torch.testing.assert_close(merged[f"{module}.weight"], expected)
    untouched = [key for key in base if key.removesuffix(".weight") not in QKV]
    assert all(merged[key] is base[key] for key in untouched)


def test_biases_and_whole_modules_of_the_adapter_replace_the_networks(
    base: Tensors, matrices: Tensors, tmp_path: Path
) -> None:
    head = {"base_model.model.head.weight": torch.ones(10, 64)}
    merged = merge_adapter(base, save(tmp_path / "a", matrices | head), "FILE").state_dict
    assert (merged["head.weight"] == 1).all()


@pytest.mark.slow
def test_peft_merges_the_same(tmp_path: Path) -> None:
    """Matrices and a convolution, with ranks and factors of their own, and a whole module."""
    peft = pytest.importorskip("peft")
    network = build_model(
        "deit", img_size=28, patch_size=4, num_classes=10, embed_dim=64, depth=2, num_heads=2
    )
    state = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    config = peft.LoraConfig(
        **{"r": 3, "lora_alpha": 5, "target_modules": ["qkv", "fc1", "patch_embed.proj"]},
        **{"alpha_pattern": {"fc1": 7}, "rank_pattern": {"qkv": 2}, "modules_to_save": ["head"]},
    )
    wrapped = peft.get_peft_model(network, config)
    for parameter in wrapped.parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, std=0.3)
    wrapped.save_pretrained(tmp_path / "adapter")
    merged = merge_adapter(state, tmp_path / "adapter", "FILE").state_dict
    theirs = wrapped.merge_and_unload().state_dict()
    assert merged.keys() == theirs.keys()
    for key, tensor in theirs.items():
        torch.testing.assert_close(merged[key], tensor, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft
def test_an_adapter_for_transformers_fits_its_folder_in_both_forms(tmp_path: Path) -> None:
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    sizes = {"image_size": 28, "patch_size": 4, "num_labels": 10, "hidden_size": 64}
    layers = {"num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 256}
    network = transformers.ViTForImageClassification(transformers.ViTConfig(**sizes, **layers))
    folder, adapter = tmp_path / "vit", tmp_path / "adapter"
    network.save_pretrained(folder)
    config = peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"], lora_alpha=3)
    wrapped = peft.get_peft_model(network, config)
    for name, parameter in wrapped.named_parameters():
        if "lora_" in name:
            nn.init.normal_(parameter, std=0.3)
    wrapped.save_pretrained(adapter)
    x = torch.rand(2, 3, 28, 28, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = wrapped.eval()(pixel_values=x).logits
    half: Any = {"mean": (0.5,) * 3, "std": (0.5,) * 3}
    for name, checkpoint in (("fmnist_deit", folder), (f"hf:{folder}", None)):
        model = load_model(name, checkpoint, adapter=adapter, **half)
        torch.testing.assert_close(model.network(x), expected)
        assert (load_model(name, checkpoint, **half).network(x) - expected).abs().max() > 0.01
    with pytest.raises(UserError, match="holds an adapter and no network"):
        load_model(f"hf:{adapter}")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"peft_type": "IA3"}, "only adapters of peft_type LORA"),
        ({"use_dora": True}, "use_dora is not supported; merge it with peft"),
        ({"init_lora_weights": "pissa_niter_4"}, "'pissa_niter_4' changes the network's own"),
        ({"lora_alpha": "much"}, "lora_alpha 'much' is not a number"),
        ({"alpha_pattern": {"(a+)+b": 1}}, r"alpha_pattern '\(a\+\)\+b' is not supported"),
        ({"fan_in_fan_out": True}, r"is \(64, 192\) in the adapter and \(192, 64\) in the weights"),
    ],
)
def test_settings_that_are_not_followed_are_refused(
    config: Any, message: str, base: Tensors, matrices: Tensors, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        merge_adapter(base, save(tmp_path / "a", matrices, **config), "FILE")


def test_what_is_no_such_adapter_is_said(base: Tensors, matrices: Tensors, tmp_path: Path) -> None:
    folder = save(tmp_path / "a", matrices)
    (key, down), *_ = matrices.items()
    wrong = {
        "has lora_A alone": {key: down},
        "are of different ranks": matrices | {key: down[:1]},
        "is not for FILE, which has no nowhere": {"nowhere.lora_A.weight": down},
        "of no LoRA that only adds": matrices | {"a.lora_magnitude_vector": 2 * down},
        "holds no LoRA adapter": {"head.bias": torch.zeros(10)},
        "holds int8: quantised": matrices | {key: down.to(torch.int8)},
    }
    for message, tensors in wrong.items():
        save(folder, tensors)
        with pytest.raises(UserError, match=message):
            merge_adapter(base, folder, "FILE")
    save(folder, matrices)
    (folder / "adapter_config.json").unlink()
    with pytest.raises(UserError, match="says by what factor the adapter is added"):
        merge_adapter(base, folder, "FILE")
    (folder / "adapter_model.safetensors").unlink()
    with pytest.raises(UserError, match=r"holds no adapter_model\.safetensors"):
        merge_adapter(base, folder, "FILE")


def test_weights_beside_an_adapter_are_never_evaluated_without_it(
    base: Tensors, matrices: Tensors, tmp_path: Path
) -> None:
    wrapped = {f"base_model.model.{key}": tensor for key, tensor in base.items()}
    named = {key.removeprefix("base_model.model."): tensor for key, tensor in matrices.items()}
    for tensors, message in (
        (wrapped | matrices, "that is not merged with its weights"),
        (base | named, "that is not merged with its weights"),
        (matrices, "and no network: name the weights"),
    ):
        torch.save(tensors, tmp_path / "c.pth")
        with pytest.raises(UserError, match=message):
            load_model("fmnist_deit", tmp_path / "c.pth")
    assert any("no network: name the weights" in one for one in remarks(tmp_path / "c.pth"))


def remarks(path: Path) -> tuple[str, ...]:
    return inspect_checkpoint(path).remarks


@pytest.mark.parametrize("checkpoint", ["bundled", "random:0"])
def test_an_adapter_needs_a_file(checkpoint: str, files: tuple[Path, Path]) -> None:
    with pytest.raises(UserError, match=f"not into {checkpoint} ones"):
        load_model("fmnist_deit", checkpoint, adapter=files[1])
