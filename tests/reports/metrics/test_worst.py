"""Rows of the worst case: what they are over, and what tables and comparisons make of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from reports import Runs, merge, results, with_worst
from reports.merging.ensembles import ensembles
from reports.metrics.broken_alone import broken_alone
from reports.metrics.flags import explain_flag
from reports.metrics.worst import like_ensembles
from reports.statistics.comparison import compare
from reports.statistics.intervals import wilson
from reports.tables.comparing import corrected_over
from reports.tables.presets import preset_tables
from robustbench_twicing.data.image_maker import RecordedImages
from tests.reports.made import Outcomes, write_run

OUTCOMES: Outcomes = {
    "clean": [0, 0, 0, 0, 9],
    "fgsm@1/255": [1, 0, 0, 0, 9],
    "pgd@1/255": [0, 2, 0, 0, 9],
    "noise@2/255": [0, 0, 7, 0, 9],
    "pgd@4/255": [5, 6, 0, 0, 9],
}
FIRST = {name: OUTCOMES[name] for name in ("clean", "fgsm@1/255")}
SECOND = {name: OUTCOMES[name] for name in ("clean", "pgd@1/255", "noise@2/255", "pgd@4/255")}


def joined(*folders: Path, outcomes: Outcomes = OUTCOMES) -> Runs:
    """One run of label ``a``, and the worst case."""
    return with_worst(merge([write_run(folder, {"a": outcomes}) for folder in folders]))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Several attacks, one of them the control, at several budgets."""
    return joined(tmp_path_factory.mktemp("run"))


def test_rows_follow_the_others_and_hold_the_union_over_attacks_and_budgets(runs: Runs) -> None:
    table = results(runs).set_index("condition")
    assert list(table.index) == [*OUTCOMES, "worst@1/255", "worst@2/255", "worst@4/255"]
    rows = table.loc["worst@1/255":]
    assert rows["top1"].tolist() == [40, 20, 20]
    assert rows["top5"].tolist() == [80, 60, 20]
    assert rows["robust_top1"].tolist() == rows["top1"].tolist()
    low, high = wilson(2, 5)
    assert rows["top1_ci_low"].iloc[0] == 100 * low
    assert rows["top1_ci_high"].iloc[0] == 100 * high
    assert rows["eps_255"].tolist() == [1, 2, 4]
    assert rows["flags"].tolist() == ["worst-of-2", "worst-of-3", "worst-of-3"]


def test_they_cost_nothing_and_have_no_steps(runs: Runs) -> None:
    rows = results(runs).set_index("condition").loc["worst@1/255":]
    assert (rows[["n_forward", "n_backward", "seconds"]] == 0).all(axis=None)
    assert rows[["steps", "step_size_255"]].isna().all(axis=None)


def test_their_records_name_the_witness_of_each_image(runs: Runs) -> None:
    records = runs.of(len(runs.entries) - 1)
    assert records["witness"].tolist() == [
        *("pgd@4/255", "pgd@4/255", "noise@2/255", "fgsm@1/255", "fgsm@1/255"),
    ]
    assert set(records["condition"]) == {"worst@4/255"}
    assert records["image"].tolist() == [f"{number}.png" for number in range(5)]


def test_two_runs_with_other_attacks_of_a_label_are_one_ensemble(
    tmp_path: Path, runs: Runs
) -> None:
    parts = FIRST, SECOND
    folders = [write_run(tmp_path / str(number), {"a": part}) for number, part in enumerate(parts)]
    both = with_worst(merge(folders))
    names = ["condition", "top1", "top5", "flags"]
    wanted = results(runs)[names].sort_values("condition", ignore_index=True)
    assert results(both)[names].sort_values("condition", ignore_index=True).equals(wanted)
    settings = [
        [entry.condition.settings for entry in one.entries if entry.condition.is_worst]
        for one in (runs, both, with_worst(merge(folders[::-1])))
    ]
    assert settings[0] == settings[1] == settings[2]


def test_an_attack_alone_and_clean_images_have_no_worst_case(tmp_path: Path) -> None:
    assert with_worst(merge([write_run(tmp_path, {"a": FIRST})])).entries[-1].key[-1] != "worst"
    assert len(joined(tmp_path / "2", outcomes={"clean": [0]}).entries) == 1


def test_corrupted_images_are_no_attack(runs: Runs) -> None:
    images = RecordedImages({"source": "official", "side": 224})
    pgd = runs.entries[2]
    shown = replace(pgd, condition=replace(pgd.condition, images=images))
    assert ensembles(replace(runs, entries=(runs.entries[0], runs.entries[1], shown))) == {}


def test_protocols_and_labels_have_worst_cases_of_their_own(tmp_path: Path) -> None:
    two = {"a": OUTCOMES, "b": {**OUTCOMES, "pgd@4/255": [9] * 5}}
    folders = [write_run(tmp_path / name, two, protocol=name) for name in ("pixel", "paper")]
    table = results(with_worst(merge(folders)))
    rows = table[table["condition"] == "worst@4/255"]
    assert rows[["label", "protocol", "top1"]].to_numpy().tolist() == [
        ["a", "pixel", 20],
        ["a", "paper", 20],
        ["b", "pixel", 0],
        ["b", "paper", 0],
    ]


def test_an_error_stands_unless_the_image_is_broken_and_top5_is_then_unknown(
    tmp_path: Path,
) -> None:
    table = results(
        joined(tmp_path, outcomes={**OUTCOMES, "noise@2/255": ["error", 0, 0, 0, 0]})
    ).set_index("condition")
    assert table.loc["worst@2/255", "top1"] == 40
    assert table.loc[["worst@1/255", "worst@2/255"], "top5"].isna().tolist() == [False, True]
    assert "top1-only" in str(table.loc["worst@2/255", "flags"])
    failed: Outcomes = {**OUTCOMES, "noise@2/255": [0, 0, 0, "error", 0]}
    table = results(joined(tmp_path / "2", outcomes=failed)).set_index("condition")
    worst = table.loc["worst@1/255":, "status"]
    assert worst.tolist() == ["ok", "error", "error"]


def test_images_that_an_attack_of_another_run_lacks_are_incomplete(tmp_path: Path) -> None:
    lacking = {**SECOND, "noise@2/255": [0, 0, 7, None, 9]}
    folders = [
        write_run(tmp_path / "1", {"a": FIRST}),
        write_run(tmp_path / "2", {"a": lacking}),
    ]
    table = results(with_worst(merge(folders))).set_index("condition")
    assert table.loc["worst@1/255":, "status"].tolist() == ["ok", "incomplete", "incomplete"]


def test_constants_and_seeds_that_differ_are_said(tmp_path: Path) -> None:
    pgd = {name: OUTCOMES[name] for name in ("clean", "pgd@4/255")}
    folders = [
        write_run(tmp_path / "1", {"a": FIRST}),
        write_run(
            tmp_path / "2",
            {"a": pgd},
            seed=7,
            attack_precision="bf16",
            settings={"steps": 3},
        ),
    ]
    runs = with_worst(merge(folders))
    small, large = (entry.condition.settings for entry in runs.entries[-2:])
    assert set(small) == {"members", "constants"}
    assert large["members"] == "fgsm@1/255, pgd@4/255"
    assert (large["seeds"], large["attack_precisions"]) == ("0, 7", "bf16, fp32")
    flags = results(runs).set_index("condition")["flags"].str.split(";")
    assert flags["worst@1/255"] == ["worst-of-1"]
    assert set(flags["worst@4/255"]) == {
        *("worst-of-2", "mixed-seeds", "attack-in-bf16", "pgd.steps=3"),
    }
    assert explain_flag("pgd.steps=3").startswith("the attack's constant pgd.steps is 3 here")


def test_images_that_one_attack_alone_breaks(runs: Runs) -> None:
    rows = [n for n, entry in enumerate(runs.entries) if entry.condition.is_worst]
    assert broken_alone(runs, rows) == [
        {"fgsm": 1, "pgd": 1, "noise": 0},
        {"fgsm": 1, "pgd": 1, "noise": 1},
        {"fgsm": 0, "pgd": 1, "noise": 1},
    ]


def test_the_preset_has_each_attack_the_worst_case_and_what_one_alone_broke(runs: Runs) -> None:
    (sheet,) = preset_tables("worst", runs, results(runs))
    assert [column.full_name for column in sheet.columns] == [
        *("clean", "fgsm", "pgd", "noise", "worst", "only fgsm", "only pgd", "only noise"),
    ]
    assert sheet.row_names == [("1/255", "a"), ("2/255", "a"), ("4/255", "a")]
    lines = [[sheet.cell(row, column) for column in range(8)] for row in range(3)]
    assert lines == [
        ["80.00", "60.00", "60.00", "", "40.00", "1", "1", "0"],
        ["80.00", "", "", "60.00", "20.00", "1", "1", "1"],
        ["80.00", "", "40.00", "", "20.00", "0", "1", "1"],
    ]


def unlike(tmp_path: Path) -> Runs:
    """Two labels, one of which was attacked by more."""
    folders = [
        write_run(tmp_path / "1", {"a": OUTCOMES}),
        write_run(tmp_path / "2", {"b": {**SECOND}}),
    ]
    return with_worst(merge(folders))


def test_worst_cases_over_other_attacks_are_not_compared_but_the_attacks_are(
    tmp_path: Path,
) -> None:
    runs = unlike(tmp_path)
    comparison = compare(runs, results(runs))
    assert set(comparison.rows["condition"]) == set(SECOND)
    assert "b: worst@4/255 is not compared: settings.members is" in "; ".join(comparison.notes)
    assert comparison.families == {("linf", False): 3}
    assert like_ensembles(runs, results(runs)) == [["a"], ["b"]]
    names = [sheet.name for sheet in preset_tables("sweeps", runs, results(runs))]
    assert [name for name in names if "worst" in name] == [
        "sweep-worst-val-pixel",
        "sweep-worst-2-val-pixel",
    ]


ABSENT: Outcomes = {
    "clean": [0, 0, 0, 0, 9, 0, 0],
    "fgsm@1/255": [1, "error", 0, 0, 9, 0, 0],
    "pgd@1/255": [0, 2, "error", "skipped", 9, "inherited", 0],
    "noise@2/255": [0, 0, 7, 0, "error", 0, None],
}


@pytest.mark.parametrize("outcomes", [OUTCOMES, ABSENT])
@pytest.mark.parametrize("names", [[[*ABSENT]], [["clean", "fgsm@1/255"], [*ABSENT][2:]]])
def test_what_was_counted_of_parts_is_what_their_records_hold(
    outcomes: Outcomes, names: list[list[str]], tmp_path: Path
) -> None:
    """And of the worst case, whose records are made when they are asked for; in one run or two."""
    folders = [
        write_run(tmp_path / str(number), {"a": {name: outcomes[name] for name in some}})
        for number, some in enumerate(names)
    ]
    runs = with_worst(merge(folders))
    again = Runs().with_entries(runs.entries, runs.arrow("SELECT * FROM records"))
    assert [str(counts) for counts in runs.counts] == [str(counts) for counts in again.counts]
    assert runs.rights == again.rights
    assert runs.unscored.equals(again.unscored)


def test_the_worst_case_is_a_family_of_its_own(tmp_path: Path) -> None:
    other = {name: [0] * 5 for name in OUTCOMES}
    both = {"a": OUTCOMES, "b": other}
    runs = with_worst(merge([write_run(tmp_path, both)]))
    comparison = compare(runs, results(runs))
    rows = comparison.rows[comparison.rows["condition"] == "worst@4/255"]
    assert comparison.families == {
        ("linf", False): 4,
        ("linf", True): 3,
    }  # clean and three attacks; noise is a control
    assert rows["p_holm"].tolist() == [3 * p for p in rows["p"]]
    assert (rows["p_holm"] < 1).all()


def test_norms_have_worst_cases_and_families_of_their_own(tmp_path: Path) -> None:
    in_l2 = {name.replace("/255", "").replace("@", "@l2:"): OUTCOMES[name] for name in OUTCOMES}
    folders = [
        write_run(
            tmp_path / protocol,
            {"a": outcomes, "b": {name: [0] * 5 for name in outcomes}},
            protocol=protocol,
        )
        for protocol, outcomes in (("pixel", OUTCOMES), ("l2", in_l2))
    ]
    runs = with_worst(merge(folders))
    comparison = compare(runs, results(runs))
    assert comparison.families == {
        **{("linf", False): 4, ("linf", True): 3},
        **{("l2", False): 4, ("l2", True): 3},
    }
    alone = with_worst(merge(folders[:1]))
    of_linf = comparison.rows[comparison.rows["protocol"] == "pixel"].reset_index(drop=True)
    wanted = compare(alone, results(alone)).rows
    assert of_linf["p_holm"].equals(wanted["p_holm"])
    assert corrected_over(comparison) == (
        "all 4 comparisons in L-infinity, over the 3 of the worst case in L-infinity by "
        "themselves, over all 4 comparisons in L2, and over the 3 of the worst case in L2 by "
        "themselves"
    )


def test_a_family_without_a_test_is_not_named(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path, {"a": OUTCOMES, "b": OUTCOMES})])
    comparison = compare(runs, results(runs))
    worst = replace(comparison, families={("linf", True): 2})
    assert corrected_over(worst) == "the 2 of the worst case by themselves"
    assert corrected_over(replace(comparison, families={})) == "all 0 comparisons"
    one = replace(comparison, families={("linf", False): 1, ("linf", True): 1})
    assert corrected_over(one) == "1 comparison, and over the 1 of the worst case by itself"


def test_survivors_mode_has_a_worst_case_of_one_attack_without_top5(tmp_path: Path) -> None:
    outcomes: Outcomes = {"clean": [0, 0], "pgd@1/255": [1, 0], "pgd@2/255": ["inherited", 0]}
    folder = write_run(tmp_path, {"a": outcomes}, mode="survivors")
    table = results(with_worst(merge([folder]))).set_index("condition")
    assert table["status"].tolist() == ["ok", "ok", "survivors", "ok", "ok"]
    assert table.loc["worst@1/255":, "top1"].tolist() == [50, 50]
    assert table.loc["worst@1/255":, "top5"].isna().tolist() == [False, True]
