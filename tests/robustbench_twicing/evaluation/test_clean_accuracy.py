"""The probe counts answers in the labels of the images."""

from pathlib import Path

import pytest
import torch

from robustbench_twicing import load_model
from robustbench_twicing.data.imagenet import subset_indices, wnids
from robustbench_twicing.data.loader import to_tensor
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.evaluation.clean_accuracy import probe
from tests.palette import picture

MODEL = "timm:test_vit"


@pytest.mark.slow
def test_images_of_200_classes_are_answered_in_them(tmp_path: Path) -> None:
    model = load_model(MODEL, "random:0")
    checkpoint = tmp_path / "weights.pth"
    torch.save(model.network.state_dict(), checkpoint)
    file = tmp_path / "any.png"
    file.write_bytes(picture(500))
    plain = open_dataset(_folder(tmp_path / "plain", 0, file))
    pixels = plain.pixels(0, model.preprocessing)[None].copy()
    indices = list(subset_indices("imagenet-a"))
    best = indices[int(model(to_tensor(pixels, torch.device("cpu")))[0, indices].argmax())]
    for index, right in ((best, 1), (indices[(indices.index(best) + 1) % 200], 0)):
        data = open_dataset(f"imagenet-a={_folder(tmp_path / str(index), index, file)}")
        found = probe(str(checkpoint), MODEL, "plain", data, device="cpu")
        assert (found.correct, found.images) == (right, 1)


def _folder(root: Path, index: int, file: Path) -> Path:
    (root / wnids()[index]).mkdir(parents=True)
    (root / wnids()[index] / "x.png").write_bytes(file.read_bytes())
    return root
