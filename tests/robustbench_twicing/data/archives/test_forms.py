"""The same images in any form give the same records, bit for bit."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from robustbench_twicing import evaluate
from robustbench_twicing.data.archives import index
from robustbench_twicing.data.crop_cache import cache_crops
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.image_maker import Maker
from robustbench_twicing.data.loader import load_batches
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.data.summary import survey
from robustbench_twicing.errors import UserError
from tests.robustbench_twicing.data.archives.conftest import (
    NAMES,
    member,
    write_parquet,
    write_tar,
)
from tests.tiny import convnet, text

PACKED = ("tar", "parquet", "webdataset")
CROP = Preprocessing(crop=40, resize=48)


@pytest.fixture(scope="module")
def data(forms: dict[str, str]) -> dict[str, Dataset]:
    return {
        form: open_dataset(forms[form], classes=forms["classes"]) for form in ("folder", *PACKED)
    }


@pytest.fixture(scope="module")
def records(data: dict[str, Dataset], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Clean and attacked records of the folder, as text."""
    return {"folder": evaluated(data["folder"], tmp_path_factory.mktemp("runs"))}


def evaluated(data: Dataset, folder: Path) -> str:
    conditions = ["clean", "pgd@4/255", "imagenet-c/fog/3"]
    run = evaluate(convnet(), data, conditions, out=folder / "run")
    return text(run.records().drop(columns="dataset"))


@pytest.mark.parametrize("form", PACKED)
def test_ids_labels_fingerprint_and_records_are_those_of_the_folder(
    form: str, data: dict[str, Dataset], records: dict[str, str], tmp_path: Path
) -> None:
    folder, packed = data["folder"], data[form]
    assert packed.ids == folder.ids == NAMES
    assert packed.labels == folder.labels
    assert packed.num_classes == folder.num_classes
    assert packed.fingerprint == folder.fingerprint
    assert packed.skipped == ()
    assert evaluated(packed, tmp_path) == records["folder"]


@pytest.mark.parametrize("form", PACKED)
def test_every_pixel_and_every_fact_is_that_of_the_file(
    form: str, data: dict[str, Dataset]
) -> None:
    for packed in (data[form], pickle.loads(pickle.dumps(data[form]))):
        for order in (range(6), (5, 0, 3, 3, 1)):
            for position in order:
                np.testing.assert_array_equal(
                    packed.pixels(position, CROP), data["folder"].pixels(position, CROP)
                )
    first, second = survey(data["folder"], full=True), survey(data[form], full=True)
    assert first == second
    assert (first.rotated, first.turned) == (["c1/a.jpg", "c1/z.jpg", "c4/f.jpg"], ["c3/e.tif"])
    assert data[form].select([4, 1]).fingerprint == data["folder"].select([4, 1]).fingerprint


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tar", "parquet"])
def test_processes_read_the_same_archive(form: str, data: dict[str, Dataset]) -> None:
    def batches(workers: int) -> Iterator[bytes]:
        made = load_batches(
            Maker(data[form], CROP), range(2), batch_size=4, skip_bad=False, workers=workers
        )
        return (batch.pixels.tobytes() for batch in made)

    assert list(batches(2)) == list(batches(1))


@pytest.mark.parametrize("form", PACKED)
def test_crops_are_cached(form: str, data: dict[str, Dataset], tmp_path: Path) -> None:
    cached = cache_crops(data[form], tmp_path)
    wanted = [data["folder"].pixels(position, CROP).tobytes() for position in range(6)]
    for _ in range(2):
        assert [cached.pixels(position, CROP).tobytes() for position in range(6)] == wanted
    assert len(list(tmp_path.glob("*/crops.bin"))) == 1


def test_what_was_read_once_is_not_read_again(
    forms: dict[str, str], data: dict[str, Dataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_write", None)
    for form in PACKED:
        again = open_dataset(forms[form], classes=forms["classes"])
        assert again.fingerprint == data[form].fingerprint


def test_a_damaged_or_missing_cache_is_made_anew(
    forms: dict[str, str],
    data: dict[str, Dataset],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("ROBUSTBENCH_TWICING_CACHE", str(tmp_path / "cache"))
    for step in ("new", "cut", "flipped", "no folder"):
        if step == "no folder":
            for file in (tmp_path / "cache").iterdir():
                file.unlink()
            (tmp_path / "cache").rmdir()
            (tmp_path / "cache").write_text("")
        for file in (tmp_path / "cache").glob("*"):
            content = bytearray(file.read_bytes())
            content[len(content) // 4] ^= 1
            file.write_bytes(content if step == "flipped" else content[:-9])
        again = open_dataset(forms["tar"], classes=forms["classes"])
        assert again.fingerprint == data["tar"].fingerprint
    monkeypatch.setenv("ROBUSTBENCH_TWICING_CACHE", "~nobody-of-this-name")
    again = open_dataset(forms["tar"], classes=forms["classes"])
    assert again.fingerprint == data["tar"].fingerprint
    warnings = [line for line in caplog.messages if "photos.tar is read anew" in line]
    no_folder, no_home = warnings
    assert no_folder.startswith(f"{tmp_path / 'cache'} cannot be written to: ")
    assert no_home.startswith("~nobody-of-this-name: ")


def test_known_sets_are_read_from_archives(tmp_path: Path, pictures: dict[str, bytes]) -> None:
    content = pictures["c0/b.png"]
    names = ["val/n01440764/x.png", "val/n01443537/y.png"]
    tar = write_tar(tmp_path / "imagenet.tar", [member(name, content) for name in names])
    write_parquet(
        tmp_path / "hf" / "validation-00000-of-00014.parquet",
        [{"bytes": content, "path": name.rpartition("/")[2]} for name in names],
        label=["n01440764", "n01443537"],
    )
    for path in (tar, tmp_path / "hf"):
        dataset = open_dataset(f"imagenet={path}")
        assert (dataset.name, dataset.labels, dataset.num_classes) == ("imagenet", (0, 1), 1000)
    assert "1 of 14 parts are here" in open_dataset(tmp_path / "hf").notes[-1]
    with pytest.raises(UserError, match=r"should be at .*gone.*not a folder, \.tar or \.parquet"):
        open_dataset(f"imagenet-a={tmp_path / 'gone.tar'}")
