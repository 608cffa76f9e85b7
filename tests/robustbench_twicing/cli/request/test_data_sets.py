"""Several data sets in one run, from the command line: found, named, left out, never lost."""

import csv
import json
from pathlib import Path

import pytest

from robustbench_twicing.cli.app import main
from robustbench_twicing.cli.options.evaluation import EvalOptions
from robustbench_twicing.cli.request import conditions
from robustbench_twicing.cli.request.conditions import read_conditions
from robustbench_twicing.cli.request.data_sets import Sources, find_below
from robustbench_twicing.cli.request.tasks import conditions_by_set
from robustbench_twicing.conditions.suites import Suite, load_suite
from robustbench_twicing.errors import UserError
from tests.palette import wnid_folders, write
from tests.robustbench_twicing.cli.conftest import EvaluateSets as Eval
from tests.robustbench_twicing.cli.conftest import one_line as line

pytestmark = pytest.mark.slow

ALL = ("imagenet", "imagenet-a", "imagenet-r", "imagenetv2", "imagenet-sketch")
BESIDE = ("clean/imagenet-a-classes", "clean/imagenet-r-classes")


def found(tmp_path: Path) -> dict[str, list[str]]:
    """Conditions of results.csv by data set, without worst cases; every row is whole."""
    sets: dict[str, list[str]] = {}
    with (tmp_path / "run" / "results.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            assert row["status"] == "ok"
            if row["attack"] != "worst":
                sets.setdefault(row["dataset"], []).append(row["condition"])
    return sets


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
    (message,) = (line for line in captured.err.splitlines() if line.startswith(str(root)))
    assert message == (
        f"{root}: found imagenet (imagenet), imagenet-a (imagenet-a), imagenet-r (ImageNet_R), "
        "imagenetv2 (imagenetv2-matched-frequency-format-val), imagenet-sketch (sketch); "
        "not found objectnet, imagenet-c"
    )
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [evaluation["dataset"]["name"] for evaluation in manifest["evaluations"]] == [*ALL]
    assert (
        len({evaluation["dataset"]["fingerprint"] for evaluation in manifest["evaluations"]}) == 5
    )
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


def test_attacks_are_for_the_clean_images_alone(root: Path, evaluate: Eval, tmp_path: Path) -> None:
    a = f"imagenet-a={root}/imagenet-a"
    clean = ("--data", f"imagenet={root}/imagenet")
    budget = ("--eps", "1/255", "--limit", "4")
    assert evaluate(*clean, "--data", a, *budget) == 0
    assert found(tmp_path) == {
        "imagenet": [
            *("clean", "clean/imagenet-a-classes"),
            *("fgsm@1/255", "pgd@1/255", "noise@1/255"),
        ],
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


def ids(options: EvalOptions, sources: Sources) -> dict[str | None, list[str]]:
    found = conditions_by_set(read_conditions(options), sources).items()
    return {name: [condition.id for condition in conditions] for name, conditions in found}


def test_what_named_attacks_are_for() -> None:
    """For the sets of the suite and those of --data; corruptions are of clean images alone."""
    sources = Sources(("val",), {"imagenet-a": "imagenet-a=a"})
    named = {"attacks": "clean,fgsm", "eps": "1/255"}
    both = ["clean", "fgsm@1/255"]
    below = ids(EvalOptions(suite="shifts", **named), sources)  # type: ignore[arg-type]
    assert below == {None: ["clean"], "imagenet-a": both}
    given = ids(EvalOptions(suite="shifts", data=["val"], **named), sources)  # type: ignore[arg-type]
    assert given == {None: both, "imagenet-a": both}
    corrupted = ids(EvalOptions(attacks="clean,imagenet-c/fog/1"), sources)
    assert corrupted == {None: ["clean", "imagenet-c/fog/1"], "imagenet-a": ["clean"]}


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


def test_plan_names_every_set(
    root: Path, evaluate: Eval, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate("--suite", "shifts", "--data-root", str(root), command="plan") == 0
    printed = capsys.readouterr().out
    assert f"{root}: found imagenet (imagenet)" in printed
    for name, images in (("imagenet-a", 200), ("imagenetv2", 3), ("imagenet-sketch", 2)):
        assert f"palette on {name}, {images} images" in printed
    cells = [line.strip(" │").split("│") for line in printed.splitlines() if "1000-way" in line]
    assert [[part.strip() for part in cell] for cell in cells] == [
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


@pytest.mark.parametrize(
    ("says", "source", "files"),
    [
        ({}, "official", 2),
        ({"imagenet_c_jpeg": "none"}, "generated-memory", None),
        ({"imagenet_c": "own"}, "official", 1),
    ],
)
def test_imagenet_c_of_the_root_serves_corruptions(
    says: dict[str, str],
    source: str,
    files: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its files are read, unless the user says where they are or how to make them."""
    monkeypatch.chdir(tmp_path)
    write(Path("own") / "fog" / "1", wnid_folders([1]))
    write(Path("below") / "fog" / "1", wnid_folders([2, 3]))
    options = EvalOptions(corruptions="fog", severities="1", **says)  # type: ignore[arg-type]
    sources = Sources(("val",), {}, imagenet_c="below")
    made = conditions_by_set(read_conditions(options), sources)[None]
    (described,) = (
        condition.images.describe() for condition in made if condition.images is not None
    )
    assert (described["source"], described.get("files")) == (source, files)


def test_the_suite_is_read_once(
    root: Path, evaluate: Eval, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although every data set has conditions of it."""
    names: list[str] = []

    def load(name: str) -> Suite:
        names.append(name)
        return load_suite(name)

    monkeypatch.setattr(conditions, "load_suite", load)
    assert evaluate("--suite", "shifts", "--data-root", str(root), "--limit", "1") == 0
    assert names == ["shifts"]
