"""Inputs made from public bug reports end in the right numbers, through the command line."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from robustbench_twicing import evaluate, load_model
from robustbench_twicing.cli.app import main
from robustbench_twicing.data.opening import open_dataset
from tests.cases import BuildCase
from tests.tiny import column, quick_conditions

Rows = dict[str, dict[str, str]]
Evaluate = Callable[..., Rows]


class Case:
    """One built case.

    Attributes:
        folder: its inputs.
        expect: the numbers it must give.
        checkpoint: of the two-colour network.
    """

    def __init__(self, folder: Path, expect: dict[str, Any]) -> None:
        self.folder = folder
        self.expect = expect
        self.checkpoint = folder.parent / "_common" / "two_colour_deit_tiny.pth"

    def eval(self, *arguments: str, model: str = "", data: str = "val") -> Rows:
        """Evaluate the case's own checkpoint, or a model of its own."""
        out = self.folder / f"run{len(list(self.folder.glob('run*')))}"
        assert self.status("--out", str(out), *arguments, model=model, data=data) == 0
        with (out / "results.csv").open(newline="") as file:
            return {row["condition"]: row for row in csv.DictReader(file)}

    def status(self, *arguments: str, model: str = "", data: str = "val") -> int:
        """Exit status of an evaluation."""
        command = ["eval", "--model", model or f"deit_tiny_patch16_224={self.checkpoint}"]
        command += ["--data", str(self.folder / data), "--device", "cpu"]
        return main([*command, *arguments])


@pytest.fixture(scope="module")
def build(build_case: BuildCase, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    """Build one case by its number."""
    root = tmp_path_factory.mktemp("cases")

    def make(name: str) -> Case:
        folder, facts = build_case(name, root)
        return Case(folder, facts["expect"])

    return make


def check_robust(rows: Rows, attack: str, wanted: dict[str, float], count: int) -> None:
    for levels, share in wanted.items():
        row = rows[f"{attack}@{levels}/255"]
        assert float(row["robust_top1"]) == pytest.approx(100 * share), (attack, levels)
        assert float(row["linf_255_max"]) <= int(levels) + 1e-6 * 255
        assert row["n_images"] == str(count)
        assert row["status"] == "ok"


EPS = "0,1/255,2/255,4/255,8/255"


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "eps"), [("fgsm", "2/255,8/255"), ("fgsm", EPS), ("pgd", EPS)])
def test_budgets_are_in_pixels_although_the_model_normalises(
    attack: str, eps: str, build: Callable[[str], Case]
) -> None:
    case = build("h05")
    rows = case.eval("--attacks", attack, "--eps", eps)
    wanted = case.expect["robust_top1_fgsm_and_pgd20_by_eps_in_255ths"]
    assert list(wanted) == ["0", "1", "2", "4", "8"]
    asked = {levels: wanted[levels] for levels in wanted if f"{attack}@{levels}/255" in rows}
    assert len(asked) == len(rows) == eps.count(",") + 1
    check_robust(rows, attack, asked, case.expect["n"])


@pytest.mark.slow
def test_the_same_numbers_come_from_arrays(build: Callable[[str], Case]) -> None:
    case = build("h05")
    labels = ("--labels", str(case.folder / "labels.npy"))
    rows = case.eval("--attacks", "fgsm", "--eps", EPS, *labels, data="images.npy")
    wanted = case.expect["robust_top1_fgsm_and_pgd20_by_eps_in_255ths"]
    check_robust(rows, "fgsm", wanted, case.expect["n"])


@pytest.mark.slow
@pytest.mark.parametrize("preprocessing", [(), ("--resize", "248")])
def test_photographs_are_reduced_as_in_training(
    preprocessing: tuple[str, ...], build: Callable[[str], Case]
) -> None:
    case = build("h06")
    row = case.eval("--attacks", "clean", *preprocessing)["clean"]
    assert float(row["top1"]) == 100 * case.expect["clean_top1"]
    assert row["n_images"] == str(case.expect["n"]) == "3"


@pytest.mark.slow
def test_accuracy_is_no_mean_of_batch_means(build: Callable[[str], Case]) -> None:
    case = build("h08")
    row = case.eval("--attacks", "clean", "--batch-size", str(case.expect["batch_size"]))["clean"]
    assert float(row["top1"]) == 100 * case.expect["clean_top1"]
    assert row["n_images"] == "11"


@pytest.mark.slow
def test_accuracy_is_the_same_for_any_batch_size(build: Callable[[str], Case]) -> None:
    case = build("h08")
    model = load_model("deit_tiny_patch16_224", str(case.checkpoint))
    data = open_dataset(case.folder / "val")
    for batch_size in case.expect["same_value_for_batch_size"]:
        done = evaluate(model, data, {"clean": None}, batch_size=batch_size)
        assert column(done, "top1") == [100 * case.expect["clean_top1"]], batch_size


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "eps"),
    [("fgsm", "0,1/255,8/255"), ("pgd", "0"), ("pgd", "0.0,1/255,8/255"), ("spsa", "0/255")],
)
def test_no_budget_is_the_clean_row_and_one_level_is_enough(
    attack: str, eps: str, build: Callable[[str], Case]
) -> None:
    case = build("h11")
    rows = case.eval("--attacks", f"clean,{attack}", "--eps", eps)
    clean, zero = rows["clean"], rows[f"{attack}@0/255"]
    for name in ("top1", "top5", "top1_ci_low", "top1_ci_high", "robust_top1", "linf_255_max"):
        assert zero[name] == clean[name], name
    assert float(zero["robust_top1"]) == 100 * case.expect["robust_top1"]
    assert float(zero["linf_255_max"]) == 0
    for name, row in rows.items():
        if name not in ("clean", f"{attack}@0/255"):
            assert float(row["robust_top1"]) == 0, name


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 2, 6])
def test_a_model_left_in_train_mode_is_evaluated_in_eval_mode(
    batch_size: int, build: Callable[[str], Case]
) -> None:
    case = build("h13")
    assert batch_size in case.expect["same_for_batch_size"]
    rows = case.eval(
        *("--attacks", "clean,pgd", "--eps", "1/255,2/255,4/255"),
        *("--labels", str(case.folder / "labels.npy"), "--batch-size", str(batch_size)),
        model=f"{case.folder / 'bn_model.py'}:build",
        data="images.npy",
    )
    assert float(rows["clean"]["top1"]) == 100 * case.expect["clean_top1"]
    check_robust(rows, "pgd", case.expect["robust_top1_pgd20"], case.expect["n"])


def test_evaluation_leaves_mode_and_buffers_of_a_training_model(
    build: Callable[[str], Case],
) -> None:
    case = build("h13")
    model = load_model(f"{case.folder / 'bn_model.py'}:build")
    model.train()
    before = {name: tensor.clone() for name, tensor in model.network.named_buffers()}
    assert set(case.expect["buffers_unchanged_by_evaluation"]) <= set(before)
    data = open_dataset(case.folder / "images.npy", labels=case.folder / "labels.npy")
    conditions = {each.id: each for each in quick_conditions("clean", "fgsm", "pgd")}
    runs = [evaluate(model, data, conditions).records() for _ in range(2)]
    assert runs[0].equals(runs[1])
    assert all(torch.equal(each, before[name]) for name, each in model.network.named_buffers())
    assert all(module.training for module in model.modules())


@pytest.mark.slow
def test_a_flat_folder_is_refused_or_scored_with_its_labels(
    build: Callable[[str], Case], capsys: pytest.CaptureFixture[str]
) -> None:
    case = build("h07")
    wanted = case.expect["with_label_file"]
    labels = ("--labels", str(case.folder / "val_labels.csv"))
    rows = case.eval("--attacks", "clean", *labels, data="imagenet/val")
    assert float(rows["clean"]["top1"]) == 100 * wanted["clean_top1"]
    assert rows["clean"]["n_images"] == str(wanted["n"])
    capsys.readouterr()
    out = ("--out", str(case.folder / "refused"))
    assert case.status("--attacks", "clean", *out, data="imagenet/val") == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "flat folder" in line
    assert "--labels FILE" in line


@pytest.mark.slow
def test_unreadable_images_stop_the_run_or_are_counted(
    build: Callable[[str], Case], capsys: pytest.CaptureFixture[str]
) -> None:
    case = build("h10")
    capsys.readouterr()
    assert case.status("--attacks", "clean", "--out", str(case.folder / "stopped")) == 1
    *_, line = capsys.readouterr().err.splitlines()
    assert "900_truncated.JPEG" in line
    assert "truncated" in line.replace("900_truncated", "")
    row = case.eval("--attacks", "clean", "--on-bad-image", "skip")["clean"]
    assert float(row["top1"]) == 100 * case.expect["clean_top1_over_readable"]
    assert (row["n_images"], row["n_skipped"]) == ("8", "3")
    out = capsys.readouterr().out
    for name in ("900_truncated.JPEG", "901_empty.JPEG", "902_not_an_image.JPEG"):
        assert name in out.replace("\n", ""), name


@pytest.mark.slow
def test_h09_imagenet_a_over_200_classes_and_over_1000(
    build: Callable[[str], Case], capsys: pytest.CaptureFixture[str]
) -> None:
    case = build("h09")
    out = case.folder / "run"
    model = f"deit_tiny_patch16_224={case.folder / 'palette200_deit_tiny.pth'}"
    data = f"imagenet-a={case.folder / 'imagenet-a'}"
    status = main(["eval", "--model", model, "--data", data, "--device", "cpu", "--out", str(out)])
    assert status == 0
    with (out / "results.csv").open(newline="") as file:
        rows = {row["condition"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["imagenet-a", "imagenet-a/1000-way"]
    for name, expected in (("imagenet-a", "top1_200way"), ("imagenet-a/1000-way", "top1_1000way")):
        assert float(rows[name]["top1"]) == pytest.approx(100 * case.expect[expected])
        assert rows[name]["n_images"] == str(case.expect["n"])
    assert rows["imagenet-a"]["flags"] == "cropped-before-224px;200-way"
    assert rows["imagenet-a/1000-way"]["flags"] == "cropped-before-224px;1000-way"
    assert rows["imagenet-a/1000-way"]["n_forward"] == "0"
    printed = " ".join(capsys.readouterr().out.split())
    assert "200-way (imagenet-a): scored over the 200 classes of the test set" in printed
