"""What a person reads on the terminal: every number with what must be known about it."""

import io
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from torch import Tensor

from attacks import ATTACKS
from reports import merge, print_results, results
from reports.metrics.flags import explain_flag
from robustbench_twicing import evaluate
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.evaluation.options import Shard
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task
from tests.tiny import column, convnet, greys, halfspace, noise, quick_conditions, run, table


def shown(done: Run, width: int = 200) -> str:
    """The text without colours; lines are as long as the width allows."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    runs = merge([done.folder])
    print_results(runs, results(runs), console)
    file: Any = console.file
    text: str = file.getvalue()
    return text


def cells(text: str, condition: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line[:1] in "│|" and f" {condition} " in line)
    return [cell.strip() for cell in re.split("[│|]", line)[1:-1]]


@pytest.mark.slow
def test_a_row_holds_rounded_numbers_of_results(tmp_path: Path) -> None:
    done = run(
        halfspace(),
        greys([200] * 3, [1, 1, 0]),
        quick_conditions("clean", "fgsm"),
        tmp_path / "run",
    )
    text, rows = shown(done), table(done)
    assert cells(text, "clean")[:6] == ["clean", "66.67", "20.8-93.9", "100.00", "66.67", "0"]
    row_cells = cells(text, "fgsm@4/255")
    assert row_cells[1] == f"{rows['fgsm@4/255']['top1']:.2f}"
    assert row_cells[5] == "4"
    assert "halfspace on tiny, 3 images, protocol pixel" in text
    assert str(done.folder.path) not in text


@pytest.mark.slow
def test_it_fits_on_a_terminal_of_80_columns(tmp_path: Path) -> None:
    conditions = quick_conditions("clean", "fgsm", budgets=[Fraction(1, 510)])
    done = run(halfspace(), greys([200] * 3, [1, 1, 1]), conditions, tmp_path / "run")
    text = shown(done, width=80)
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())
    assert cells(text, "fgsm@0.5/255")[1:4] == ["100.00", "43.9-100.0", "100.00"]


@pytest.mark.slow
def test_a_failed_condition_shows_no_number_and_says_why(tmp_path: Path) -> None:
    def broken(model: Any, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        raise ZeroDivisionError("no [red]luck[/red]")

    done = evaluate(convnet(), noise(3), {"clean": None, "it@4/255": broken}, out=tmp_path / "run")
    text = shown(done)
    assert cells(text, "it@4/255")[1] == "error"
    assert not re.search(r"\d\d\.\d", " ".join(cells(text, "it@4/255")))
    assert (
        "convnet: it@4/255 failed and is not scored: ZeroDivisionError: no [red]luck[/red]" in text
    )


@pytest.mark.slow
def test_an_incomplete_condition_shows_how_far_it_came(tmp_path: Path) -> None:
    done = run(convnet(), noise(7), [clean()], tmp_path / "run", batch_size=3, shard=Shard(1, 2))
    assert cells(shown(done), "clean")[1:3] == ["incomplete", "4 images"]


@pytest.mark.slow
def test_skipped_images_are_listed_once(tmp_path: Path) -> None:
    done = run(
        convnet(),
        noise(4, bad=[2]),
        quick_conditions("clean", "pgd"),
        tmp_path / "run",
        on_bad_image="skip",
    )
    assert shown(done).count("skipped: /photos/2.png it is damaged") == 1


@pytest.mark.slow
def test_of_many_skipped_images_the_first_are_listed(tmp_path: Path) -> None:
    data = noise(9, bad=range(1, 8))
    done = run(convnet(), data, [clean()], tmp_path / "run", on_bad_image="skip")
    text = shown(done)
    assert text.count("it is damaged") == 3
    assert "- skipped: 4 more images; --images FILE lists them" in text


@pytest.mark.slow
def test_flags_notes_and_protocols_are_explained(tmp_path: Path) -> None:
    model = convnet()
    model.record = replace(
        model.record, flags=("random-weights",), notes=("Position embedding [x] resampled.",)
    )
    data = replace(noise(3), notes=("Folders are named by index.",), flags=("limit-3-of-9",))
    attack = ATTACKS["fgsm"].condition(Fraction(4, 255), "paper")
    text = shown(run(model, data, [clean("paper"), attack], tmp_path / "run"))
    for sentence in (
        "- random-weights: the network was never trained",
        "- limit-3-of-9: a seeded subset of 3 of the 9 images",
        "- convnet: Position embedding [x] resampled.",
        "- tiny: Folders are named by index.",
        "- protocol paper: as the Twicing paper's numbers were made",
    ):
        assert sentence in text


@pytest.mark.slow
def test_two_protocols_are_never_in_one_table_of_accuracies(tmp_path: Path) -> None:
    conditions = [
        each
        for protocol in ("pixel", "paper")
        for each in (clean(protocol), ATTACKS["fgsm"].condition(Fraction(4, 255), protocol))
    ]
    text = shown(run(convnet(), noise(3), conditions, tmp_path / "run"))
    assert text.count("protocol pixel") >= 1
    first, rest = text.split("protocol paper", 1)
    assert first.count("fgsm@4/255") == 1
    side = rest.split("side by side", 1)[1]
    assert cells(side, "fgsm@4/255")[2] == "4"
    assert cells(side, "fgsm@4/255")[4] == "1.2"
    assert cells(side, "clean")[1] == cells(side, "clean")[3]


@pytest.mark.slow
def test_what_a_note_marks_is_marked_in_its_table_whatever_else_stands_there(
    tmp_path: Path,
) -> None:
    """Even where all rows of a table have the flag; the note says of which protocol it is."""
    weaker = {"steps": 3}
    conditions = [
        ATTACKS["pgd"].condition(Fraction(4, 255), protocol, settings)
        for protocol, settings in (("pixel", {}), ("paper", weaker))
    ]
    text = shown(run(convnet(), noise(3), conditions, tmp_path / "run"))
    pixel, paper = text.split("side by side")[0].split("protocol paper\n")
    assert cells(pixel, "pgd@4/255")[-1] != "!"
    assert cells(paper, "pgd@4/255")[-1] == "!"
    assert "- ! steps=3 (pgd@4/255 paper): " in text


@pytest.mark.slow
def test_each_label_has_its_section(tmp_path: Path) -> None:
    models = {"deit[10-12]": convnet(0), "[red]b[/red]": convnet(1)}
    done = evaluate_models(
        models, [make_task(noise(3), [clean()])], out=tmp_path / "run", options=Options()
    )
    text = shown(done)
    for label, top1 in zip(models, column(done, "top1"), strict=True):
        section = text.split(f"{label} on tiny", 1)[1]
        assert cells(section.split(" on tiny")[0], "clean")[1] == f"{top1:.2f}"


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("random-weights", "never trained"),
        ("arch-override", "another one"),
        ("limit-12-of-100", "subset of 12 of the 100 images"),
        ("batch-halved", "memory ran out"),
        ("steps=3", "constant steps is 3 here"),
        ("files-left-out-3", "left out: 3"),
        ("zero-gradient-50%", "exactly zero at 50% of the images"),
        ("something new", "see the manifest"),
    ],
)
def test_a_flag_is_explained_in_a_sentence(flag: str, words: str) -> None:
    assert words in explain_flag(flag)
