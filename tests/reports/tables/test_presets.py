"""The tables of the paper, from records that are written down."""

from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from reports import Runs, corruption_scores, merge, results
from reports.console import print_results
from reports.imagenet_c.corruption_error import EXTRA, MAIN, SEVERITIES, ReferenceErrors
from reports.tables.presets import Choices, preset_names, preset_tables
from reports.tables.presets.table1 import PAPER_BUDGETS
from reports.tables.table import Table
from robustbench_twicing.errors import UserError
from tests.reports.made import GOAL, Outcomes, write_run

pytestmark = pytest.mark.slow

RIGHT, CLOSE, WRONG = 0, 3, 9
ATTACKED: Outcomes = {
    "clean": [RIGHT, RIGHT, RIGHT, CLOSE],
    "fgsm@4/255": [RIGHT, RIGHT, CLOSE, WRONG],
    "pgd@4/255": [RIGHT, CLOSE, WRONG, WRONG],
    "pgd@1/255": [RIGHT, RIGHT, CLOSE, WRONG],
    "spsa@1/255": [RIGHT, RIGHT, RIGHT, WRONG],
}


def tables(
    name: str, *folders: Any, reference: ReferenceErrors | None = None, **choices: Any
) -> list[Table]:
    runs = merge(folders)
    table = results(runs)
    scores = corruption_scores(table, reference=reference)
    return preset_tables(name, runs, table, Choices(scores=scores, **choices))


def values(sheet: Table, row: int = 0) -> list[str]:
    return [sheet.cell(row, column) for column in range(len(sheet.columns))]


def heads(sheet: Table) -> list[str]:
    return [column.full_name for column in sheet.columns]


def test_table_1_has_the_columns_of_the_paper(tmp_path: Path) -> None:
    (sheet,) = tables("table1", write_run(tmp_path, {"a": ATTACKED}, protocol="paper"))
    assert heads(sheet) == [
        *("Clean top-1", "Clean top-5", "PGD 4/255 top-1", "PGD 4/255 top-5"),
        *("FGSM 4/255 top-1", "FGSM 4/255 top-5", "SPSA 1/255 top-1", "SPSA 1/255 top-5"),
    ]
    assert values(sheet) == [
        "75.00",
        "100.00",
        "25.00",
        "50.00",
        "50.00",
        "75.00",
        "75.00",
        "75.00",
    ]
    assert sheet.place == "data set val; images 4; protocol paper; seed 0"
    assert any("4/255 at most 1.2/255" in note for note in sheet.notes)


def test_another_budget_is_chosen_and_stands_in_the_head(tmp_path: Path) -> None:
    budgets = {**PAPER_BUDGETS, "pgd": Fraction(1, 255)}
    (sheet,) = tables("table1", write_run(tmp_path, {"a": ATTACKED}), budgets=budgets)
    assert "PGD 1/255 top-1" in heads(sheet)
    assert values(sheet)[2:4] == ["50.00", "75.00"]


def test_what_was_not_run_is_an_empty_cell_with_a_note(tmp_path: Path) -> None:
    less = {name: ATTACKED[name] for name in ("clean", "pgd@1/255")}
    runs = [write_run(tmp_path / "1", {"a": ATTACKED}), write_run(tmp_path / "2", {"b": less})]
    (sheet,) = tables("table1", *runs)
    assert values(sheet, 1) == ["75.00", "100.00", *[""] * 6]
    assert sheet.frame.isna().iloc[1, 2]
    assert "pgd@4/255 was not run for b; there is 1/255." in sheet.notes
    assert "fgsm@4/255 was not run for b." in sheet.notes
    assert not any("for a" in note for note in sheet.notes)


def test_what_failed_or_is_incomplete_is_empty_with_the_reason(tmp_path: Path) -> None:
    failed: Outcomes = {**ATTACKED, "pgd@4/255": [RIGHT, "error", RIGHT, RIGHT]}
    runs = [
        write_run(tmp_path / "1", {"a": failed}),
        write_run(tmp_path / "2", {"b": ATTACKED}, part_size=2, shard=(1, 2)),
    ]
    (sheet,) = tables("table1", *runs)
    assert values(sheet)[2:4] == ["", ""]
    assert values(sheet)[0] == "75.00"
    assert "a: pgd@4/255 failed and is not scored: 1.png has error" in sheet.notes
    assert values(sheet, 1) == [""] * 8
    assert "b: clean is incomplete (2 images so far) and not scored." in sheet.notes


def test_many_messages_of_one_condition_are_counted(tmp_path: Path) -> None:
    """Each batch names an image of its own."""
    failed: Outcomes = {**ATTACKED, "pgd@4/255": ["error"] * 4, "fgsm@4/255": ["error"] * 4}
    (sheet,) = tables("table1", write_run(tmp_path / "1", {"a": failed}))
    start = "a: fgsm@4/255, pgd@4/255 failed and is not scored: "
    reasons = [note.removeprefix(start) for note in sheet.notes if note.startswith(start)]
    assert reasons == [
        *(f"{image}.png has error" for image in range(3)),
        "1 more such messages in the records",
    ]


def test_flags_that_matter_are_said(tmp_path: Path) -> None:
    models = {"a": {"flags": ["random-weights"]}}
    (sheet,) = tables("table1", write_run(tmp_path, {"a": ATTACKED}, models=models))
    assert sheet.about["flags"].tolist() == ["random-weights"]
    assert any(note.startswith("random-weights: the network was never") for note in sheet.notes)


def test_protocols_and_data_sets_have_tables_of_their_own(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "1", {"a": ATTACKED}),
        write_run(tmp_path / "2", {"a": ATTACKED}, protocol="paper"),
        write_run(tmp_path / "3", {"a": ATTACKED}, data={"name": "other"}),
    ]
    for name in ("results", "table1", "featscale"):
        places = [sheet.place for sheet in tables(name, *folders)]
        assert len(places) == len(set(places)) == 3
        assert [place.count("pixel") for place in places] == [1, 0, 1]


def test_groups_follow_the_backbone(tmp_path: Path) -> None:
    families = {
        "x": "fan",
        "a": "deit",
        "b": "timm",
        "c": "twicing",
        "y": "fan_twicing",
        "d": "neutreno",
        "e": "deit_distilled",
    }
    models = {label: {"family": family} for label, family in families.items()}
    (sheet,) = tables(
        "featscale", write_run(tmp_path, dict.fromkeys(families, ATTACKED), models=models)
    )
    assert [name for (name,) in sheet.row_names] == ["x", "y", "a", "c", "d", "e", "b"]
    assert sheet.groups == ("FAN", "FAN", "DeiT", "DeiT", "DeiT", "DeiT", "timm")


def test_layers_put_the_plain_model_first_then_more_twicing_layers(tmp_path: Path) -> None:
    def twicing(layers: str) -> dict[str, Any]:
        return {"family": "twicing", "model": f"deit_tiny_twicing_patch16_224{layers}"}

    models: dict[str, dict[str, Any]] = {
        "late": twicing("[10-12]"),
        "all": twicing(""),
        "neutreno": {"family": "neutreno"},
        "half": twicing("[7-12]"),
        "two": twicing("[1,12]"),
        "plain": {},
    }
    (sheet,) = tables("layers", write_run(tmp_path, dict.fromkeys(models, ATTACKED), models=models))
    assert [name for (name,) in sheet.row_names] == ["plain", "all", "half", "late", "two"]
    assert [sheet.cell(row, 0) for row in range(5)] == ["none", "all", "7-12", "10-12", "1,12"]
    assert values(sheet)[1] == "75.00"


def test_layers_need_a_twicing_model(tmp_path: Path) -> None:
    assert tables("layers", write_run(tmp_path, {"a": ATTACKED})) == []


PGD = ("pgd@1/255", "pgd@4/255")


def test_a_sweep_of_unlike_constants_has_no_area(tmp_path: Path) -> None:
    one, other = ({"clean": ATTACKED["clean"], name: ATTACKED[name]} for name in PGD)
    runs = [
        write_run(tmp_path / "1", {"a": one}),
        write_run(tmp_path / "2", {"a": other}, settings={"steps": 5}),
    ]
    (sheet,) = tables("sweeps", *runs)
    assert values(sheet) == ["75.00", "50.00", "25.00", ""]
    assert any(
        note == "No area of a: its budgets are of the protocol's constants and steps=5."
        for note in sheet.notes
    )


def test_sweeps_have_an_area_where_all_budgets_are_there(tmp_path: Path) -> None:
    less = {name: rows for name, rows in ATTACKED.items() if name != "pgd@1/255"}
    runs = [write_run(tmp_path / "1", {"a": ATTACKED}), write_run(tmp_path / "2", {"b": less})]
    found = {sheet.name: sheet for sheet in tables("sweeps", *runs)}
    pgd = found["sweep-pgd-val-pixel"]
    assert heads(pgd) == ["clean", "1/255", "4/255", "area 0-4"]
    area = ((75 + 50) / 2 * 1 + (50 + 25) / 2 * 3) / 4
    assert values(pgd) == ["75.00", "50.00", "25.00", f"{area:.2f}"]
    assert values(pgd, 1) == ["75.00", "", "25.00", ""]
    assert set(found) == {f"sweep-{name}-val-pixel" for name in ("fgsm", "pgd", "spsa")}


def test_sweeps_of_two_protocols_are_apart(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, {"a": ATTACKED}, protocol=name) for name in ("pixel", "paper")
    ]
    names = [sheet.name for sheet in tables("sweeps", *runs)]
    assert sorted(name.rpartition("-")[2] for name in names) == ["paper"] * 3 + ["pixel"] * 3


CELLS = [f"imagenet-c/{name}/{level}" for name in (*MAIN, *EXTRA) for level in SEVERITIES]


def corrupted(wrong: int) -> Outcomes:
    """The same number of four images wrong in every cell."""
    return dict.fromkeys(CELLS, [WRONG] * wrong + [RIGHT] * (4 - wrong))


HALF = ReferenceErrors(
    "Half", dict.fromkeys(((n, s) for n in (*MAIN, *EXTRA) for s in SEVERITIES), 0.5), 0.25
)


def test_table_2_has_other_sets_and_corruption_errors(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "r", {"a": {"imagenet-r": [0, 0, 0, 9]}}, data={"name": "imagenet-r"}),
        write_run(tmp_path / "a", {"a": {"imagenet-a": [0, 9]}}, data={"name": "imagenet-a"}),
        write_run(tmp_path / "c", {"a": corrupted(1), "b": corrupted(3)}),
    ]
    (sheet,) = tables("table2", *folders, reference=HALF)
    assert heads(sheet) == [
        *("ImageNet-R top-1", "ImageNet-A top-1", "ImageNet-C mCE", "ImageNet-C (extra) mean CE"),
    ]
    assert values(sheet) == ["75.00", "50.00", "50.00", "50.00"]
    assert values(sheet, 1) == ["", "", "150.00", "150.00"]
    assert "imagenet-r was not run for b." in sheet.notes
    assert any("in percent of those of Half" in note for note in sheet.notes)
    assert sheet.about["dataset"].tolist()[0] == "imagenet-r, imagenet-a, val"


def test_an_incomplete_mce_is_empty_and_says_what_is_missing(tmp_path: Path) -> None:
    less = {name: rows for name, rows in corrupted(1).items() if name != "imagenet-c/fog/3"}
    (sheet,) = tables("table2", write_run(tmp_path, {"a": less}))
    assert values(sheet)[2] == ""
    assert values(sheet)[3] != ""
    assert "No mCE of a: incomplete (fog/3)." in sheet.notes


def test_images_of_other_classes_have_no_mce(tmp_path: Path) -> None:
    (sheet,) = tables("table2", write_run(tmp_path, {"a": corrupted(1)}, data={"num_classes": 10}))
    assert values(sheet) == ["", "", "", ""]
    assert any("No mCE of a: not-comparable (the norm" in note for note in sheet.notes)
    assert not any("in percent of those of" in note for note in sheet.notes)


def test_sources_of_corrupted_images_never_share_a_column(tmp_path: Path) -> None:
    official = {"name": "other", "source": "official"}
    folders = [
        write_run(tmp_path / "1", {"a": corrupted(1)}),
        write_run(tmp_path / "2", {"b": corrupted(1)}, data=official),
    ]
    wanted = r"would mix images of files on val \(a\) and official on other \(b\)"
    with pytest.raises(UserError, match=wanted):
        tables("table2", *folders)


@pytest.mark.parametrize("name", preset_names())
def test_other_constants_never_share_a_column(name: str, tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "1", {"a": ATTACKED}),
        write_run(
            tmp_path / "2", {"b": {"pgd@4/255": ATTACKED["pgd@4/255"]}}, settings={"steps": 40}
        ),
    ]
    refused = False
    try:
        tables(name, *folders)
    except UserError as error:
        assert "would mix: settings.steps is 20 for a and 40 for b" in str(error)  # noqa: PT017
        refused = True
    assert refused or name not in ("table1", "sweeps")


def test_all_results_show_status_only_where_it_matters(tmp_path: Path) -> None:
    (good,) = tables("results", write_run(tmp_path / "1", {"a": ATTACKED}))
    assert "status" not in heads(good)
    assert good.stub == ("model", "condition")
    failed: Outcomes = {"clean": [RIGHT, "error"]}
    (bad,) = tables("results", write_run(tmp_path / "2", {"a": failed}))
    assert heads(bad)[-1] == "status"
    assert values(bad) == [*[""] * 6, "error"]


def test_no_run_makes_no_table() -> None:
    empty = Runs()
    for name in preset_names():
        assert preset_tables(name, empty, results(empty)) == []


def test_one_image_and_long_names(tmp_path: Path) -> None:
    label = "模" * 300
    (sheet,) = tables("table1", write_run(tmp_path, {label: {"clean": [RIGHT]}}))
    assert values(sheet)[0] == "100.00"
    assert len(sheet.name) < 120


def test_targeted_attacks_have_three_outcomes(tmp_path: Path) -> None:
    """Of five images, the last was wrong before, and another way."""
    outcomes: Outcomes = {
        "clean": [RIGHT, RIGHT, RIGHT, RIGHT, WRONG],
        "pgd-t@1/255": [RIGHT, RIGHT, GOAL, WRONG, GOAL],
        "pgd-t@4/255": [RIGHT, GOAL, GOAL, GOAL, GOAL],
        "fgsm@4/255": [RIGHT, RIGHT, GOAL, GOAL, GOAL],
    }
    folder = write_run(tmp_path, {"a": outcomes})
    (sheet,) = tables("targeted", folder)
    assert heads(sheet) == [
        f"pgd-t@{eps}/255 {name}"
        for eps in (1, 4)
        for name in ("right", "goal hit", "wrong otherwise", "goal hit of right")
    ]
    assert values(sheet) == ["40.00", "40.00", "20.00", "25.00", "20.00", "80.00", "0.00", "75.00"]
    assert any(note.startswith("pgd-t moves each image towards one class") for note in sheet.notes)
    (sheet,) = tables("results", folder)
    place = heads(sheet).index("goal hit")
    assert [values(sheet, row)[place] for row in range(4)] == ["", "40.00", "80.00", ""]
    written = StringIO()
    print_results(merge([folder]), results(merge([folder])), Console(file=written, width=200))
    assert "goal hit %" in written.getvalue()


@pytest.mark.parametrize(("right", "images"), [(1, 3), (2, 3), (5, 12)])
def test_images_that_are_wrong_otherwise_are_never_fewer_than_none(
    right: int, images: int, tmp_path: Path
) -> None:
    """100 - 100/3 - 200/3 is below 0 in floating point."""
    attacked = [RIGHT] * right + [GOAL] * (images - right)
    outcomes: Outcomes = {"clean": [RIGHT] * images, "pgd-t@1/255": attacked}
    failed: Outcomes = {"clean": [RIGHT] * images, "pgd-t@1/255": ["error", *attacked[1:]]}
    (sheet,) = tables("targeted", write_run(tmp_path, {"a": outcomes, "b": failed}))
    assert sheet.frame[2].iloc[0] == 0
    assert values(sheet)[2] == "0.00"
    assert values(sheet, 1) == [""] * 4


def test_without_targeted_attacks_no_goals_are_shown(tmp_path: Path) -> None:
    folder = write_run(tmp_path, {"a": ATTACKED})
    assert tables("targeted", folder) == []
    (sheet,) = tables("results", folder)
    assert "goal hit" not in heads(sheet)
