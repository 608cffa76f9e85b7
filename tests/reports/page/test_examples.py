"""Adversarial examples: which are shown, and that they are what was kept."""

import io
import shutil
from base64 import b64decode
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from attacks import ATTACKS
from reports import merge, results
from reports.page.drawing.curve import Models
from reports.page.drawing.embedding import LARGEST_SIDE, embed_pixels
from reports.page.places import places
from reports.page.sections import examples
from reports.page.sections.class_names import class_name
from reports.page.sections.examples import Examples, find_examples, magnified, spread
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.imagenet import LabelSpaceRecord
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.adversarial import AdversarialStore, read_adversarial
from robustbench_twicing.records.manifest import DatasetRecord, Evaluation
from robustbench_twicing.records.run_folder import RunFolder
from tests.tiny import convnet, noise, run

BUDGETS = [Fraction(n, 255) for n in (1, 2, 4, 8, 16)]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """FGSM and noise at five budgets; three images of seven kept."""
    conditions = [clean()] + [
        ATTACKS[name].condition(eps) for name in ("fgsm", "noise") for eps in BUDGETS
    ]
    out = tmp_path_factory.mktemp("run") / "run"
    return run(convnet(), noise(7), conditions, out, batch_size=4, save_adversarial=3)


def found(*folders: RunFolder) -> Examples:
    runs = merge(folders)
    table = results(runs)
    return find_examples(runs, list(places(table)), Models.of(table, ""))


def decoded(uri: str) -> Image.Image:
    kind, _, content = uri.partition(";base64,")
    assert kind == "data:image/jpeg"
    return Image.open(io.BytesIO(b64decode(content)))


@pytest.mark.slow
def test_the_first_images_are_shown_under_the_strongest_attack(done: Run) -> None:
    examples = found(done.folder)
    assert (examples.pictures, examples.kept, examples.answers) == (9, 9, 9)
    assert examples.attacks == "FGSM"
    names = [example.image for example in examples.shown]
    assert names == ["image0.png", "image1.png", "image2.png"]
    for example in examples.shown:
        assert [line.row.label for line in example.lines] == ["convnet"]
        conditions = [column.condition for column in example.columns]
        assert conditions == ["fgsm@1/255", "fgsm@4/255", "fgsm@16/255"]


@pytest.mark.slow
def test_predictions_are_those_of_the_records(done: Run) -> None:
    records: Any = done.records().set_index(["image", "condition"])
    for example in found(done.folder).shown:
        (line,) = example.lines
        assert example.target == f"class {records.loc[example.image, 'clean']['target']}"
        names = ["clean", *(column.condition for column in example.columns)]
        for name, answer in zip(names, [line.clean, *line.attacked], strict=True):
            row = records.loc[example.image, name]
            assert answer.text == answer.full == f"class {row['prediction']}"
            assert answer.is_right == (row["rank"] == 0)


@pytest.mark.slow
def test_pictures_are_the_kept_pixels(done: Run) -> None:
    """Up to what JPEG does to noise."""
    store = AdversarialStore(done.folder.path / "adversarial")
    (path, *_) = store.files(["convnet", "tiny", "pixel", "fgsm@16/255"]).values()
    kept = read_adversarial(path)
    example = found(done.folder).shown[0]
    answer = example.lines[0].attacked[-1]
    pictures = (example.picture, answer.picture, answer.change)
    for uri, pixels in zip(
        pictures, (kept.x, kept.x_adv, magnified(kept.x, kept.x_adv)), strict=True
    ):
        seen = np.asarray(decoded(uri), dtype=float).transpose(2, 0, 1) / 255
        assert np.abs(seen - np.clip(pixels, 0, 1)).mean() < 0.06
    assert example.is_small


@pytest.mark.slow
def test_every_model_answers_for_the_same_images(done: Run, tmp_path: Path) -> None:
    """Another model of another run, of which no image was kept: answers, and no pictures."""
    conditions = [clean(), ATTACKS["fgsm"].condition(BUDGETS[0])]
    tasks = [make_task(noise(7), conditions)]
    other = evaluate_models(
        {"other": convnet(seed=1)}, tasks, out=tmp_path / "run", options=Options()
    )
    examples = found(done.folder, other.folder)
    assert (examples.pictures, examples.kept, examples.answers) == (9, 9, 18)
    records: Any = other.records().set_index(["image", "condition"])
    for example in examples.shown:
        own, line = example.lines
        assert all(answer.picture for answer in own.attacked)
        at_least, *others = line.attacked
        row = records.loc[example.image, "fgsm@1/255"]
        assert at_least.text == f"class {row['prediction']}"
        assert not at_least.picture
        assert not at_least.is_kept
        assert [answer.full for answer in others] == ["not run", "not run"]


def test_the_perturbation_is_magnified_around_grey() -> None:
    x = np.full((3, 2, 2), 0.2, np.float32)
    assert magnified(x, x + np.float32(0.01)) == pytest.approx(0.6, abs=1e-6)
    assert magnified(x, x) == pytest.approx(0.5)


def test_large_images_are_made_smaller_and_pixels_are_clipped() -> None:
    wide = np.full((3, 500, 1000), 1.7, np.float32)
    image = decoded(embed_pixels(wide))
    assert image.size == (LARGEST_SIDE, LARGEST_SIDE // 2)
    assert image.getextrema() == ((255, 255),) * 3


@pytest.mark.slow
def test_the_page_s_room_is_limited(done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = found(done.folder).shown
    pictures = [answer.picture + answer.change for answer in first.answers]
    room = len(first.picture) + len("".join(pictures[:2]))
    monkeypatch.setattr(examples, "MOST_BYTES", room + 1)
    cut = found(done.folder)
    assert [bool(answer.picture) for answer in cut.shown[0].answers] == [True, True, False]
    assert all(answer.is_kept for answer in cut.shown[0].answers)
    assert (len(cut.shown), cut.pictures, cut.kept) == (1, 2, 3)
    monkeypatch.undo()
    monkeypatch.setattr(examples, "MOST_IMAGES", 1)
    assert len(found(done.folder).shown) == 1


@pytest.mark.slow
def test_without_kept_images_there_are_no_examples(tmp_path: Path) -> None:
    conditions = [clean(), ATTACKS["fgsm"].condition(BUDGETS[0])]
    without = run(convnet(), noise(3), conditions, tmp_path / "run")
    assert found(without.folder).shown == []


@pytest.mark.slow
def test_only_an_attack_of_which_images_are_there_is_shown(done: Run, tmp_path: Path) -> None:
    shutil.copytree(done.folder.path, tmp_path / "run")
    for path in (tmp_path / "run" / "adversarial").rglob("fgsm*"):
        shutil.rmtree(path)
    columns = found(RunFolder.open(tmp_path / "run")).shown[0].columns
    assert [column.condition for column in columns] == [f"noise@{n}/255" for n in (1, 4, 16)]


@pytest.mark.slow
def test_a_damaged_file_is_named(done: Run, tmp_path: Path) -> None:
    shutil.copytree(done.folder.path, tmp_path / "run")
    (path,) = (tmp_path / "run").rglob("fgsm_16_255*/000001.npz")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UserError, match=r"000001\.npz is damaged"):
        found(RunFolder.open(tmp_path / "run"))


@pytest.mark.parametrize(
    ("count", "wanted"), [(1, [0]), (3, [0, 1, 2]), (5, [0, 2, 4]), (6, [0, 2, 5]), (0, [])]
)
def test_values_are_spread_from_first_to_last(count: int, wanted: list[int]) -> None:
    assert spread(list(range(count)), 3) == wanted


def evaluation(
    labelling: str, num_classes: int, classes: list[int] | None = None, space: str = ""
) -> Evaluation:
    labels = LabelSpaceRecord(space, 1, False, "", "") if space else None
    return Evaluation(
        "m",
        ModelRecord("m", details={"classes": classes}),
        Preprocessing(8, 8),
        DatasetRecord("val", "files", 1, "", labelling, num_classes, labels),
        {},
    )


@pytest.mark.parametrize(
    ("about", "index", "name"),
    [
        (evaluation("folders named by wnid", 1000), 281, "tabby (281)"),
        (evaluation("ImageNet-1k index in the file name", 1000), 0, "tench (0)"),
        (evaluation("folders named by wnid", 200, [281, 999]), 1, "toilet tissue (999)"),
        (evaluation("folders named by wnid", 200, [281, 999]), 2, "class 2"),
        (evaluation("folders named by wnid", 200, [281, 999]), -1, "class -1"),
        (evaluation("folders named by wnid", 200, space="imagenet-a"), 0, "stingray (6)"),
        (evaluation("Fashion-MNIST's own classes", 10), 9, "Ankle boot (9)"),
        (evaluation("Fashion-MNIST's own classes", 10), 10, "class 10"),
        (evaluation("ObjectNet's folders", 113, space="objectnet"), 7, "class 7"),
        (evaluation("class indices in an array", 1000), 281, "class 281"),
        (evaluation("folders named by wnid", 88), 5, "class 5"),
        (evaluation("folders named by wnid", 1000), 1000, "class 1000"),
    ],
)
def test_classes_have_names_where_these_are_known(about: Evaluation, index: int, name: str) -> None:
    assert class_name(index, about) == name
