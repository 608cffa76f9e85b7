"""What the survey counts, and what only decoding finds."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.data.summary import survey
from robustbench_twicing.errors import UserError


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Five files: two sizes and three kinds, one of them rotated, one truncated, one empty."""
    folder = tmp_path / "n01440764"
    folder.mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    image = Image.fromarray(noise)
    exif = Image.Exif()
    exif[0x0112] = 3
    image.save(folder / "a.png")
    image.convert("L").save(folder / "b.jpeg", exif=exif)
    image.resize((30, 20)).save(folder / "c.jpeg")
    (folder / "d.jpeg").write_bytes((folder / "b.jpeg").read_bytes()[:-500])
    (folder / "e.jpeg").write_bytes(b"")
    return tmp_path


def test_headers_alone(mixed: Path) -> None:
    calls: list[None] = []
    summary = survey(open_dataset(mixed), advance=lambda: calls.append(None))
    assert dict(summary.sizes) == {(80, 60): 3, (30, 20): 1}
    assert dict(summary.kinds) == {"PNG RGB": 1, "JPEG L": 2, "JPEG RGB": 1}
    assert summary.rotated == ["n01440764/b.jpeg", "n01440764/d.jpeg"]
    assert [error.path.name for error in summary.bad] == ["e.jpeg"]
    assert not summary.decoded
    assert len(calls) == 5


def test_every_pixel(mixed: Path) -> None:
    summary = survey(open_dataset(mixed), full=True)
    assert [error.path.name for error in summary.bad] == ["d.jpeg", "e.jpeg"]
    assert summary.sizes.total() == 3
    assert summary.decoded


def test_arrays(tmp_path: Path) -> None:
    images = np.zeros((4, 28, 30), np.uint8)
    np.savez(tmp_path / "set.npz", images=images, labels=np.zeros(4, int))
    summary = survey(open_dataset(tmp_path / "set.npz"))
    assert dict(summary.sizes) == {(30, 28): 4}
    assert dict(summary.kinds) == {"array grey": 4}


def test_a_file_that_went_away_is_no_bad_image(mixed: Path) -> None:
    dataset = open_dataset(mixed)
    (mixed / "n01440764" / "a.png").unlink()
    with pytest.raises(UserError, match=r"a\.png cannot be read: No such file"):
        survey(dataset)
