"""Public bug reports about running and reporting: right through the command line.

The number in a test name is the case's in shared/cases/README2.md; the inputs are made here.
"""

import csv
import html
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from safetensors.torch import load_file
from timm.models.vision_transformer import VisionTransformer

from reports import Runs, merge, results
from reports.plots.curves import budget_curve
from robustbench_twicing import load_model
from robustbench_twicing.checkpoints.bundled import bundled_file
from robustbench_twicing.cli.app import main
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.records.adversarial import AdversarialStore, read_adversarial
from robustbench_twicing.records.run_folder import RunFolder

GOOD = "fmnist_deit=bundled"
SPECIAL = r"a_b & 50% #1 $x$ {y} ~z ^2 \frac"
ESCAPED = (
    r"a\_b \& 50\% \#1 \$x\$ \{y\} \textasciitilde{}z \textasciicircum{}2 \textbackslash{}frac"
)
LABELS = ["NA", "None", "1e5", "007", "nan", "true", SPECIAL]
BUDGETS = [0, 0.25, 1, 16]
RED = """
from torch import nn

class Red(nn.Module):
    def forward(self, x):
        return 40 * x.mean((2, 3))

def key():
    return Red()
"""
SHORT = ("--spsa-steps", "2", "--spsa-samples", "8", "--set", "pgd.steps=4")
Evaluate = Callable[..., Path]


@pytest.fixture(scope="module")
def arrays() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The first 40 of the test images that come with the package, and their classes."""
    data = open_dataset("fashion-mnist:test1000")
    preprocessing = load_model("fmnist_deit", "bundled").preprocessing
    images = np.stack([data.pixels(index, preprocessing) for index in range(40)])
    return images, np.array(data.labels[:40])


@pytest.fixture(scope="module")
def evaluate(
    tmp_path_factory: pytest.TempPathFactory,
    arrays: tuple[NDArray[np.uint8], NDArray[np.int64]],
) -> Evaluate:
    """`eval` on these images into a fresh run folder."""
    root = tmp_path_factory.mktemp("reports")
    np.savez(root / "data.npz", images=arrays[0], labels=arrays[1])

    def run(*arguments: str, data: Path = root / "data.npz") -> Path:
        out = root / f"run{len(list(root.glob('run*')))}"
        fixed = ("--data", str(data), "--crop", "28", "--device", "cpu", "--out", str(out))
        assert main(["eval", *fixed, *arguments]) == 0
        return out

    return run


@pytest.fixture(scope="module")
def labelled(evaluate: Evaluate) -> Path:
    """The run of one model under seven labels."""
    models = [part for label in LABELS for part in ("--model", GOOD, "--label", label)]
    eps = ",".join(f"{budget}/255" for budget in BUDGETS)
    return evaluate(*models, "--attacks", "clean,fgsm", "--eps", eps)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def merged(run: Path) -> Runs:
    return merge([RunFolder.open(run)])


def predictions(run: Path) -> dict[tuple[str, int], int]:
    """The network's answer by condition and position of the image."""
    runs = merged(run)
    return {
        (entry.condition.id, int(row["index"])): int(row["prediction"])
        for place, entry in enumerate(runs.entries)
        for _, row in runs.of(place).iterrows()
    }


@pytest.mark.slow
def test_b50_saved_images_are_answered_as_recorded_by_an_independent_network(
    evaluate: Evaluate,
) -> None:
    attacks = ("--attacks", "fgsm,pgd,spsa", "--eps", "1/255,4/255", *SHORT)
    run = evaluate("--model", GOOD, *attacks, "--save-adversarial", "40")
    network = VisionTransformer(
        img_size=28, patch_size=4, num_classes=10, embed_dim=64, depth=4, num_heads=2
    )
    network.load_state_dict(load_file(bundled_file("fmnist_deit")))
    network.eval()
    recorded = predictions(run)
    assert len(recorded) == 6 * 40
    store = AdversarialStore(run / "adversarial")
    for entry in merged(run).entries:
        budget = 4 if "@4" in entry.condition.id else 1
        files = store.files(entry.key)
        assert list(files) == list(range(40))
        images = [read_adversarial(file) for file in files.values()]
        x, x_adv = (np.stack([getattr(image, name) for image in images]) for name in ("x", "x_adv"))
        assert 0 < np.abs(x_adv - x).max() <= (budget + 1e-4) / 255
        with torch.inference_mode():
            logits = network((torch.from_numpy(x_adv) - 0.286) / 0.353)
        answers = dict(enumerate(logits.argmax(1).tolist()))
        assert answers == {index: recorded[entry.condition.id, index] for index in answers}


@pytest.mark.slow
def test_b51_budget_0_is_in_the_picture_although_its_axis_is_logarithmic(labelled: Path) -> None:
    ax = Figure().subplots()
    budget_curve(ax, results(merged(labelled)), attack="fgsm")
    assert "log" in ax.get_xscale()
    points = [np.asarray(line.get_xydata()) for line in ax.get_lines()]
    curves = [curve for curve in points if len(curve) > 1]
    assert len(curves) == len(LABELS)
    for curve in curves:
        assert curve[:, 0].tolist() == BUDGETS
        assert np.isfinite(curve[:, 1]).all()
    low, _ = ax.get_xlim()
    assert low <= 0


@pytest.mark.slow
def test_b54_every_special_character_is_escaped_in_latex(labelled: Path, tmp_path: Path) -> None:
    assert main(["report", str(labelled), "--format", "latex", "--out", str(tmp_path)]) == 0
    assert main(["compare", str(labelled), "--baseline", "NA", "--out", str(tmp_path)]) == 0
    texts = {path.name: path.read_text() for path in tmp_path.glob("*.tex")}
    assert texts
    assert any(ESCAPED in text for text in texts.values())
    for name, text in texts.items():
        code = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
        assert SPECIAL not in code, name
        assert not re.search(r"(?<!\\)[%#_]", code), name
        assert code.count("{") - code.count(r"\{") == code.count("}") - code.count(r"\}"), name


@pytest.mark.slow
def test_b55_labels_that_look_like_something_else_stay(labelled: Path, tmp_path: Path) -> None:
    rows = read(labelled / "results.csv")
    assert list(dict.fromkeys(row["label"] for row in rows)) == LABELS
    assert len(rows) == len(LABELS) * (1 + len(BUDGETS))
    assert (
        main(["report", str(labelled), "--format", "csv", "--plots", "--out", str(tmp_path)]) == 0
    )
    assert main(["compare", str(labelled), "--baseline", "NA", "--out", str(tmp_path)]) == 0
    assert main(["report", str(labelled), "--format", "html", "--out", str(tmp_path)]) == 0
    assert {row["label"] for row in read(tmp_path / "results.csv")} == set(LABELS)
    assert {row["label"] for row in read(tmp_path / "comparison.csv")} == set(LABELS[1:])
    page = html.unescape((tmp_path / "index.html").read_text())
    assert all(f">{label}<" in page for label in LABELS[:-1])
    assert SPECIAL in page


@pytest.mark.slow
def test_b58_names_are_printed_as_they_were_given(
    evaluate: Evaluate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text(RED)
    colours = np.full((6, 32, 32, 3), (100, 100, 60), np.uint8)
    colours[..., 0] += np.array([3, 7, 15, 17, 31, 63], np.uint8)[:, None, None]
    np.savez(tmp_path / "colours.npz", images=colours, labels=np.zeros(6, np.int64))
    names = ["own.py:key", "a:warning:b", "[red]x[/red]"]
    own = f"{tmp_path / 'own.py'}:key"
    models = [part for name in names for part in ("--model", own, "--label", name)]
    run = evaluate(
        *models, "--attacks", "clean,fgsm", "--eps", "4/255", data=tmp_path / "colours.npz"
    )
    for command in ([], ["report", str(run)], ["compare", str(run)]):
        assert not command or main(command) == 0
        printed = capsys.readouterr().out
        for name in names:
            assert name in printed.replace("\n", ""), (command, name)
        assert not re.search("[\u2600-\u27bf\U0001f300-\U0001faff]", printed), command
    assert [row["top1"] for row in read(run / "results.csv")][:2] == ["100.0", f"{100 * 4 / 6}"]


@pytest.mark.slow
def test_b62_predictions_are_the_same_for_any_batch_size(evaluate: Evaluate) -> None:
    asked = ("--attacks", "clean,fgsm,pgd,spsa,noise", "--eps", "2/255", *SHORT)
    runs = [evaluate("--model", GOOD, *asked, "--batch-size", size) for size in ("1", "7", "40")]
    first, *others = [predictions(run) for run in runs]
    assert len(first) == 5 * 40
    assert all(other == first for other in others)
