"""Public bug reports about attacks: few classes, several attacks, and what failed once.

The number in a test name is the case's in shared/cases/README2.md; the inputs are made here.
"""

import csv
from collections.abc import Sequence
from math import erfc, sqrt
from pathlib import Path

import numpy as np
import pytest

from robustbench_twicing.cli.app import main

CODE = '''
from pathlib import Path

import torch
from attacks import fgsm
from torch import nn


class Colour(nn.Module):
    """Logits: mean red, green, blue, and one of all three; of the first ``classes``."""

    def __init__(self, classes):
        super().__init__()
        self.classes = classes

    def forward(self, x):
        means = x.mean((2, 3))
        rest = means.sum(1, keepdim=True) / 3 - 1
        return 40 * torch.cat([means, rest], 1)[:, : self.classes]


def two():
    return Colour(2)


def three():
    return Colour(3)


def four():
    return Colour(4)


class Noisy(Colour):
    """Every channel of every image has normal noise of a tenth of its range."""

    def forward(self, x):
        return super().forward(x + 0.1 * torch.randn(len(x), 3, 1, 1))


def noisy():
    return Noisy(3)


def move(x, eps, half):
    """Less red and more green, in images of an even (0) or odd (1) level of blue."""
    chosen = (x[:, 2].mean((1, 2)) * 255).round().long() % 2 == half
    step = torch.zeros_like(x)
    step[:, 0], step[:, 1] = -eps, eps
    return torch.where(chosen[:, None, None, None], x + step, x).clamp(0, 1)


def even(model, x, y, *, eps, generator):
    return move(x, eps, 0)


def odd(model, x, y, *, eps, generator):
    return move(x, eps, 1)


def needs(model, x, y, *, eps, generator):
    """Fails where a level of blue is odd and a file is there, like a disk that is away."""
    is_odd = (x[:, 2] * 255).round().long() % 2 == 1
    if is_odd.any() and Path(__file__).with_name("away").exists():
        raise OSError("the disk is away")
    return fgsm(model, x, y, eps=eps)
'''
PARTS = {"two": "no-targeted-dlr", "three": "no-targeted-dlr", "four": ""}
"""By network, the flag of what AutoAttack leaves out."""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(CODE)
    return path


def colours(folder: Path, levels: Sequence[tuple[int, int, int]]) -> Path:
    """Flat images of these colours, all of class 0."""
    images = np.broadcast_to(np.array(levels, np.uint8)[:, None, None], (len(levels), 8, 8, 3))
    np.savez(folder / "colours.npz", images=images, labels=np.zeros(len(levels), np.int64))
    return folder / "colours.npz"


def evaluate(code: Path, network: str, data: Path, *arguments: str) -> int:
    fixed = ("--data", str(data), "--crop", "8", "--device", "cpu", "--label", network)
    out = str(code.parent / "run")
    return main(["eval", "--model", f"{code}:{network}", *fixed, "--out", out, *arguments])


def read(path: Path) -> dict[str, dict[str, str]]:
    """results.csv by condition."""
    with path.open(newline="", encoding="utf-8") as file:
        return {row["condition"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
@pytest.mark.parametrize("network", list(PARTS))
def test_b47_few_classes_have_the_number_of_the_linear_model(
    network: str, code: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Red is 3 to 63 levels above green: right at 8/255 exactly where that is above 16."""
    data = colours(code.parent, [(100 + more, 100, 60) for more in (3, 7, 15, 17, 31, 63)])
    library = ["torchattacks:AutoAttack", "torchattacks:APGDT"]
    names = ["pgd", "torchattacks:APGD", "autoattack", *library]
    status = evaluate(code, network, data, "--attacks", ",".join(names), "--eps", "8/255")
    rows = read(code.parent / "run" / "results.csv")
    for name in names[:3] if PARTS[network] else names:
        assert (rows[f"{name}@8/255"]["status"], rows[f"{name}@8/255"]["top1"]) == ("ok", "50.0")
    assert rows["autoattack@8/255"]["flags"] == PARTS[network]
    assert status == (3 if PARTS[network] else 0)
    for name in library if PARTS[network] else []:
        assert rows[f"{name}@8/255"]["status"] == "error"
        classes = 2 if network == "two" else 3
        line = f"{name}@8/255 failed: its DLR loss compares up to 4 classes, and the network has "
        assert f"{line}{classes}; autoattack and apgd do with fewer" in caplog.messages


def test_b48_where_two_attacks_fool_a_half_each_no_image_is_robust(
    code: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = colours(code.parent, [(103, 100, 60 + number % 2) for number in range(10)])
    attacks = f"clean,{code}:even,{code}:odd"
    assert evaluate(code, "two", data, "--attacks", attacks, "--eps", "8/255") == 0
    run = code.parent / "run"
    top1 = {name.split(":")[-1]: row["top1"] for name, row in read(run / "results.csv").items()}
    assert top1 == {
        **{"clean": "100.0", "even@8/255": "50.0", "odd@8/255": "50.0"},
        "worst@8/255": "0.0",
    }
    out = code.parent / "out"
    worst = ["report", str(run), "--preset", "worst", "--format", "csv", "--out", str(out)]
    assert main(worst) == 0
    with next(out.glob("worst-*.csv")).open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert [float(value) for name, value in row.items() if name.startswith("worst")][:1] == [0]
    assert [int(value) for name, value in row.items() if name.startswith("only")] == [5, 5]
    capsys.readouterr()
    assert main(["report", str(run), "--format", "html", "--out", str(out)]) == 0
    page = (out / "index.html").read_text()
    assert "0.0 % top-1 in the worst case of its attacks" in page


def right_under_noise(red_above_green: float, red_above_blue: float) -> float:
    """Share of draws in which red is the largest of three channels with noise of 0.1."""
    noise = np.linspace(-8, 8, 4001)
    density = np.exp(-(noise**2) / 2) / np.sqrt(2 * np.pi)
    below = [
        np.array([erfc(-(gap / 25.5 + of_red) / sqrt(2)) / 2 for of_red in noise])
        for gap in (red_above_green, red_above_blue)
    ]
    return float(np.trapezoid(density * below[0] * below[1], noise))


@pytest.mark.slow
def test_b49_a_network_that_draws_has_a_flag_a_mean_and_a_spread_and_the_same_ones_again(
    code: Path,
) -> None:
    """Of one draw PGD goes by the sign of its own noise; of eight it finds the way down."""
    margins = (4, 8, 16, 32) * 8
    data = colours(code.parent, [(100 + more, 100, 60) for more in margins])
    arguments = ["--attacks", "clean,pgd", "--eps", "8/255", "--draws", "16", "--expectation", "8"]
    assert evaluate(code, "noisy", data, *arguments) == 0
    rows = read(code.parent / "run" / "results.csv")
    (code.parent / "run").rename(code.parent / "first")
    assert evaluate(code, "noisy", data, *arguments) == 0
    again = read(code.parent / "run" / "results.csv")
    for row, same in zip(rows.values(), again.values(), strict=True):
        assert "not-deterministic" in row["flags"].split(";")
        assert {**row, "seconds": ""} == {**same, "seconds": ""}
    for name, moved in (("clean", 0), ("pgd@8/255", 8)):
        wanted = np.array(
            [right_under_noise(more - 2 * moved, 40 + more - 2 * moved) for more in margins]
        )
        spread = 100 * np.sqrt((wanted * (1 - wanted)).sum()) / len(margins)
        mean = float(rows[name]["top1_mean"])
        assert abs(mean - 100 * wanted.mean()) < 3 * spread / 4, name
        assert float(rows[name]["top1_sd"]) == pytest.approx(spread, rel=0.6)
    assert rows["pgd@8/255"]["flags"].split(";").count("expectation=8") == 1


@pytest.mark.slow
def test_b53_what_failed_for_an_outside_reason_is_computed_again_and_only_that(
    code: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = colours(code.parent, [(103 + 9 * n, 100, 60 + n // 3 % 2) for n in range(9)])
    away, run = code.parent / "away", code.parent / "run"
    asked = ("--attacks", f"clean,fgsm,{code}:needs", "--eps", "8/255", "--part-size", "3")
    away.touch()
    assert evaluate(code, "two", data, *asked) == 3
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.rglob("*.parquet")}
    assert len(before) == 3
    away.unlink()
    assert main(["report", str(run)]) == 3
    assert {path: path.read_bytes() for path in before} == {
        path: content for path, (_, content) in before.items()
    }
    assert evaluate(code, "two", data, *asked) == 0
    assert any("3 error rows were computed again" in message for message in caplog.messages)
    changed = [
        path.name
        for path, (time, content) in sorted(before.items())
        if (path.stat().st_mtime_ns, path.read_bytes()) != (time, content)
    ]
    assert changed == ["part-000001.parquet"]
    clean, fgsm, needs, *_ = read(run / "results.csv").values()
    assert (needs["status"], needs["n_images"], needs["top1"]) == ("ok", "9", fgsm["top1"])
    assert (clean["status"], clean["n_images"]) == ("ok", "9")
    assert main(["report", str(run)]) == 0
