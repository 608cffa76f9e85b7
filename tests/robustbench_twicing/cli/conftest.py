"""Photographs and a network of one's own, as a user has them on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from PIL import Image

from robustbench_twicing.cli.app import main
from robustbench_twicing.data.imagenet import subset_indices, wnids
from tests.palette import CODE, subset_folders, wnid_folders, write

NETWORK = '''
import torch


class Brightness(torch.nn.Module):
    """Class 1 where the mean pixel is above 1/2, else class 0, of ImageNet's 1000."""

    def forward(self, x):
        above = x.flatten(1).mean(1) - 0.5
        rest = torch.full((len(x), 998), -9.0, device=x.device)
        return torch.cat([torch.stack([-above, above], 1), rest], 1)


class Other(Brightness):
    """The same the other way round."""

    def forward(self, x):
        logits = super().forward(x)
        return torch.cat([logits[:, 1:2], logits[:, :1], logits[:, 2:]], 1)


def build():
    return Brightness()


def other():
    return Other()


def broken():
    raise RuntimeError("no weights")


def nan():
    network = Brightness()
    network.register_forward_hook(lambda module, inputs, output: output * float("nan"))
    return network
'''


class Site(NamedTuple):
    """Where a user's files are.

    Attributes:
        root: folder of everything.
        data: image folder: five dark images of class 0, five bright ones of class 1, at margins of
            3, 7, 15, 31 and 63 grey levels (twice the distance from 127.5), and a bright one
            of class 0.
        model: name of the network in code.
    """

    root: Path
    data: Path
    model: str

    def eval(self, *arguments: str, out: str = "run", data: Path | None = None) -> int:
        """Run eval on the site's model and data, small and on the CPU."""
        return main(
            [
                "eval",
                *("--model", self.model, "--data", str(data or self.data)),
                *("--crop", "8", "--batch-size", "4", "--device", "cpu"),
                *("--out", str(self.root / out)),
                *arguments,
            ]
        )

    def results(self, out: str = "run") -> dict[str, dict[str, str]]:
        """results.csv by condition, as text."""
        import csv

        with (self.root / out / "results.csv").open(newline="") as file:
            return {row["condition"]: row for row in csv.DictReader(file)}


def grey(path: Path, level: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (level,) * 3).save(path)


def make_site(root: Path) -> Site:
    """Put data and code into an empty folder."""
    data = root / "photos"
    dark, bright = wnids()[:2]
    for margin in (3, 7, 15, 31, 63):
        grey(data / dark / f"{margin:02d}.png", 127 - margin // 2)
        grey(data / bright / f"{margin:02d}.png", 128 + margin // 2)
    grey(data / dark / "wrong.png", 255)
    code = root / "network.py"
    code.write_text(NETWORK)
    return Site(root, data, f"{code}:build")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A fresh folder with data and code."""
    return make_site(tmp_path)


EvaluateSets = Callable[..., int]


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every set under its usual name, with a few pictures in each."""
    root = tmp_path_factory.mktemp("root")
    few = sorted({*subset_indices("imagenet-a")[:3], *subset_indices("imagenet-r")[:3], 0, 999})
    write(root / "imagenet" / "val", wnid_folders(few))
    write(root / "imagenet" / "train", wnid_folders(few))
    write(root / "imagenet-a", subset_folders("imagenet-a"))
    write(root / "ImageNet_R", subset_folders("imagenet-r"))
    numbers = {f"{number}/x.png": number for number in (2, 10, 999)}
    write(root / "imagenetv2-matched-frequency-format-val", numbers)
    write(root / "sketch", wnid_folders([7, 8]))
    (root / "notes").mkdir()
    (root / "model.py").write_text(CODE)
    return root


@pytest.fixture
def evaluate(root: Path, tmp_path: Path) -> EvaluateSets:
    """Run a command on the palette network; the run folder is tmp_path/run."""

    def go(*arguments: str, command: str = "eval", model: str = "build") -> int:
        return main(
            [
                command,
                *("--model", f"{root / 'model.py'}:{model}", "--label", "palette"),
                *("--crop", "8", "--resize", "8", "--batch-size", "64", "--device", "cpu"),
                *("--out", str(tmp_path / "run")),
                *arguments,
            ]
        )

    return go


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a mistake."""
    captured = capsys.readouterr()
    assert captured.out == ""
    (message,) = captured.err.splitlines()
    return message
