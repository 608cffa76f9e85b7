"""What a user may get wrong with several data sets: one line, before any work."""

import csv
from pathlib import Path

import pytest

from tests.robustbench_twicing.cli.conftest import EvaluateSets as Eval
from tests.robustbench_twicing.cli.conftest import one_line as line


@pytest.mark.slow
def test_suites_without_any_folder(evaluate: Eval, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate("--suite", "shifts") == 1
    assert "suite shifts asks for imagenet-a, imagenet-r, imagenetv2, imagenet-sketch" in line(
        capsys
    )
    assert evaluate() == 1
    assert "no --data is given" in line(capsys)
    assert evaluate("--suite", "full") == 1
    assert "no --data is given" in line(capsys)


MISTAKES = {
    ("--data", "imagenet-r={root}/imagenet-a"): "is not ImageNet-R: its 200 classes are exactly",
    ("--data", "imagnet-a={root}/imagenet-a"): "Did you mean 'imagenet-a'?",
    ("--data", "imagenet-c={root}/notes"): "give those as --data, and --imagenet-c {root}/notes",
    ("--data", "{root}/imagenet-a", "--data", "{root}/imagenet-a"): "2 data sets are called imag",
    ("--data", "sketch={root}/sketch", "--data", "imagenet-sketch={root}/sketch"): "is given twice",
    (
        "--data",
        "sketch={root}/sketch",
        "--without",
        "sketch",
    ): "a data set that --data names",
    ("--data", "{root}/sketch", "--without", "sketch"): "is part of this run",
    ("--data", "{root}/sketch", "--without", "sketsch"): "no data set is called 'sketsch'",
    ("--data", "sketch={root}/sketch", "--labels", "x.csv"): "--labels is for one data set, and 0",
    ("--data", "imagenet={root}/imagenet", "--classes", "x"): "has labels of its own",
    ("--data", "sketch={root}/sketch", "--attacks", "imagenet-c/fog/1"): "asks for imagenet, but",
    ("--data-root", "{root}/nothing"): "--data-root {root}/nothing cannot be read",
    ("--data-root", "{root}/notes"): "suite quick asks for imagenet, but",
}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...],
    root: Path,
    evaluate: Eval,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert evaluate(*(argument.format(root=root) for argument in arguments)) == 1
    assert MISTAKES[arguments].format(root=root) in line(capsys)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_plain_folder_of_imagenet_a_is_named(
    root: Path, evaluate: Eval, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate("--data", str(root / "imagenet-a"), "--attacks", "clean") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "--data imagenet-a=DIR gives the number that papers report" in printed
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["condition"], row["flags"]) == ("clean", "classes-of-imagenet-a")
