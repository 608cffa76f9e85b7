"""Public bug reports about checkpoints, as real files of real size."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from robustbench_twicing.checkpoints.contents import find_weights
from robustbench_twicing.checkpoints.reading import read_checkpoint
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model
from tests.cases import BuildCase

pytestmark = pytest.mark.slow

TINY = "deit_tiny_patch16_224"
SAME = (TINY, "deit_tiny_twicing_patch16_224", "deit_tiny_neutreno_patch16_224")


@pytest.fixture(scope="session")
def cases(build_case: BuildCase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the cases h01 to h04."""
    folder = tmp_path_factory.mktemp("cases")
    for case in ("h01", "h02", "h03", "h04"):
        build_case(case, folder)
    return folder


def right(classifier: Classifier, folder: Path) -> int:
    """Images of a case that are classified right, of four."""
    data = open_dataset(folder / "val")
    assert len(data) == 4
    pixels = np.stack([data.pixels(index, classifier.preprocessing) for index in range(4)])
    with torch.inference_mode():
        logits = classifier(torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255)
    return int((logits.argmax(1) == torch.tensor(data.labels)).sum())


@pytest.mark.parametrize("name", SAME)
def test_h01_a_namespace_beside_the_weights(name: str, cases: Path) -> None:
    folder = cases / "h01_namespace_checkpoint"
    classifier = load_model(
        name, str(folder / "deit_tiny_namespace.pth"), arch_override=name != TINY
    )
    assert right(classifier, folder) == 4
    details = classifier.record.details
    assert details["epoch"] == 299
    assert details["max_accuracy"] == 72.2
    assert details["args"]["job_dir"] == "/ckpt/run"
    assert classifier.record.flags == (() if name == TINY else ("arch-override",))


def test_h01_another_name_than_the_files_own_is_refused(cases: Path) -> None:
    path = str(cases / "h01_namespace_checkpoint" / "deit_tiny_namespace.pth")
    with pytest.raises(
        UserError, match=rf"says it is {TINY} \(args\.model\), but deit_tiny_twicing"
    ):
        load_model("deit_tiny_twicing_patch16_224", path)


@pytest.mark.parametrize(
    ("file", "plain", "ema"),
    [
        ("timm_style.pth.tar", "state_dict", "state_dict_ema"),
        ("deit_style.pth", "model", "model_ema"),
    ],
)
def test_h02_both_kinds_of_weights_are_reachable_and_recorded(
    file: str, plain: str, ema: str, cases: Path
) -> None:
    folder = cases / "h02_ema_and_module_prefix"
    cases_: list[tuple[Any, int, str]] = [("auto", 0, plain), ("plain", 0, plain), ("ema", 4, ema)]
    for weights, expected, key in cases_:
        classifier = load_model(TINY, str(folder / file), weights=weights)
        assert right(classifier, folder) == expected
        assert classifier.record.weights == ("ema" if weights == "ema" else "plain")
        assert classifier.record.details["key"] == key
        assert any(repr(key) in note for note in classifier.record.notes)


def test_h03_positions_of_another_resolution_are_resampled(cases: Path) -> None:
    folder = cases / "h03_pos_embed_384_to_224"
    classifier = load_model(TINY, str(folder / "deit_tiny_384_pos_embed.pth"))
    assert right(classifier, folder) == 4
    assert any("from 577 to 197 tokens" in note for note in classifier.record.notes)
    positions = classifier.network.get_parameter("pos_embed")
    assert tuple(positions.shape) == (1, 197, 192)
    assert positions[0, 0, 10] == 7.0
    grid = positions[0, 1:].view(14, 14, 192)
    assert (grid[1:, :, 10] > grid[:-1, :, 10]).all()
    assert (grid[:, 1:, 11] > grid[:, :-1, 11]).all()
    torch.testing.assert_close(grid[:, :, 10], grid[:, :1, 10].expand(14, 14))
    torch.testing.assert_close(grid[:, :, 11], grid[:1, :, 11].expand(14, 14))


def test_h03_the_other_way_is_a_crop_of_384(cases: Path) -> None:
    folder = cases / "h03_pos_embed_384_to_224"
    classifier = load_model(TINY, str(folder / "deit_tiny_384_pos_embed.pth"), crop=384)
    assert classifier.preprocessing.resize == 438
    assert not any("resampled" in note for note in classifier.record.notes)
    raw = find_weights(read_checkpoint(folder / "deit_tiny_384_pos_embed.pth").content).state_dict
    assert torch.equal(classifier.network.get_parameter("pos_embed"), raw["pos_embed"])


@pytest.mark.parametrize("name", [*SAME, "timm:" + TINY, "deit_tiny_attnscale_patch16_224"])
def test_h04_featscale_keys_in_another_model_are_refused(name: str, cases: Path) -> None:
    path = str(cases / "h04_featscale_double_add" / "featscale_deit_tiny.pth")
    with pytest.raises(
        UserError,
        match=r"is a FeatScale DeiT .lamb1 and lamb2 in every block.*it fits deit_tiny_featscale",
    ):
        load_model(name, path)


def test_h04_the_released_form_of_featscale_is_used_and_said(cases: Path) -> None:
    folder = cases / "h04_featscale_double_add"
    name = "deit_tiny_featscale_patch16_224"
    classifier = load_model(name, str(folder / "featscale_deit_tiny.pth"))
    assert right(classifier, folder) == 4
    assert any("twice" in note for note in classifier.record.notes)


class Fixed(nn.Module):
    """Returns the same tensor whatever it is given."""

    def __init__(self, value: torch.Tensor) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: torch.Tensor, **_: object) -> torch.Tensor:
        return self.value


def test_h04_the_block_matches_the_released_numbers(cases: Path) -> None:
    folder = cases / "h04_featscale_double_add"
    arrays = {
        key: torch.from_numpy(value)
        for key, value in np.load(folder / "featscale_block.npz").items()
    }
    network: Any = build_model("featscale", depth=1)
    block = network.blocks[0].double()
    block.lamb1.data, block.lamb2.data = arrays["lamb1"], arrays["lamb2"]
    block.attn, block.mlp = Fixed(arrays["attn_out"]), Fixed(torch.zeros(1).double())
    out = block(arrays["x"])
    assert (out - arrays["expected_released"]).abs().max() < 1e-12
    assert (out - arrays["expected_single"]).abs().max() > 0.1


def test_published_weights_load_strictly(shared: Path) -> None:
    path = shared / "data" / f"{TINY}.safetensors"
    classifier = load_model(TINY, str(path))
    assert classifier.record.details["parameters"] == 5_717_416
    assert classifier.record.weights == "plain"
    assert len(classifier.record.checkpoint_sha256) == 64
    assert classifier.record.checkpoint == str(path)
