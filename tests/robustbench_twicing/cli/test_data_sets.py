"""Several data sets in one run, from the command line: found, named, left out, never lost."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from robustbench_twicing.cli import main
from robustbench_twicing.cli.data_sets import find_below
from robustbench_twicing.data import subset_indices
from robustbench_twicing.errors import UserError
from tests.palette import CODE, subset_folders, wnid_folders, write

Eval = Callable[..., int]
ALL = ("imagenet", "imagenet-a", "imagenet-r", "imagenetv2", "imagenet-sketch")
BESIDE = ("clean/imagenet-a-classes", "clean/imagenet-r-classes")


@pytest.fixture(scope="module")
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
def evaluate(root: Path, tmp_path: Path) -> Eval:
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


def found(tmp_path: Path) -> dict[str, list[str]]:
    """Conditions of results.csv by data set; every row is whole."""
    sets: dict[str, list[str]] = {}
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            assert row["status"] == "ok"
            sets.setdefault(row["dataset"], []).append(row["condition"])
    return sets


def line(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a mistake."""
    captured = capsys.readouterr()
    assert captured.out == ""
    (said,) = captured.err.splitlines()
    return said


def test_shifts_below_one_folder(
    root: Path, evaluate: Eval, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate("--suite", "shifts", "--data-root", str(root)) == 0
    assert found(tmp_path) == {
        "imagenet": ["clean", *BESIDE],
        "imagenet-a": ["imagenet-a", "imagenet-a/1000-way"],
        "imagenet-r": ["imagenet-r", "imagenet-r/1000-way"],
        "imagenetv2": ["imagenetv2"],
        "imagenet-sketch": ["imagenet-sketch"],
    }
    captured = capsys.readouterr()
    printed = " ".join(captured.out.split())
    assert "200-way (clean/imagenet-a-classes, clean/imagenet-r-classes, imagenet-a" in printed
    assert "imagenetv2: variant matched-frequency, by the folder's name" in printed
    (said,) = (each for each in captured.err.splitlines() if each.startswith(str(root)))
    assert said == (
        f"{root}: found imagenet (imagenet), imagenet-a (imagenet-a), imagenet-r (ImageNet_R), "
        "imagenetv2 (imagenetv2-matched-frequency-format-val), imagenet-sketch (sketch); "
        "not found objectnet, imagenet-c"
    )
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [each["dataset"]["name"] for each in manifest["evaluations"]] == [*ALL]
    assert len({each["dataset"]["fingerprint"] for each in manifest["evaluations"]}) == 5
    assert manifest["left_out"] == []


def test_a_missing_set_is_refused_unless_left_out(
    root: Path, evaluate: Eval, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    for name in ("imagenet-a", "sketch"):
        (small / name).symlink_to(root / name)
    shifts = ("--suite", "shifts", "--data-root", str(small))
    assert evaluate(*shifts) == 1
    assert (
        f"suite shifts asks for imagenet-r, imagenetv2, but no --data names them and {small} holds "
        "imagenet-a, imagenet-sketch; give --data imagenet-r=DIR, or leave them out with --without "
        "imagenet-r,imagenetv2"
    ) in line(capsys)
    assert not (tmp_path / "run").exists()
    v2 = f"imagenetv2={root}/imagenetv2-matched-frequency-format-val"
    assert evaluate(*shifts, "--without", "imagenet-r", "--data", v2) == 0
    assert list(found(tmp_path)) == ["imagenet-a", "imagenetv2", "imagenet-sketch"]
    printed = " ".join(capsys.readouterr().out.split())
    assert "left out of the suite by --without: imagenet-r" in printed
    assert "clean accuracy on the same 200 classes is not in this run" in printed
    assert json.loads((tmp_path / "run" / "run.json").read_text())["left_out"] == ["imagenet-r"]


def test_suites_without_any_folder(evaluate: Eval, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("--suite", "shifts") == 1
    assert "suite shifts asks for imagenet-a, imagenet-r, imagenetv2, imagenet-sketch" in line(
        capsys
    )
    assert evaluate() == 1
    assert "no --data is given" in line(capsys)
    assert evaluate("--suite", "full") == 1
    assert "no --data is given" in line(capsys)


def test_attacks_are_for_the_clean_images_alone(root: Path, evaluate: Eval, tmp_path: Path) -> None:
    a = f"imagenet-a={root}/imagenet-a"
    clean = ("--data", f"imagenet={root}/imagenet")
    budget = ("--eps", "1/255", "--limit", "4")
    assert evaluate(*clean, "--data", a, *budget) == 0
    assert found(tmp_path) == {
        "imagenet": ["clean", "clean/imagenet-a-classes", "fgsm@1/255", "pgd@1/255"],
        "imagenet-a": ["imagenet-a", "imagenet-a/1000-way"],
    }


def test_named_attacks_go_for_the_named_sets(root: Path, evaluate: Eval, tmp_path: Path) -> None:
    a = f"imagenet-a={root}/imagenet-a"
    assert evaluate("--data", a, "--attacks", "clean,pgd", "--eps", "20/255", "--limit", "50") == 0
    assert found(tmp_path) == {"imagenet-a": ["imagenet-a", "imagenet-a/1000-way", "pgd@20/255"]}
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        rows = {row["condition"]: row for row in csv.DictReader(file)}
    assert float(rows["pgd@20/255"]["top1"]) < float(rows["imagenet-a"]["top1"]) == 100
    assert rows["pgd@20/255"]["flags"] == "limit-50-of-200;200-way"


def test_a_named_set_alone_needs_no_clean_images(
    root: Path, evaluate: Eval, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = f"imagenet-a={root}/imagenet-a"
    assert evaluate("--data", a, "--suite", "quick") == 1
    assert "suite quick asks for imagenet, but no --data names it" in line(capsys)
    assert evaluate("--data", a) == 0
    assert found(tmp_path) == {"imagenet-a": ["imagenet-a", "imagenet-a/1000-way"]}


def test_a_suite_file_may_attack_a_shifted_set(root: Path, evaluate: Eval, tmp_path: Path) -> None:
    suite = tmp_path / "mine.yaml"
    suite.write_text(
        "conditions:\n"
        "- {attack: clean, dataset: sketch}\n"
        "- {attack: fgsm, dataset: sketch, eps: [4/255]}\n"
    )
    sketch = ("--data", f"sketch={root}/sketch")
    assert evaluate("--suite", str(suite), *sketch) == 0
    assert found(tmp_path) == {"imagenet-sketch": ["imagenet-sketch", "fgsm@4/255"]}


MISTAKES = {
    ("--data", "imagenet-r={root}/imagenet-a"): "is not ImageNet-R: its 200 classes are exactly",
    ("--data", "imagnet-a={root}/imagenet-a"): "Did you mean 'imagenet-a'?",
    ("--data", "imagenet-c={root}/notes"): "give those as --data, and --imagenet-c {root}/notes",
    ("--data", "{root}/imagenet-a", "--data", "{root}/imagenet-a"): "2 data sets are called imag",
    ("--data", "sketch={root}/sketch", "--data", "imagenet-sketch={root}/sketch"): "is given twice",
    ("--data", "sketch={root}/sketch", "--without", "sketch"): "leaves out what --data gives",
    ("--data", "{root}/sketch", "--without", "sketch"): "nothing asks for it",
    ("--data", "{root}/sketch", "--without", "sketsch"): "no data set is called 'sketsch'",
    ("--data", "sketch={root}/sketch", "--labels", "x.csv"): "--labels is for one data set, and 0",
    ("--data", "imagenet={root}/imagenet", "--classes", "x"): "has labels of its own",
    ("--data-root", "{root}/nothing"): "--data-root {root}/nothing cannot be read",
    ("--data-root", "{root}/notes"): "suite quick asks for imagenet, but",
}


@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...],
    root: Path,
    evaluate: Eval,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert evaluate(*(each.format(root=root) for each in arguments)) == 1
    assert MISTAKES[arguments].format(root=root) in line(capsys)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["eval", "plan"])
def test_models_of_other_classes_are_refused(
    command: str, root: Path, evaluate: Eval, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("imagenet-a", "sketch"):
        arguments = ("--data", f"{name}={root}/{name}")
        both = (*arguments, "--data", f"imagenet={root}/imagenet")
        assert evaluate(*both, command=command, model="ten") == 1
        assert "palette has 10 classes, imagenet needs 1000" in line(capsys)
        if name == "imagenet-a":
            assert evaluate(*arguments, command=command, model="ten") == 1
            assert "palette has 10 classes, imagenet-a needs ImageNet-1k's 1000" in line(capsys)


def test_a_plain_folder_of_imagenet_a_is_named(
    root: Path, evaluate: Eval, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate("--data", str(root / "imagenet-a"), "--attacks", "clean") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "--data imagenet-a=DIR gives the number that papers report" in printed
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["condition"], row["flags"]) == ("clean", "classes-of-imagenet-a")


def test_plan_names_every_set(
    root: Path, evaluate: Eval, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate("--suite", "shifts", "--data-root", str(root), command="plan") == 0
    printed = capsys.readouterr().out
    assert f"{root}: found imagenet (imagenet)" in printed
    for name, images in (("imagenet-a", 200), ("imagenetv2", 3), ("imagenet-sketch", 2)):
        assert f"palette on {name}, {images} images" in printed
    cells = [each.strip(" │").split("│") for each in printed.splitlines() if "1000-way" in each]
    assert [[part.strip() for part in each] for each in cells] == [
        [f"{name}/1000-way", "0", "0", "0:00"] for name in ("imagenet-a", "imagenet-r")
    ]


def test_the_full_suite_asks_for_everything(
    root: Path, evaluate: Eval, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--suite", "full", "--data-root", str(root), "--normalize", "imagenet")
    assert evaluate(*arguments, command="plan") == 0
    printed = capsys.readouterr().out
    for name in ("spsa@1/255", "fgsm@6/255", "imagenet-c/saturate/5", *BESIDE, "imagenet-a/1000-w"):
        assert name in printed
    assert evaluate(*arguments, "--protocol", "pixel", command="plan") == 1
    assert "--suite full is protocol paper" in line(capsys)


def test_shards_and_another_start_give_one_run(root: Path, evaluate: Eval, tmp_path: Path) -> None:
    arguments = ("--suite", "shifts", "--data-root", str(root), "--batch-size", "32")
    for share in ("2/3", "1/3", "3/3"):
        assert evaluate(*arguments, "--shard", share) == 0
    assert list(found(tmp_path)) == [*ALL]
    assert evaluate(*arguments) == 0
    assert evaluate(*arguments, "--without", "sketch") == 1
    removed = sorted((tmp_path / "run" / "parts").rglob("*.parquet"))[::4]
    for path in removed:
        path.unlink()
    assert main(["report", str(tmp_path / "run")]) == 4
    assert evaluate(*arguments) == 0
    assert list(found(tmp_path)) == [*ALL]


def test_which_folders_are_taken(root: Path, tmp_path: Path) -> None:
    assert {name: path.name for name, path in find_below(root).items()}[
        "imagenet-r"
    ] == "ImageNet_R"
    for name in ("imagenetv2-top-images", "imagenetv2-matched-frequency", "imagenet-c", "sketch"):
        (tmp_path / name).mkdir()
    below = {name: path.name for name, path in find_below(tmp_path).items()}
    assert below == {
        "imagenetv2": "imagenetv2-matched-frequency",
        "imagenet-sketch": "sketch",
        "imagenet-c": "imagenet-c",
    }
    (tmp_path / "imagenet_sketch").mkdir()
    with pytest.raises(UserError, match="has imagenet_sketch and sketch for imagenet-sketch; say"):
        find_below(tmp_path)
