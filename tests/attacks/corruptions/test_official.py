"""Reading ImageNet-C's folders: layouts, matching by class and name, what is missing."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from attacks import corruption_condition
from attacks.corruptions.cell_files import FolderFiles
from attacks.corruptions.layout import RECORD
from attacks.corruptions.official import OfficialImages, open_official
from reports import results
from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.decoding import BadImageError
from robustbench_twicing.data.imagenet_c import Cell
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import MissingImageError, UnreadableError, UserError
from robustbench_twicing.models.family import ModelRecord
from tests.attacks.corruptions.clean_photos import WNIDS, photographs, read
from tests.tiny import ConvNet

FOG = Cell("fog", 3)
MODEL = Preprocessing(crop=224, resize=256)


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    return open_dataset(photographs(tmp_path / "clean"))


def files(folder: Path, data: Dataset, *, side: int = 224, ending: str = ".JPEG") -> Path:
    """A flat image of its own shade for every clean image; returns the folder."""
    for index, name in enumerate(data.ids):
        path = (folder / name).with_suffix(ending)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (side, side), (20 * index, 99, 7)).save(path, quality=100)
    return folder


@pytest.mark.parametrize("below", ["fog/3", "weather/fog/3"])
def test_both_layouts_are_read_and_nothing_is_resized_or_cropped(
    below: str, data: Dataset, tmp_path: Path
) -> None:
    root = tmp_path / "c"
    folder = files(root / below, data)
    source = open_official(root, FOG)
    assert (source.source, source.files, source.folder) == ("official", 5, FolderFiles(folder))
    for index, name in enumerate(data.ids):
        found = source.pixels(data, index, Preprocessing(crop=224, resize=300), seed=9)
        np.testing.assert_array_equal(found, read(folder / name))
    assert source.missing(data) == 0


def test_a_larger_model_gets_the_file_resized(data: Dataset, tmp_path: Path) -> None:
    folder = files(tmp_path / "c" / "fog" / "3", data)
    pixels = np.random.default_rng(0).integers(0, 256, (224, 224, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / data.ids[0], quality=95)
    large = Preprocessing(crop=256, resize=300, interpolation="bicubic")
    found = open_official(tmp_path / "c", FOG).pixels(data, 0, large, seed=0)
    with Image.open(folder / data.ids[0]) as image:
        np.testing.assert_array_equal(found, image.resize((256, 256), Image.Resampling.BICUBIC))


def test_images_are_matched_by_class_and_name_whatever_the_ending(
    data: Dataset, tmp_path: Path
) -> None:
    folder = files(tmp_path / "c" / "fog" / "3", data, ending=".png")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "a.png").write_bytes(b"x")
    (folder / WNIDS[0] / "README.txt").write_text("x")
    (folder / WNIDS[0] / "._a.png").write_bytes(b"x")
    source = open_official(tmp_path / "c", FOG)
    assert source.files == 5
    assert source.pixels(data, 2, MODEL, seed=0)[0, 0, 0] == 40
    other = data.select([3, 1])
    assert source.pixels(other, 0, MODEL, seed=0)[0, 0, 0] == 60


def test_two_files_of_one_image_are_refused(data: Dataset, tmp_path: Path) -> None:
    folder = files(tmp_path / "c" / "fog" / "3", data)
    (folder / data.ids[1]).with_suffix(".png").write_bytes(b"x")
    with pytest.raises(UserError, match=r"fog/3 has .*\.JPEG and .*\.png, which are the same"):
        open_official(tmp_path / "c", FOG)


@pytest.mark.slow
def test_a_folder_that_was_copied_over_is_flagged_in_the_results(
    data: Dataset, tmp_path: Path
) -> None:
    root, names = tmp_path / "c", ("fog", "snow", "frost")
    for name in names:
        files(root / name / "3", data)
    Image.new("RGB", (224, 224)).save(root / "frost" / "3" / data.ids[0])
    model = Classifier(ConvNet(1000), MODEL, ModelRecord("convnet"))
    shown = [corruption_condition(name, 3, folder=root) for name in names]
    done = evaluate(model, data, {each.id: each for each in shown})
    found = results(done.folder).set_index("condition")["flags"]
    assert list(found) == [f"same-images-as-imagenet-c/{name}/3" for name in ("snow", "fog")] + [""]


def test_a_flat_clean_folder_is_matched_by_its_labels(data: Dataset, tmp_path: Path) -> None:
    files(tmp_path / "c" / "fog" / "3", data)
    flat = tmp_path / "flat"
    flat.mkdir()
    lines = ["file,wnid"]
    for name in data.ids:
        wnid, _, file = name.partition("/")
        (flat / file).write_bytes((tmp_path / "clean" / name).read_bytes())
        lines.append(f"{file},{wnid}")
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    own = open_dataset(flat, labels=tmp_path / "labels.csv")
    source = open_official(tmp_path / "c", FOG)
    assert source.missing(own) == 0
    for index, name in enumerate(own.ids):
        place = [each.rpartition("/")[2] for each in data.ids].index(name)
        shade = source.pixels(own, index, MODEL, seed=0)[0, 0, 0]
        assert shade == 20 * place


@pytest.mark.parametrize("left", ["nothing", "an empty folder"])
def test_a_folder_that_goes_away_leaves_no_image_missing(
    left: str, data: Dataset, tmp_path: Path
) -> None:
    """As a mount that is lost during the work: it ends the run, and no record is made of it."""
    folder = files(tmp_path / "c" / "fog" / "3", data)
    source = open_official(tmp_path / "c", FOG)
    folder.rename(tmp_path / "elsewhere")
    if left != "nothing":
        folder.mkdir()
    with pytest.raises(UnreadableError, match=r"fog/3 (cannot be read|had 5 images when it was)"):
        source.pixels(data, 0, MODEL, seed=0)


def test_what_is_missing_is_counted_and_named(data: Dataset, tmp_path: Path) -> None:
    folder = files(tmp_path / "c" / "fog" / "3", data)
    (folder / data.ids[1]).unlink()
    source = open_official(tmp_path / "c", FOG)
    assert (source.missing(data), source.files) == (1, 4)
    with pytest.raises(MissingImageError) as caught:
        source.pixels(data, 1, MODEL, seed=0)
    assert str(caught.value) == f"{folder}: {data.ids[1].rpartition('.')[0]} is not there"
    absent = open_official(tmp_path / "c", Cell("snow", 1))
    assert (absent.missing(data), absent.files, absent.folder) == (5, 0, None)
    with pytest.raises(MissingImageError, match=r"c has no folder for imagenet-c/snow/1"):
        absent.pixels(data, 0, MODEL, seed=0)


def test_files_of_another_size_are_not_imagenet_c(data: Dataset, tmp_path: Path) -> None:
    files(tmp_path / "c" / "fog" / "3", data, side=299)
    with pytest.raises(BadImageError, match="is 299 x 299 pixels, not 224 x 224 as in this folder"):
        open_official(tmp_path / "c", FOG).pixels(data, 0, MODEL, seed=0)
    assert open_official(tmp_path / "c", FOG).other_size() == "299 x 299"
    files(tmp_path / "right" / "fog" / "3", data)
    assert open_official(tmp_path / "right", FOG).other_size() == ""


@pytest.mark.parametrize(
    ("record", "source", "side"),
    [
        ({"jpeg": True, "seed": 0}, "generated-jpeg85", 224),
        ({"jpeg": False, "side": 64}, "generated-memory", 64),
    ],
)
def test_a_folder_of_our_own_is_never_called_official(
    record: dict[str, object], source: str, side: int, data: Dataset, tmp_path: Path
) -> None:
    files(tmp_path / "c" / "fog" / "3", data, side=side)
    (tmp_path / "c" / RECORD).write_text(json.dumps(record))
    condition = corruption_condition("fog", 3, folder=tmp_path / "c")
    assert isinstance(condition.images, OfficialImages)
    about = condition.images.describe()
    assert (about["source"], about["side"]) == (source, side)
    assert source in condition.notes[0]
    assert condition.images.pixels(data, 0, MODEL, seed=0).shape == (224, 224, 3)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"seed": 0}'])
def test_a_damaged_record_is_refused(text: str, data: Dataset, tmp_path: Path) -> None:
    files(tmp_path / "c" / "fog" / "3", data)
    (tmp_path / "c" / RECORD).write_text(text)
    with pytest.raises(UserError, match=r"corrupted\.json is (damaged|not JSON)"):
        open_official(tmp_path / "c", FOG)


def test_a_condition_that_is_there_twice_is_refused(data: Dataset, tmp_path: Path) -> None:
    files(tmp_path / "c" / "fog" / "3", data)
    files(tmp_path / "c" / "weather" / "fog" / "3", data)
    with pytest.raises(UserError, match="are the same condition; remove one of them"):
        open_official(tmp_path / "c", FOG)


def test_the_manifest_notices_a_changed_folder_and_not_a_moved_one(
    data: Dataset, tmp_path: Path
) -> None:
    folder = files(tmp_path / "c" / "fog" / "3", data)
    before = open_official(tmp_path / "c", FOG).describe()
    (tmp_path / "c").rename(tmp_path / "moved")
    assert open_official(tmp_path / "moved", FOG).describe() == before
    folder = tmp_path / "moved" / "fog" / "3"
    (folder / data.ids[0]).rename(folder / WNIDS[0] / "other.JPEG")
    after = open_official(tmp_path / "moved", FOG).describe()
    assert after != before
    assert after["files"] == before["files"]
