"""Corruptions that fail, and images that are not there: never scored, never left out in silence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from torch import Tensor

from attacks import corruption_condition
from attacks.corruptions.folder import Recipe, write_folder
from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.runner import Options, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.models.family import ModelRecord
from tests.attacks.corruptions.clean_photos import Stripes, photographs, stripes
from tests.robustbench_twicing.evaluation.test_runner_corruptions import CONDITIONS, rows, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return open_dataset(photographs(tmp_path_factory.mktemp("photos") / "clean"))


def replaced(**changed: Any) -> Condition:
    condition = corruption_condition("fog", 3)
    return replace(condition, images=Faulty(**changed))


@dataclass(frozen=True)
class Faulty:
    """A source that fails at some images; the others are black."""

    at: Sequence[int] = ()
    error: type[Exception] = ZeroDivisionError

    def pixels(self, data: Dataset, index: int, preprocessing: Any, *, seed: int) -> Any:
        """Black, or the failure."""
        if index in self.at:
            if self.error is BadImageError:
                raise BadImageError("/c/fog/3/x.JPEG", "is damaged")
            raise self.error("no luck")
        return np.zeros((224, 224, 3), np.uint8)

    def describe(self) -> dict[str, Any]:
        """Just the source."""
        return {"source": "made up", "side": 224}


@pytest.mark.parametrize(
    ("at", "workers"), [([1], 1), ([0, 1, 2], 1), ([0, 1, 2, 3, 4], 1), ([0, 1, 2], 2)]
)
def test_a_source_that_fails_is_an_error_row_and_stops_nothing_else(
    at: list[int], workers: int, data: Dataset, tmp_path: Path
) -> None:
    conditions = [clean(), replaced(at=at), CONDITIONS[2]]
    done = run(data, tmp_path / "run", conditions, workers=workers)
    failed = rows(done)["imagenet-c/fog/3"]
    assert (failed["status"], failed["n_images"]) == ("error", 5 - len(at))
    assert pd.isna(failed["top1"])
    assert rows(done)["imagenet-c/gaussian_noise/1"]["status"] == "ok"
    records = done.records()
    messages = records[records["status"] == "error"]["message"]
    assert len(messages) == len(at)
    assert messages.str.startswith("ZeroDivisionError: no luck (test_failing_corruptions.py:").all()


def test_a_users_mistake_is_said_without_its_place(data: Dataset, tmp_path: Path) -> None:
    done = run(data, tmp_path / "run", [replaced(at=[0], error=UserError)])
    assert done.records()["message"].tolist()[0] == "no luck"


def test_images_without_a_file_make_a_condition_incomplete(data: Dataset, tmp_path: Path) -> None:
    list(write_folder(data, tmp_path / "c", Recipe(("fog",), (3,))))
    gone = next((tmp_path / "c").rglob("*.JPEG"))
    gone.unlink()
    conditions = [
        clean(),
        corruption_condition("fog", 3, folder=tmp_path / "c"),
        corruption_condition("snow", 1, folder=tmp_path / "c"),
    ]
    done = run(data, tmp_path / "run", conditions)
    assert done.complete
    found = rows(done)
    assert found["clean"]["status"] == "ok"
    fog, snow = found["imagenet-c/fog/3"], found["imagenet-c/snow/1"]
    assert (fog["status"], fog["n_images"]) == ("incomplete", 4)
    assert (snow["status"], snow["n_images"]) == ("incomplete", 0)
    assert pd.isna(fog["top1"])
    assert fog["flags"] == "files-missing-1-of-5"
    assert snow["flags"] == "files-missing-5-of-5"
    records = done.records()
    (missing,) = records[(records["condition"] == fog["condition"]) & (records["rank"].isna())][
        "image"
    ]
    assert Path(missing).stem == gone.stem
    list(write_folder(data, tmp_path / "c", Recipe(("fog",), (3,))))
    conditions[1] = corruption_condition("fog", 3, folder=tmp_path / "c")
    with pytest.raises(UserError, match=r"images\.files is 4 there and 5 here; give the"):
        run(data, tmp_path / "run", conditions)


@pytest.mark.parametrize("policy", ["stop", "skip"])
def test_a_damaged_corrupted_file_is_handled_as_any_damaged_image(
    policy: str, data: Dataset, tmp_path: Path
) -> None:
    conditions = [clean(), replaced(at=[3], error=BadImageError)]
    if policy == "stop":
        with pytest.raises(BadImageError, match=r"/c/fog/3/x\.JPEG is damaged"):
            run(data, tmp_path / "run", conditions)
        return
    found = rows(run(data, tmp_path / "run", conditions, on_bad_image=policy))
    assert (found["clean"]["n_images"], found["clean"]["n_skipped"]) == (5, 0)
    fog = found["imagenet-c/fog/3"]
    assert (fog["status"], fog["n_images"], fog["n_skipped"]) == ("ok", 4, 1)


def test_an_image_whose_clean_file_is_damaged_is_skipped_everywhere_once(tmp_path: Path) -> None:
    folder = photographs(tmp_path / "clean")
    broken = sorted(folder.rglob("*.JPEG"))[1]
    broken.write_bytes(broken.read_bytes()[:500])
    data = open_dataset(folder)
    with pytest.raises(BadImageError, match=broken.name):
        run(data, tmp_path / "stopped")
    done = run(data, tmp_path / "run", on_bad_image="skip")
    for row in rows(done).values():
        assert (row["status"], row["n_images"], row["n_skipped"]) == ("ok", 4, 1)
    assert len(done.records()) == 5 * len(CONDITIONS)


def test_no_attack_precision_is_said_of_what_was_not_attacked(
    data: Dataset, tmp_path: Path
) -> None:
    found = rows(run(data, tmp_path / "run", CONDITIONS[1:4], attack_precision="bf16"))
    assert found["fgsm@1/255"]["flags"].split(";")[0] == "attack-in-bf16"
    assert found["imagenet-c/fog/3"]["flags"] == ""


def test_another_size_is_flagged(data: Dataset, tmp_path: Path) -> None:
    done = run(data, tmp_path / "run", [corruption_condition("fog", 3, side=64)])
    (row,) = rows(done).values()
    assert (row["status"], row["flags"]) == ("ok", "not-imagenet-c-64px")


@pytest.mark.parametrize(("side", "flags"), [(100, "not-imagenet-c-enlarged-100px"), (224, "")])
def test_small_images_that_are_enlarged_are_flagged(side: int, flags: str, tmp_path: Path) -> None:
    """Where they are corrupted, that is: clean and attacked images are what they are."""
    folder = tmp_path / "clean" / "n01440764"
    folder.mkdir(parents=True)
    for number in range(3):
        Image.new("RGB", (300, side), (9 * number, 80, 99)).save(folder / f"{number}.png")
    conditions = [clean(), corruption_condition("fog", 3)]
    found = rows(run(open_dataset(folder.parent), tmp_path / "run", conditions))
    assert [found[each.id]["flags"] for each in conditions] == ["", flags]


class Few(Stripes):
    """Ten classes."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits (N, 10)."""
        return super().forward(x)[:, :10]


@pytest.mark.parametrize(("told", "sizes"), [(10, {}), (None, {"num_classes": 10}), (None, {})])
def test_other_classes_than_imagenets_are_flagged(
    told: int | None, sizes: dict[str, int], data: Dataset, tmp_path: Path
) -> None:
    """Where data set or network tell how many they are; clean images are what they are."""
    ten = replace(data, num_classes=told, labels=tuple(range(len(data))))
    record = ModelRecord("few", details={"sizes": sizes})
    network = Classifier(Few(), stripes().preprocessing, record, normalize=False)
    tasks = [make_task(ten, [clean(), corruption_condition("fog", 3)])]
    out = tmp_path / "run"
    found = rows(evaluate_models({"few": network}, tasks, out=out, options=Options()))
    assert found["clean"]["flags"] == ""
    flag = "not-imagenet-c-10-classes" if told or sizes else ""
    assert found["imagenet-c/fog/3"]["flags"] == flag


class Dazzled(Stripes):
    """No number for a black image."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits, NaN where an image is black."""
        return super().forward(x) / (x.amax((1, 2, 3), keepdim=False)[:, None] > 0)


class Tight(Stripes):
    """No memory for more than two images."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels (N, 3, H, W) to logits."""
        if len(x) > 2:
            raise MemoryError
        return super().forward(x)


def classifier(network: Stripes) -> Classifier:
    return Classifier(network, stripes().preprocessing, ModelRecord("own"), normalize=False)


def test_logits_that_are_no_numbers_are_an_error_row(data: Dataset) -> None:
    conditions = {"clean": None, "imagenet-c/fog/3": replaced()}
    done = evaluate(classifier(Dazzled()), data, conditions)
    fog = rows(done)["imagenet-c/fog/3"]
    assert (fog["status"], rows(done)["clean"]["status"]) == ("error", "ok")
    records = done.records()
    (message,) = records[records["status"] == "error"]["message"].unique()
    assert message.startswith("the model's logits are not finite (NaN or infinity) in ")


def test_corrupted_batches_are_halved_as_any_other(data: Dataset) -> None:
    conditions = {"clean": None, CONDITIONS[1].id: CONDITIONS[1]}
    done = evaluate(classifier(Tight()), data, conditions)
    wanted = evaluate(classifier(Stripes()), data, conditions)
    assert {row["flags"] for row in rows(done).values()} == {"batch-halved"}
    for name in ("image", "condition", "pixels_sha256", "prediction", "rank", "clean_rank"):
        assert done.records()[name].tolist() == wanted.records()[name].tolist(), name
