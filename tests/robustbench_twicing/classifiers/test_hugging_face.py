"""``hf:FOLDER`` gives the logits of transformers, and runs nothing of the folder."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from robustbench_twicing import load_model
from robustbench_twicing.checkpoints import hub
from robustbench_twicing.cli.app import main
from robustbench_twicing.errors import UserError

pytestmark = pytest.mark.slow  # transformers takes seconds to import
HALF = (0.5, 0.5, 0.5)
SIZES = {"image_size": 28, "patch_size": 4, "num_labels": 10, "hidden_size": 32}
LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def images(side: int = 28) -> Tensor:
    return torch.rand(3, 3, side, side, generator=torch.Generator().manual_seed(1))


def save(network: Any, folder: Path, side: int = 28) -> Path:
    network.eval().save_pretrained(folder)
    size = {"height": side, "width": side}
    processor = {"image_mean": HALF, "image_std": HALF, "size": size, "resample": 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


@pytest.fixture(scope="module")
def transformers() -> Any:
    return pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def saved(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random ViT, which no test changes."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = transformers.ViTForImageClassification(
            transformers.ViTConfig(**SIZES, **LAYERS, initializer_range=0.2)
        )
    return save(network, tmp_path_factory.mktemp("saved") / "small-vit")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(saved, tmp_path / "small-vit")


def change(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def test_a_vit_is_what_transformers_makes_of_the_folder(saved: Path, transformers: Any) -> None:
    model = load_model(f"hf:{saved}")
    theirs = transformers.AutoModelForImageClassification.from_pretrained(saved).eval()
    with torch.no_grad():
        expected = theirs(pixel_values=2 * images() - 1).logits
    torch.testing.assert_close(model(images()), expected)
    shown = model.preprocessing
    assert (shown.crop, shown.resize, shown.squash, shown.mean) == (28, 28, True, HALF)
    record = model.record
    assert (record.model, record.family, record.checkpoint) == ("hf:small-vit", "hf", str(saved))
    assert record.details["sizes"]["num_classes"] == 10
    assert any("preprocessor_config.json beside the weights says" in note for note in record.notes)
    again = load_model(record.model, record.checkpoint).record  # as `analyze RUN` does
    assert again.weights_sha256 == record.weights_sha256


def test_other_networks_of_transformers_are_had_too(transformers: Any, tmp_path: Path) -> None:
    config = transformers.ConvNextConfig(
        num_labels=7, depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 8, 8], image_size=32
    )
    network = transformers.ConvNextForImageClassification(config)
    folder = save(network, tmp_path / "convnext", 32)
    with torch.no_grad():
        expected = network(pixel_values=2 * images(32) - 1).logits
    torch.testing.assert_close(load_model(f"hf:{folder}")(images(32)), expected)


def test_explicit_attention_is_the_same_function(saved: Path) -> None:
    fused, explicit = (load_model(f"hf:{saved}", attention=kind) for kind in ("auto", "explicit"))
    torch.testing.assert_close(fused(images()), explicit(images()))


def test_a_folder_of_timms_is_timms_model(tmp_path: Path) -> None:
    network = load_model("timm:test_vit", "random:0").network
    save_file(network.state_dict(), tmp_path / "model.safetensors")
    said = {"input_size": [3, 160, 160], "mean": HALF, "std": HALF, "crop_pct": 0.9}
    content = {"architecture": "test_vit", "num_classes": 1000, "pretrained_cfg": said}
    (tmp_path / "config.json").write_text(json.dumps(content))
    model = load_model(f"hf:{tmp_path}")
    assert (model.record.model, model.record.family) == ("timm:test_vit", "timm")
    assert (model.preprocessing.mean, model.preprocessing.resize) == (HALF, 177)
    x = 2 * images(160) - 1
    torch.testing.assert_close(model.network(x), network(x))
    (tmp_path / "config.json").write_text(json.dumps(content | {"model_args": {"depth": 3}}))
    with pytest.raises(UserError, match=r"model_args .* are not supported"):
        load_model(f"hf:{tmp_path}")


def drop_processor(folder: Path) -> None:
    (folder / "preprocessor_config.json").unlink()


def drop_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def only_an_adapter(folder: Path) -> None:
    (folder / "config.json").rename(folder / "adapter_config.json")


def other_side(folder: Path) -> None:
    processor = {"image_mean": HALF, "image_std": HALF, "size": {"height": 32, "width": 32}}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))


def only_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def weights(folder: Path, change: Callable[[dict[str, Tensor]], Any]) -> None:
    state = load_file(folder / "model.safetensors")
    change(state)
    save_file(state, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop_processor, "no preprocessor_config.json in .* give --mean and --std"),
        (drop_config, "there is no config.json in .*, which would say what network it is"),
        (only_an_adapter, "holds an adapter and no network; name the network's folder"),
        (only_a_pickle, r"has no model.safetensors \(it has pytorch_model.bin\); save"),
        (lambda f: change(f, model_type="gpt2"), "model_type 'gpt2' is no image classifier"),
        (lambda f: change(f, model_type="mine"), "model_type 'mine' is no image classifier"),
        (lambda f: change(f, auto_map={"AutoModel": "a.B"}), "auto_map is not supported"),
        (lambda f: change(f, quantization_config={"load_in_8bit": True}), "quantization_config is"),
        (lambda f: change(f, hidden_act="nothing"), "transformers says KeyError"),
        (lambda f: change(f, hidden_act={}), "Field 'hidden_act' expected str, got dict"),
        (lambda f: change(f, qkv_bias="yes"), "transformers says StrictDataclassField.*'yes'"),
        (lambda f: change(f, num_channels=10**9), "describes a far larger network"),
        (lambda f: change(f, num_attention_heads=3), "of another shape vit"),
        (lambda f: change(f, hidden_size=30_000), "describes a far larger network"),
        (lambda f: change(f, num_hidden_layers=10**9), "describes a far larger network"),
        (lambda f: change(f, num_hidden_layers=1), "do not fit config.json: unexpected vit"),
        (lambda f: change(f, num_hidden_layers=3), "do not fit config.json: missing vit"),
        (lambda f: change(f, intermediate_size=80), "of another shape vit"),
        (other_side, r"does not take images of 32 pixels \(ValueError: Input image size"),
        (lambda f: change(f, id2label={"0": "a"}), "has 10 classes and config.json names 1"),
        (lambda f: weights(f, lambda s: s.pop("classifier.weight")), "missing classifier.weight"),
        (
            lambda f: weights(f, lambda s: s["classifier.weight"].fill_(float("nan"))),
            "classifier.weight has 320 of 320 values that are not finite",
        ),
        (
            lambda f: weights(f, lambda s: s.update({"x": torch.zeros(2, 2, dtype=torch.int8)})),
            "x holds int8: quantised weights",
        ),
    ],
)
def test_what_cannot_be_followed_is_one_line(
    spoil: Callable[[Path], Any], message: str, folder: Path, transformers: Any
) -> None:
    spoil(folder)
    with pytest.raises(UserError, match=message) as mistake:
        load_model(f"hf:{folder}")
    assert "\n" not in str(mistake.value)


def test_what_a_processor_does_not_say_is_given(folder: Path) -> None:
    drop_processor(folder)
    model = load_model(f"hf:{folder}", mean=HALF, std=HALF)
    assert (model.preprocessing.mean, model.preprocessing.crop) == (HALF, 28)


def test_settings_that_are_not_the_networks_own_change_nothing(folder: Path) -> None:
    before = load_model(f"hf:{folder}").record
    change(folder, num_labels=10**8, attn_implementation="somebody/kernel", dtype="float16")
    change(folder, _attn_implementation="somebody/kernel", pruned_heads={"0": [0]})
    assert load_model(f"hf:{folder}").record == before


def test_code_in_the_folder_is_not_run(folder: Path, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    for name in ("modeling", "configuration", "__init__"):
        (folder / f"{name}.py").write_text(f"open({str(canary)!r}, 'w').close()\n")
    load_model(f"hf:{folder}")
    change(folder, model_type="mine", auto_map={"AutoConfig": "configuration.C"})
    with pytest.raises(UserError):
        load_model(f"hf:{folder}")
    assert not canary.exists()


def test_without_transformers_it_says_what_to_install(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=r"not installed: pip install 'robustbench-twicing\[hf\]'"):
        load_model(f"hf:{saved}")


def test_a_repository_is_looked_for_in_the_cache_first(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def snapshot(name: str, local_files_only: bool = False, **others: Any) -> str:
        asked.append((name, local_files_only))
        return str(saved)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert load_model("hf:somebody/small-vit").record.model == "hf:somebody/small-vit"
    assert asked == [("somebody/small-vit", True)]


def test_a_repository_that_cannot_be_had_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    monkeypatch.setattr(hub, "urlopen", refuse)
    wrong = r"is no folder here, its weights are not in the local cache .*service not known\)"
    for place in ("somebody/small-vit", "my-vti"):
        with pytest.raises(UserError, match=f"^hf:{place} {wrong}"):
            load_model(f"hf:{place}")


@pytest.mark.parametrize("place", ["", "./nothing", "/no/such/folder", "a/b/c", "random:0"])
def test_what_is_no_folder_and_no_repository_is_said(place: str) -> None:
    with pytest.raises(UserError, match="is no folder; write hf:FOLDER"):
        load_model(f"hf:{place}")


def test_a_newcomer_comes_from_a_folder_to_a_table(
    saved: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "--model", f"hf:{saved}", "--data", "fashion-mnist:test1000"]
    chosen = ["--limit", "6", "--attacks", "clean,fgsm", "--eps", "8/255", "--device", "cpu"]
    assert main([*command, *chosen, "--out", str(tmp_path / "run"), "--notes", "full"]) == 0
    printed = capfd.readouterr().out
    assert "hf:small-vit" in printed
    assert main(["inspect", f"hf:{saved}"]) == 0
    assert "describes the network 'vit'" in capfd.readouterr().out
    assert "resized to 28 whatever their proportions" in printed
