"""The same few pictures as a folder, a tar archive, Parquet and WebDataset."""

import io
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

NAMES = ("c0/b.png", "c1/a.jpg", "c1/z.jpg", "c2/d.webp", "c3/e.tif", "c4/f.jpg")
CLASSES = [f"c{number}" for number in range(5)]
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


KINDS = {"jpg": "JPEG", "tif": "TIFF"}
TURNED = Image.Exif()
TURNED[0x0112] = 6


def picture(name: str, seed: int = 0) -> bytes:
    """A noisy picture of that ending; a JPEG or TIFF has an orientation."""
    draw = np.random.default_rng(seed)
    ending = name.rpartition(".")[2]
    kind = KINDS.get(ending, ending.upper())
    orientation: dict[str, dict[str, Any]] = {
        "JPEG": {"exif": TURNED},
        "TIFF": {"tiffinfo": dict(TURNED)},
    }
    stream = io.BytesIO()
    Image.fromarray(draw.integers(0, 256, (50, 60, 3), np.uint8)).save(
        stream, kind, **orientation.get(kind, {})
    )
    return stream.getvalue()


def member(name: str, content: bytes = b"", **facts: Any) -> tuple[tarfile.TarInfo, bytes]:
    """A member of a tar archive; facts are attributes of its header, like ``type``."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in facts.items():
        setattr(info, key, value)
    return info, content


def write_tar(path: Path, members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return path


def write_parquet(
    path: Path, images: Sequence[Mapping[str, Any]], *, groups: int = 4, **columns: Sequence[Any]
) -> Path:
    """Rows of image structs, and other columns; `groups` rows a row group."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"image": pa.array(images, IMAGE), **columns})
    pq.write_table(table, path, row_group_size=groups)
    return path


@pytest.fixture(scope="module")
def pictures() -> dict[str, bytes]:
    return {name: picture(name, seed) for seed, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def forms(pictures: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where they lie, by form; and ``classes``, the list of their classes."""
    root = tmp_path_factory.mktemp("forms")
    for name, content in pictures.items():
        path = root / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (root / "classes.txt").write_text("\n".join(CLASSES))
    shuffled = sorted(pictures, reverse=True)
    write_tar(
        root / "photos.tar", [member(f"./photos/{name}", pictures[name]) for name in shuffled]
    )
    for part in (0, 1):
        chosen = NAMES[part * 4 : part * 4 + 4]
        write_parquet(
            root / "photos-hf" / "data" / f"test-{part:05d}-of-00002.parquet",
            [{"bytes": pictures[name], "path": name} for name in chosen],
            groups=3,
            label=[int(name[1]) for name in chosen],
        )
        samples = [(name, name.rpartition(".")[0]) for name in chosen]
        write_tar(
            root / f"photos-{part:06d}.tar",
            [
                file
                for name, key in samples
                for file in (member(name, pictures[name]), member(f"{key}.cls", name[1].encode()))
            ],
        )
    return {
        "folder": str(root / "photos"),
        "tar": str(root / "photos.tar"),
        "parquet": str(root / "photos-hf"),
        "webdataset": str(root / "photos-{000000..000001}.tar"),
        "classes": str(root / "classes.txt"),
    }
