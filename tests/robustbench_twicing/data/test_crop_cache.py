"""The cache hands out what decoding would, or decodes."""

import errno
import logging
import os
import pickle
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from robustbench_twicing import evaluate
from robustbench_twicing.data import crop_cache as stores
from robustbench_twicing.data.crop_cache import CachedFiles, CropStore, cache_crops
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.data.folders.image_files import FileImages
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.files.stamp import Stamp
from tests.tiny import convnet, noise, text

LARGE = Preprocessing(crop=40, resize=48)
SMALL = Preprocessing(crop=7, resize=8, interpolation="bilinear")


@pytest.fixture
def photos(tmp_path: Path) -> Dataset:
    """Six noisy JPEG files of two classes."""
    draw = np.random.default_rng(0)
    for number in range(6):
        path = tmp_path / "photos" / f"{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 256, (50, 60, 3), np.uint8)).save(path)
    (tmp_path / "classes.txt").write_text("0\n1\n2\n3\n4\n")
    return open_dataset(str(tmp_path / "photos"), classes=str(tmp_path / "classes.txt"))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Positions of the images that were decoded."""
    positions: list[int] = []
    plain = FileImages.picture

    def picture(self: FileImages, index: int) -> Image.Image:
        positions.append(index)
        return plain(self, index)

    monkeypatch.setattr(FileImages, "picture", picture)
    return positions


def crops(data: Dataset, *preprocessing: Preprocessing) -> list[bytes]:
    return [data.pixels(index, each).tobytes() for each in preprocessing for index in range(6)]


def test_an_image_is_decoded_once_for_each_preprocessing(
    photos: Dataset, tmp_path: Path, decoded: list[int]
) -> None:
    wanted = crops(photos, LARGE, SMALL)
    decoded.clear()
    assert crops(cache_crops(photos, tmp_path / "cache"), LARGE, SMALL) == wanted
    assert decoded == [*range(6), *range(6)]
    assert crops(cache_crops(photos, tmp_path / "cache"), LARGE, SMALL) == wanted
    assert len(decoded) == 12
    assert len(list((tmp_path / "cache").iterdir())) == 2
    other = Preprocessing(crop=40, resize=48, interpolation="nearest")
    assert crops(cache_crops(photos, tmp_path / "cache"), other) == crops(photos, other)


def test_a_changed_file_is_decoded_again(photos: Dataset, tmp_path: Path) -> None:
    """Same size, other content, other time: what a careless copy makes."""
    cached = cache_crops(photos, tmp_path / "cache")
    crops(cached, LARGE)
    assert isinstance(photos.images, FileImages)
    sizes = [file.size for file in photos.images.files]
    large, small = sizes.index(max(sizes)), sizes.index(min(sizes))
    path, other = (Path(str(photos.images.files[index])) for index in (large, small))
    path.write_bytes(other.read_bytes() + bytes(sizes[large] - sizes[small]))
    found = cached.pixels(large, LARGE).tobytes()
    assert found == photos.pixels(large, LARGE).tobytes() == photos.pixels(small, LARGE).tobytes()


def test_another_data_set_has_its_own_crops(photos: Dataset, tmp_path: Path) -> None:
    turned = photos.select(range(5, -1, -1))
    crops(cache_crops(photos, tmp_path / "cache"), LARGE)
    assert crops(cache_crops(turned, tmp_path / "cache"), LARGE) == crops(turned, LARGE)
    assert cache_crops(photos, tmp_path / "cache").select([3]).pixels(0, LARGE).tobytes() == (
        photos.pixels(3, LARGE).tobytes()
    )


@pytest.mark.slow
@given(data=st.data())
def test_a_damaged_cache_is_never_believed(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A flipped bit, zeros where a page was not written, or a file cut short: decoded anew."""
    folder = tmp_path_factory.mktemp("store")
    store = CropStore(folder, 40)
    draw = np.random.default_rng(data.draw(st.integers(0, 99)))
    crop = draw.integers(0, 256, (40, 40, 3), np.uint8)
    store.write(2, crop, Stamp(10, 20, 0, 7))
    name = data.draw(st.sampled_from([stores.CROPS, stores.ENTRIES]))
    content = bytearray((folder / name).read_bytes())
    unit = 2 * (len(content) // 3)
    place = data.draw(st.integers(unit, len(content) - 1))
    match data.draw(st.sampled_from(["flip", "zero", "cut"])):
        case "flip":
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        case "zero":
            content[unit:] = bytes(len(content) - unit)
        case _:
            del content[place:]
    (folder / name).write_bytes(content)
    assert CropStore(folder, 40).read(2, Stamp(10, 20, 0, 7)) is None
    store.write(2, crop, Stamp(10, 20, 0, 7))
    found = store.read(2, Stamp(10, 20, 0, 7))
    assert found is not None
    assert found.tobytes() == crop.tobytes()
    store.close()


def test_what_was_never_stored_is_not_there(tmp_path: Path) -> None:
    store = CropStore(tmp_path, 8)
    assert store.read(0, Stamp(0, 0, 0, 7)) is None
    store.write(5, np.zeros((8, 8, 3), np.uint8), Stamp(1, 1, 0, 7))
    assert store.read(2, Stamp(0, 0, 0, 7)) is None
    assert store.read(5, Stamp(1, 2, 0, 7)) is None
    assert store.read(5, Stamp(1, 1, 2, 7)) is None
    assert store.read(5, Stamp(1, 1, 0, 7)) is not None
    assert store.read(5, Stamp(1, 1, 0, 2**64 - 1)) is not None  # as another mount numbers it


def fill(data: Dataset, start: int) -> None:
    """Cache all crops, beginning somewhere."""
    for index in range(6):
        data.pixels((start + index) % 6, LARGE)


@pytest.mark.slow
def test_processes_share_a_cache(photos: Dataset, tmp_path: Path, decoded: list[int]) -> None:
    cached = cache_crops(photos, tmp_path / "cache")
    cached.pixels(0, LARGE)  # files are open here and not sent along
    context = get_context("forkserver")
    processes = [context.Process(target=fill, args=(cached, start)) for start in (0, 3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    wanted = crops(photos, LARGE)
    decoded.clear()
    assert crops(pickle.loads(pickle.dumps(cached)), LARGE) == wanted
    assert decoded == []


def test_a_full_disk_ends_the_storing_not_the_run(
    photos: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    cached = cache_crops(photos, tmp_path / "cache")
    with caplog.at_level(logging.WARNING):
        assert crops(cached, LARGE) == crops(photos, LARGE)
    (message,) = caplog.messages
    assert "cannot be used (No space left on device); images that are not in" in message


def test_a_cache_that_cannot_be_read_is_no_cache(
    photos: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    crops(cache_crops(photos, tmp_path / "cache"), LARGE)

    def stale(*arguments: object) -> int:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    monkeypatch.setattr(os, "preadv", stale)
    with caplog.at_level(logging.WARNING):
        assert crops(cache_crops(photos, tmp_path / "cache"), LARGE) == crops(photos, LARGE)
    (message,) = caplog.messages
    assert "cannot be used (Stale file handle)" in message


def test_a_folder_that_cannot_be_made_is_one_line(photos: Dataset, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"--cache .*file/cache cannot be made: Not a directory"):
        cache_crops(photos, tmp_path / "file" / "cache")


def test_arrays_are_not_cached(tmp_path: Path) -> None:
    data = noise(3)
    assert cache_crops(data, tmp_path / "cache") is data
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_an_evaluation_with_a_cache_has_the_same_records(
    photos: Dataset, tmp_path: Path, decoded: list[int]
) -> None:
    wanted = text(evaluate(convnet(), photos, {"clean": None}, out=tmp_path / "a").records())
    for name in "bc":
        decoded.clear()
        done = evaluate(
            convnet(), photos, {"clean": None}, out=tmp_path / name, cache=tmp_path / "cache"
        )
        assert text(done.records()) == wanted
    assert decoded == []
    assert isinstance(cache_crops(photos, tmp_path / "cache").images, CachedFiles)


def test_a_file_that_was_replaced_under_its_old_time_is_decoded_anew(tmp_path: Path) -> None:
    path = tmp_path / "val" / "n01440764" / "a.bmp"
    path.parent.mkdir(parents=True)
    Image.new("RGB", (40, 40), (1, 2, 3)).save(path)
    before = path.stat()
    preprocessing = Preprocessing(32, 36)
    cached = cache_crops(open_dataset(tmp_path / "val"), tmp_path / "cache")
    assert cached.pixels(0, preprocessing)[0, 0].tolist() == [1, 2, 3]
    Image.new("RGB", (40, 40), (4, 5, 6)).save(tmp_path / "new.bmp")
    os.utime(tmp_path / "new.bmp", ns=(before.st_atime_ns, before.st_mtime_ns))
    (tmp_path / "new.bmp").replace(path)
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert cached.pixels(0, preprocessing)[0, 0].tolist() == [4, 5, 6]
