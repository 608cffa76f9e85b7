"""What is not Python goes into the wheel too."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("robustbench_twicing", "attacks", "reports")
NEEDED = (
    "robustbench_twicing/data/fashion_mnist/test1000.npz",
    "robustbench_twicing/data/fashion_mnist/LICENSE.txt",
    "robustbench_twicing/checkpoints/bundled/fmnist_twicing_3-4.safetensors",
    "robustbench_twicing/checkpoints/bundled/seeds.csv",
)


def packed() -> set[Path]:
    """Files that the patterns of package-data take."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]
    return {
        path
        for package, globs in patterns.items()
        for glob in globs
        for path in ROOT.joinpath(*package.split(".")).glob(glob)
    }


def test_every_file_of_the_packages_is_packed() -> None:
    files = {
        path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }
    assert files - packed() == set()


def test_the_zoo_and_the_images_are_packed() -> None:
    assert {ROOT / name for name in NEEDED} <= packed()
