"""`load_model`: what it records, what it refuses, and that it leaves no trace."""

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.state_dict import weights_sha256
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.resolve import resolve_model

TINY = "deit_tiny_patch16_224"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training file of DeiT-tiny with random weights."""
    path = tmp_path_factory.mktemp("tiny") / "checkpoint.pth"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = build_model("deit")
    torch.save({"model": network.state_dict(), "epoch": 7}, path)
    return path


@pytest.fixture(scope="session")
def state_dict(tiny: Path) -> dict[str, Tensor]:
    """Its weights."""
    weights: dict[str, Tensor] = torch.load(tiny, weights_only=True)["model"]
    return weights


def test_a_checkpoint_is_never_implied() -> None:
    with pytest.raises(
        UserError, match=r"no checkpoint .* path of a checkpoint, .*=pretrained .*=random:0"
    ):
        load_model(TINY)


@pytest.mark.slow
def test_the_record_says_everything(tiny: Path, state_dict: dict[str, Tensor]) -> None:
    classifier = load_model("deit_sharp_tiny_patch16_224[10-12]", tiny)
    record = classifier.record
    assert record.model == "deit_tiny_twicing_patch16_224[10-12]"
    assert record.family == "twicing"
    assert record.checkpoint == str(tiny)
    assert record.weights == "plain"
    assert record.weights_sha256 == weights_sha256(state_dict)
    assert record.flags == ()
    assert record.details["key"] == "model"
    assert record.details["container"] == "torch-zip"
    assert record.details["epoch"] == 7
    assert record.details["parameters"] == 5_717_416
    assert record.details["sizes"]["layers"] == (9, 10, 11)
    assert any("does not name its architecture" in note for note in record.notes)
    json.dumps(record.details)


@pytest.mark.slow
def test_the_classifier_is_the_network_behind_its_normalisation(
    tiny: Path, state_dict: dict[str, Tensor]
) -> None:
    classifier = load_model(TINY, str(tiny), mean=(0.1, 0.2, 0.3), std=(0.4, 0.5, 0.6))
    network = build_model("deit")
    network.load_state_dict(state_dict)
    x = torch.rand(1, 3, 224, 224)
    normal = (x - torch.tensor((0.1, 0.2, 0.3)).view(3, 1, 1)) / torch.tensor((0.4, 0.5, 0.6)).view(
        3, 1, 1
    )
    with torch.inference_mode():
        assert torch.equal(classifier(x), network(normal))
    assert not classifier.training
    assert not any(parameter.requires_grad for parameter in classifier.parameters())
    assert any("mean (0.1, 0.2, 0.3) instead of" in note for note in classifier.record.notes)


@pytest.mark.slow
def test_global_state_is_as_before(tiny: Path) -> None:
    for checkpoint in (str(tiny), "random:5"):
        torch.manual_seed(3)
        before, allowed = torch.random.get_rng_state(), set(torch.serialization.get_safe_globals())
        load_model(TINY, checkpoint)
        assert torch.equal(torch.random.get_rng_state(), before)
        assert set(torch.serialization.get_safe_globals()) == allowed
        assert torch.get_default_dtype() == torch.float32


@pytest.mark.slow
def test_random_weights_depend_on_the_seed_alone_and_carry_a_flag() -> None:
    records = []
    for caller, checkpoint in ((0, "random:1"), (1, "random:1"), (0, "random:2")):
        torch.manual_seed(caller)
        records.append(load_model(TINY, checkpoint).record)
    assert records[0].weights_sha256 == records[1].weights_sha256
    assert records[0].weights_sha256 != records[2].weights_sha256
    assert records[0].flags == ("random-weights",)
    assert records[0].checkpoint == "random:1"
    assert records[0].checkpoint_sha256 == ""
    assert "not been trained" in records[0].notes[0]


@pytest.mark.parametrize("text", ["random", "random:", "random:x", "random:-1", f"random:{2**63}"])
def test_a_random_checkpoint_needs_a_seed(text: str) -> None:
    with pytest.raises(UserError, match="write it like random:0"):
        load_model(TINY, text)


@pytest.mark.parametrize("checkpoint", ["random:0", "pretrained"])
def test_there_is_no_ema_of_what_was_never_averaged(checkpoint: str) -> None:
    with pytest.raises(UserError, match="have no EMA"):
        load_model(TINY, checkpoint, weights="ema")


@pytest.mark.slow
def test_crop_is_the_input_size_and_resize_follows(tiny: Path) -> None:
    classifier = load_model(TINY, str(tiny), crop=96)
    assert (classifier.preprocessing.crop, classifier.preprocessing.resize) == (96, 109)
    assert classifier(torch.rand(1, 3, 96, 96)).shape == (1, 1000)
    notes = " ".join(classifier.record.notes)
    assert "from 197 to 37 tokens" in notes
    assert "crop 96 instead of 224, resize 109 instead of 256" in notes
    both = load_model(TINY, str(tiny), crop=96, resize=96).preprocessing
    assert (both.crop, both.resize) == (96, 96)
    with pytest.raises(UserError, match="multiple of patch_size 16"):
        load_model(TINY, str(tiny), crop=100)
    with pytest.raises(UserError, match="resize must not be smaller"):
        load_model(TINY, str(tiny), resize=100)


@pytest.mark.slow
def test_crop_works_for_fan_and_for_networks_of_any_input_size() -> None:
    fan = load_model("fan_tiny_12_p16_224", "random:0", crop=64)
    assert fan.record.details["sizes"]["img_size"] == 64
    assert fan(torch.rand(1, 3, 64, 64)).shape == (1, 1000)
    resnet = load_model("timm:resnet10t", "random:0", crop=64)
    assert resnet(torch.rand(1, 3, 64, 64)).shape == (1, 1000)
    vit = load_model("timm:deit_tiny_patch16_224", "random:0", crop=64)
    assert vit(torch.rand(1, 3, 64, 64)).shape == (1, 1000)


@pytest.mark.slow
def test_classes_of_ones_own_and_subsets_of_them(
    tmp_path: Path, state_dict: dict[str, Tensor]
) -> None:
    own = {**state_dict, "head.weight": torch.ones(10, 192), "head.bias": torch.arange(10.0)}
    path = tmp_path / "own.pth"
    torch.save(own, path)
    with pytest.raises(UserError, match=r"has 10 classes .* built for 1000; --num-classes 10 fits"):
        load_model(TINY, str(path))
    classifier = load_model(TINY, str(path), num_classes=10, classes=[9, 2])
    x = torch.rand(1, 3, 224, 224)
    whole = load_model(TINY, str(path), num_classes=10)
    assert torch.equal(classifier(x), whole(x)[:, [9, 2]])
    wrong: list[list[int]] = [[10], [-1], []]
    for classes in wrong:
        with pytest.raises(UserError, match="among the 10 logits"):
            load_model(TINY, str(path), num_classes=10, classes=classes)


@pytest.mark.slow
def test_training_at_another_input_size_is_said(
    tmp_path: Path, state_dict: dict[str, Tensor]
) -> None:
    content = {"model": state_dict, "args": {"model": TINY, "input_size": 384}}
    torch.save(content, tmp_path / "a.pth")
    notes = load_model(TINY, str(tmp_path / "a.pth")).record.notes
    assert notes == (
        "The file was trained at input size 384 (args.input_size) and is evaluated at 224.",
    )


@pytest.mark.slow
def test_the_name_is_checked_against_the_file(
    tmp_path: Path, state_dict: dict[str, Tensor]
) -> None:
    path = str(tmp_path / "a.pth")
    torch.save({"state_dict": state_dict, "arch": "deit_sharp_tiny_patch16_224"}, path)
    assert load_model("deit_tiny_twicing_patch16_224", path).record.flags == ()
    with pytest.raises(UserError, match=r"says it is deit_sharp_tiny_patch16_224 \(arch\)"):
        load_model(TINY, path)
    overridden = load_model(TINY, path, arch_override=True).record
    assert overridden.flags == ("arch-override",)
    assert overridden.model == TINY


@pytest.mark.slow
def test_a_device_that_is_not_there_is_refused(tiny: Path) -> None:
    with pytest.raises(UserError, match=r"--device 'gpu' is unknown. Known: auto, cpu, cuda"):
        load_model(TINY, str(tiny), device="gpu")
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="this machine has no such CUDA device"):
            load_model(TINY, str(tiny), device="cuda")
        assert load_model(TINY, str(tiny), device="auto").std.device.type == "cpu"


@pytest.mark.slow
def test_normalize_is_for_user_code_alone(tiny: Path) -> None:
    with pytest.raises(UserError, match="normalize is for your own code"):
        load_model(TINY, str(tiny), normalize=((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)))


@pytest.mark.slow
def test_family_facts_that_change_numbers_are_said() -> None:
    record = load_model("deit_tiny_featscale_patch16_224", "random:0").record
    assert any("twice" in note for note in record.notes)
    record = load_model("deit_tiny_neutreno_patch16_224", "random:0").record
    assert any("0.6" in note for note in record.notes)
    assert resolve_model("featscale_small_12").family == "featscale"
