"""Models against a baseline on the same images: counts by hand, and refusals with their reasons."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from reports import merge, results
from reports.metrics.worst import with_worst
from reports.statistics.changed import CHANGED
from reports.statistics.comparison import ROWS, Comparison, compare, save_comparison
from reports.statistics.paired import Pair, difference_interval, holm, mcnemar
from reports.tables.comparing import comparison_notes, comparison_tables, tables_by_model
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.session import add_session
from tests.reports.made import Outcomes, runs_of, write_run

BASE: Outcomes = {"clean": [0, 0, 0, 1, 1, 0, 2, 0], "pgd@1/255": [0, 0, 1, 1, 1, 0, 2, 1]}
OTHER: Outcomes = {"clean": [0, 3, 0, 0, 1, 0, 0, 0], "pgd@1/255": [0, 0, 0, 0, 0, 0, 0, 1]}


def against(folders: list[RunFolder], **options: Any) -> Comparison:
    runs = merge(folders)
    return compare(runs, results(runs), **options)


def both(tmp_path: Path, other: Mapping[str, Any] | None = None, **options: Any) -> Comparison:
    """Model a in one run, model b in another that may differ."""
    folders = [
        write_run(tmp_path / "a", {"a": BASE}),
        write_run(tmp_path / "b", {"b": options.pop("outcomes", OTHER)}, **(other or {})),
    ]
    return against(folders, **options)


@pytest.mark.slow
def test_counts_differences_and_p_values(tmp_path: Path) -> None:
    comparison = both(tmp_path)
    assert comparison.baseline == "a"
    assert comparison.rows.columns.tolist() == list(ROWS)
    clean, pgd = comparison.rows.to_dict("records")
    assert (clean["condition"], clean["label"], clean["n_images"]) == ("clean", "b", 8)
    assert (clean["n_only_baseline"], clean["n_only_label"]) == (1, 2)
    assert (clean["baseline_top1"], clean["top1"], clean["difference"]) == (62.5, 75, 12.5)
    assert (pgd["n_only_baseline"], pgd["n_only_label"]) == (0, 4)
    pairs = [Pair(4, 1, 2, 1), Pair(3, 0, 4, 1)]
    for row, pair in zip((clean, pgd), pairs, strict=True):
        assert row["p"] == mcnemar(pair)
        wanted = [100 * bound for bound in difference_interval(pair, seed=0)]
        assert [row["difference_ci_low"], row["difference_ci_high"]] == wanted
    assert [clean["p_holm"], pgd["p_holm"]] == holm([clean["p"], pgd["p"]])
    assert not clean["significant"]
    assert clean["images"] == "all"


@pytest.mark.slow
def test_images_that_changed_are_listed(tmp_path: Path) -> None:
    changed = both(tmp_path).changed
    assert changed.columns.tolist() == list(CHANGED)
    clean = changed[changed["condition"] == "clean"]
    assert clean["image"].tolist() == ["1.png", "3.png", "6.png"]
    assert clean["target"].tolist() == [1, 3, 6]
    assert clean["baseline_prediction"].tolist() == [1, 4, 8]
    assert clean["prediction"].tolist() == [4, 3, 6]
    assert clean["change"].tolist() == ["lost", "won", "won"]
    assert len(changed) == 3 + 4


@pytest.mark.slow
def test_the_baseline_may_be_any_label(tmp_path: Path) -> None:
    comparison = both(tmp_path, baseline="b")
    assert comparison.rows["label"].tolist() == ["a", "a"]
    assert comparison.rows["difference"].tolist()[0] == -12.5
    with pytest.raises(UserError, match=r"--baseline 'c' is unknown. Known: a, b"):
        both(tmp_path, baseline="c")


@pytest.mark.slow
def test_all_comparisons_are_one_family(tmp_path: Path) -> None:
    made = {"a": BASE, "b": OTHER, "c": OTHER, "d": BASE}
    rows = against([write_run(tmp_path / "run", made)]).rows
    assert rows["label"].tolist() == ["b", "b", "c", "c", "d", "d"]
    assert rows["p_holm"].tolist() == holm(rows["p"].tolist())


@pytest.mark.slow
def test_a_budget_of_0_and_the_control_are_no_tests_of_their_own(tmp_path: Path) -> None:
    """Were all four tests, Holm's largest factor would be 4, not 2."""
    names = ("clean", "pgd@0/255", "noise@4/255", "pgd@1/255")
    made: dict[str, Outcomes] = {
        label: dict.fromkeys(names, outcomes["pgd@1/255"])
        for label, outcomes in (("a", BASE), ("b", OTHER))
    }
    comparison = against([write_run(tmp_path / "run", made)])
    rows = comparison.rows.set_index("condition")
    tested = rows.loc[["clean", "pgd@1/255"]]
    assert tested["p_holm"].tolist() == holm(tested["p"].tolist())
    untested = rows.loc[["pgd@0/255", "noise@4/255"]]
    assert untested["p_holm"].isna().all()
    assert not untested["significant"].any()
    assert untested["p"].tolist() == tested["p"].tolist()
    (sheet,) = comparison_tables(comparison)
    assert [sheet.cell(row, 9) for row in range(4)] == ["not shown", *["no test"] * 2, "not shown"]
    assert any("corrected over all 2 comparisons" in note for note in sheet.notes)
    assert any(note.startswith("no test: a budget of 0") for note in sheet.notes)


@pytest.mark.slow
def test_a_clear_difference_is_significant(tmp_path: Path) -> None:
    made: dict[str, Outcomes] = {"a": {"clean": [1] * 12}, "b": {"clean": [0] * 12}}
    comparison = against([write_run(tmp_path / "run", made)])
    assert comparison.rows["significant"].tolist() == [True]
    (sheet,) = comparison_tables(comparison)
    assert sheet.cell(0, 9) == "better"
    (sheet,) = comparison_tables(against([write_run(tmp_path / "run", made)], baseline="b"))
    assert sheet.cell(0, 9) == "worse"


@pytest.mark.slow
def test_the_bootstrap_is_seeded(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    ranks = {name: {"clean": draw.integers(0, 2, 400).tolist()} for name in "ab"}
    run = write_run(tmp_path / "run", ranks, part_size=400)
    bounds = [
        against([run], seed=seed).rows["difference_ci_low"].tolist() for seed in (0, 0, 1, 2, 3)
    ]
    assert bounds[0] == bounds[1]
    assert len({tuple(bound) for bound in bounds}) > 1


LESS: Outcomes = {name: ranks[:5] for name, ranks in OTHER.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seed": 3}, "b cannot be compared with a under pgd@1/255: seed is 0 .* and 3 "),
        ({"attack_precision": "bf16"}, "under pgd@1/255: attack_precision is fp32 .* bf16"),
        ({"settings": {"steps": 3}}, r"under pgd@1/255: settings\.steps is 20 for the one and 3 "),
        (
            {"data": {"fingerprint": "f" * 64}},
            "under clean: the data sets differ: fingerprint is .*; --intersect compares the images",
        ),
        ({"outcomes": LESS}, "the data sets differ: n_images is 8 .* 5 .*; --intersect compares"),
        ({"data": {"fingerprint": "f" * 64, "source": "generated"}}, "source is files .* gener"),
    ],
)
def test_what_is_not_comparable_is_refused(
    options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    outcomes = options.pop("outcomes", OTHER)
    with pytest.raises(UserError, match=words):
        both(tmp_path, options, outcomes=outcomes)


@pytest.mark.slow
def test_the_seed_does_not_matter_to_clean_images(tmp_path: Path) -> None:
    clean: Outcomes = {"clean": OTHER["clean"]}
    assert len(both(tmp_path, {"seed": 3}, outcomes=clean).rows) == 1


@pytest.mark.slow
def test_other_protocols_have_nothing_in_common(tmp_path: Path) -> None:
    wanted = (
        "nothing can be compared with a: b has no clean, pgd@1/255 on val under protocol pixel; "
        "a has no clean, pgd@1/255 on val under protocol paper"
    )
    with pytest.raises(UserError, match=wanted):
        both(tmp_path, {"protocol": "paper"})


def test_one_label_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to compare"):
        against([write_run(tmp_path / "a", {"a": BASE})])


@pytest.mark.slow
def test_common_images_are_compared_by_name_and_said(tmp_path: Path) -> None:
    names = ["7.png", "2.png", "5.png", "other.png", "3.png"]
    ranks: Outcomes = {"clean": [0, 0, 1, 1, 0]}
    changed: dict[str, Any] = {"images": names, "data": {"name": "val", "fingerprint": "f" * 64}}
    made = write_run(tmp_path / "b", {"b": ranks}, **changed)
    _relabel(made, {"7.png": 7, "2.png": 2, "5.png": 5, "other.png": 3, "3.png": 3})
    folders = [write_run(tmp_path / "a", {"a": {"clean": BASE["clean"]}}), made]
    with pytest.raises(UserError, match="the data sets differ"):
        against(folders)
    comparison = against(folders, intersect=True)
    (row,) = comparison.rows.to_dict("records")
    # In common: 2 (0, 0), 3 (1, 0), 5 (0, 1), 7 (0, 0), as (baseline, label).
    assert row["n_images"] == 4
    assert row["images"] == "4 common of 8 and 5"
    assert (row["n_only_baseline"], row["n_only_label"]) == (1, 1)
    assert (row["baseline_top1"], row["top1"]) == (75, 75)
    assert comparison.changed["image"].tolist() == ["3.png", "5.png"]
    assert "b clean is compared on 4 common of 8 and 5 images" in comparison_notes(comparison)


def _relabel(folder: RunFolder, targets: dict[str, int]) -> None:
    """Give images the labels that they have elsewhere."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in folder.path.rglob("*.parquet"):
        table = pq.read_table(path)
        new = pa.array([targets[image] for image in table["image"].to_pylist()], pa.int32())
        place = table.schema.get_field_index("target")
        pq.write_table(table.set_column(place, "target", new), path)


@pytest.mark.slow
def test_no_common_image_is_refused(tmp_path: Path) -> None:
    options = {"images": [f"x{n}" for n in range(8)], "data": {"fingerprint": "f" * 64}}
    with pytest.raises(UserError, match="they have no image in common"):
        both(tmp_path, options, intersect=True)


@pytest.mark.slow
def test_one_name_with_two_labels_or_two_contents_is_refused(tmp_path: Path) -> None:
    names = [f"{(n + 1) % 8}.png" for n in range(8)]
    options: dict[str, Any] = {"images": names, "data": {"fingerprint": "f" * 64}}
    with pytest.raises(UserError, match=r"image 0\.png has another label there \(8 such images\)"):
        both(tmp_path, options, intersect=True)


@pytest.mark.slow
def test_other_pixels_under_one_name_are_refused_unless_the_crop_differs(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / name, {name: BASE}) for name in "ab"]
    runs = merge(folders)
    records = runs.records
    hashes = records["pixels_sha256"].cat.rename_categories(lambda digest: digest[::-1])
    of_b = records["label"] == "b"
    mixed = records["pixels_sha256"].astype(object).where(~of_b, hashes.astype(object))
    records = records.assign(pixels_sha256=mixed)
    changed = runs_of(runs.entries, records)
    with pytest.raises(UserError, match=r"image 0\.png has other pixels there \(8 such images\)"):
        compare(changed, results(changed))
    entries = tuple(entry if entry.label == "a" else _with_crop(entry) for entry in runs.entries)
    other_crop = runs_of(entries, records)
    assert len(compare(other_crop, results(other_crop)).rows) == 2


def _with_crop(entry: Any) -> Any:
    from dataclasses import replace

    preprocessing = replace(entry.evaluation.preprocessing, crop=192)
    return replace(entry, evaluation=replace(entry.evaluation, preprocessing=preprocessing))


@pytest.mark.slow
def test_unreadable_images_of_one_model_need_intersect(tmp_path: Path) -> None:
    skipped: Outcomes = {"clean": ["skipped", *OTHER["clean"][1:]]}
    with pytest.raises(UserError, match="some could not be read; --intersect compares the images"):
        both(tmp_path, outcomes=skipped)
    comparison = both(tmp_path, outcomes=skipped, intersect=True)
    assert comparison.rows["images"].tolist() == ["7 common of 8 and 8"]


@pytest.mark.slow
def test_failures_and_missing_conditions_are_said(tmp_path: Path) -> None:
    failed: Outcomes = {
        "clean": OTHER["clean"],
        "pgd@1/255": ["error", *[0] * 7],
        "fgsm@1/255": [0] * 8,
    }
    comparison = both(tmp_path, outcomes=failed)
    assert comparison.rows["condition"].tolist() == ["clean"]
    assert "b: pgd@1/255 failed and is not compared" in comparison.notes
    assert "a has no fgsm@1/255 on val under protocol pixel" in comparison.notes


@pytest.mark.slow
def test_incomplete_runs_are_compared_only_when_asked(tmp_path: Path) -> None:
    options = {"shard": (1, 2)}
    with pytest.raises(UserError, match="b: clean is incomplete and is not compared; --intersect"):
        both(tmp_path, options)
    comparison = both(tmp_path, options, intersect=True)
    assert comparison.rows["n_images"].tolist() == [4, 4]
    assert comparison.rows["images"].tolist() == ["4 common of 8 and 8"] * 2


@pytest.mark.slow
def test_attacks_on_the_images_that_others_left_are_not_compared(tmp_path: Path) -> None:
    """Each model has other survivors, so that their accuracies are of other images."""
    a: Outcomes = {
        "clean": [0, 0, 0, 0, 1, 0, 2, 0],
        "fgsm@1/255": [0, 0, 1, 1, "inherited", 0, "inherited", 1],
        "pgd@1/255": [0, 1, "inherited", "inherited", "inherited", 0, "inherited", "inherited"],
    }
    b: Outcomes = {
        "clean": [0, 0, 0, 0, 0, 0, 0, 0],
        "fgsm@1/255": [0, 0, 0, 1, 1, 0, 0, 1],
        "pgd@1/255": [0, 1, 0, "inherited", "inherited", 0, 1, "inherited"],
    }
    runs = with_worst(merge([write_run(tmp_path, {"a": a, "b": b}, mode="survivors")]))
    for intersect in (False, True):
        comparison = compare(runs, results(runs), intersect=intersect)
        assert comparison.rows["condition"].tolist() == ["clean", "worst@1/255"]
        worst = comparison.rows.to_dict("records")[1]
        assert (worst["baseline_top1"], worst["top1"]) == (25, 37.5)
        assert comparison.notes == tuple(
            f"a: {name} is of survivors mode, has no accuracy and is not "
            "compared; the worst case is"
            for name in ("fgsm@1/255", "pgd@1/255")
        )


@pytest.mark.slow
def test_a_condition_without_any_scored_image_is_not_compared(tmp_path: Path) -> None:
    """Neither of two models has one, or one of them has none."""
    none: Outcomes = {"clean": BASE["clean"], "pgd@1/255": [None] * 8}
    for place, other in (("both", none), ("one", OTHER)):
        folders = [
            write_run(tmp_path / place / "a", {"a": none}),
            write_run(tmp_path / place / "b", {"b": other}),
        ]
        comparison = against(folders, intersect=True)
        assert comparison.rows["condition"].tolist() == ["clean"]
        wanted = "a: pgd@1/255 has no scored image and is not compared"
        assert wanted in comparison.notes


@pytest.mark.slow
def test_files_read_back_as_the_same_numbers(tmp_path: Path) -> None:
    comparison = both(tmp_path)
    rows, changed = save_comparison(comparison, tmp_path / "out")
    assert (rows.name, changed.name) == ("comparison.csv", "changed.csv")
    read = pd.read_csv(rows, keep_default_na=False)
    pd.testing.assert_frame_equal(read, comparison.rows, check_dtype=False, check_exact=True)
    pd.testing.assert_frame_equal(pd.read_csv(changed), comparison.changed, check_dtype=False)


@pytest.mark.slow
def test_what_must_be_known_of_the_numbers_is_said(tmp_path: Path) -> None:
    models: dict[str, Any] = {"a": {"flags": ["random-weights"]}}
    known: dict[str, Any] = {"models": models, "data": {"flags": ["x=1"]}}
    made = write_run(tmp_path / "run", {"a": BASE, "b": OTHER}, **known)
    comparison = against([made])
    assert comparison.rows["baseline_flags"].tolist() == ["random-weights;x=1"] * 2
    assert comparison.rows["flags"].tolist() == ["x=1"] * 2
    said = " ".join(comparison_notes(comparison))
    assert "! random-weights (a clean, a pgd@1/255): the network was never trained" in said
    assert "! x=1 (all): the attack's constant x is 1 here" in said


@pytest.mark.slow
def test_runs_that_were_not_computed_alike_are_said(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / name, {name: BASE}) for name in "ab"]
    for folder, torch in zip(folders, ("2.3", "2.4"), strict=True):
        add_session(folder, {"started": "", "versions": {"torch": torch}})
    assert "The runs were not all computed alike: torch 2.3 and 2.4." in against(folders).notes


@pytest.mark.slow
def test_tables_of_a_comparison(tmp_path: Path) -> None:
    made = {"a": BASE, "b": OTHER, "c": OTHER}
    comparison = against([write_run(tmp_path / "run", made)])
    (whole,) = comparison_tables(comparison)
    assert whole.stub == ("model", "condition")
    assert len(whole.frame) == 4
    single = tables_by_model(comparison)
    assert [sheet.title.split(":")[0] for sheet in single] == ["b against a", "c against a"]
    assert single[0].row_names == [("clean",), ("pgd@1/255",)]
    assert any("over all 4 comparisons" in note for note in whole.notes)
