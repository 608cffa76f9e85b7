"""Small pictures and folders of them."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from PIL import Image

Tree = Callable[[Iterable[str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Write files below tmp_path/set: pictures, each of its own colour, or texts; return the root.

    A trailing slash makes an empty folder.
    """
    root = tmp_path / "set"
    root.mkdir()

    def write(names: Iterable[str]) -> Path:
        for number, name in enumerate(names):
            path = root / name
            if name.endswith("/"):
                path.mkdir(parents=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix.lower() in (".png", ".jpeg", ".jpg", ".bmp"):
                Image.new("RGB", (8, 6), (number % 256, 100, 200)).save(path)
            else:
                path.write_text("text")
        return root

    return write
