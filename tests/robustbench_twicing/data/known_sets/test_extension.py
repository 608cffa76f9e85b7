"""A test set of one's own, known by name: one declaration, and nothing else is changed."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from robustbench_twicing.cli.app import main
from robustbench_twicing.conditions.suites.reading import parse_suite
from robustbench_twicing.data.imagenet import SUBSETS, subset_indices, wnids
from robustbench_twicing.data.known_sets.table import KNOWN_SETS, KnownSet, declare, known_set
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from tests.palette import CODE, wnid_folders, write

CLASSES = (3, 500, 7)


@pytest.fixture
def mini() -> Iterator[str]:
    """A set of three classes, over whose logits alone it is scored."""
    name = "imagenet-mini"
    known = KnownSet(name, "ImageNet-Mini", 3, 3, "wnid", ("mini-set",), aliases=("mini",))
    declare(known, wnids=[wnids()[index] for index in CLASSES])
    yield name
    del KNOWN_SETS[name], SUBSETS[name]
    subset_indices.cache_clear()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The set under its usual name beside clean images, and the network."""
    write(tmp_path / "sets" / "Mini_Set", wnid_folders(CLASSES))
    write(tmp_path / "sets" / "imagenet", wnid_folders([0, 3, 7, 500]))
    (tmp_path / "model.py").write_text(CODE)
    return tmp_path


def test_it_is_opened_by_its_name_and_scored_over_its_classes(mini: str, root: Path) -> None:
    data = open_dataset(f"mini={root / 'sets' / 'Mini_Set'}")
    assert (data.name, data.clean_id, data.num_classes) == (mini, mini, 3)
    assert sorted(zip(data.labels, (0, 1, 2), strict=True)) == [(0, 0), (1, 1), (2, 2)]
    assert data.space is not None
    assert data.space.logits == ((3,), (7,), (500,))
    assert "scored over the 3 classes of ImageNet-Mini alone" in data.notes[0]
    assert known_set("mini").name == mini
    with pytest.raises(UserError, match=r"is not ImageNet-Mini: .* are not among"):
        open_dataset(f"{mini}={root / 'sets' / 'imagenet'}")


def test_a_plain_folder_of_its_classes_is_flagged(mini: str, root: Path) -> None:
    assert open_dataset(root / "sets" / "Mini_Set").flags == (f"classes-of-{mini}",)


def test_data_shows_it(mini: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", f"mini={root / 'sets' / 'Mini_Set'}"]) == 0
    text = capsys.readouterr().out
    assert mini in text
    assert "ImageNet-Mini" in text
    assert main(["data", str(root / "sets" / "Mini_Set")]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "its 3 classes are exactly those of ImageNet-Mini" in text


def test_a_suite_file_may_name_it(mini: str) -> None:
    suite = parse_suite("conditions: [{attack: clean, dataset: mini}]", "mine")
    assert suite.conditions[0].dataset == mini
    with pytest.raises(UserError, match=r"allowed here: .*imagenet-mini"):
        parse_suite("conditions: [{attack: clean, dataset: nothing}]", "mine")


@pytest.mark.slow
def test_it_is_found_planned_evaluated_and_reported(
    mini: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = root / "mine.yaml"
    suite.write_text("conditions: [{attack: clean}, {attack: clean, dataset: mini}]")
    asked = (
        *("--model", f"{root / 'model.py'}:build", "--suite", str(suite)),
        *("--data-root", str(root / "sets"), "--crop", "8", "--resize", "8", "--device", "cpu"),
    )
    assert main(["plan", *asked]) == 0
    assert f"{mini}/1000-way" in capsys.readouterr().out
    assert main(["eval", *asked, "--out", str(root / "run")]) == 0
    with (root / "run" / "results.csv").open(newline="") as file:
        rows = {row["condition"]: row for row in csv.DictReader(file)}
    assert list(rows) == ["clean", f"clean/{mini}-classes", mini, f"{mini}/1000-way"]
    assert {row["top1"] for row in rows.values()} == {"100.0"}
    assert "3-way" in rows[mini]["flags"]
    assert rows[f"clean/{mini}-classes"]["n_images"] == "3"
    assert "3-way" in rows[f"clean/{mini}-classes"]["flags"].split(";")
    page = root / "page"
    assert main(["report", str(root / "run"), "--out", str(page), "--format", "html"]) == 0
    assert mini in (page / "index.html").read_text()
