"""Second looks at the clean forward pass are never taken for the clean number."""

from pathlib import Path

import pandas as pd
import pytest

from attacks import ATTACKS
from reports import merge, results
from reports.metrics.sweeps import budget_curves
from reports.page.sections.summary import headlines, what_was_run
from robustbench_twicing.conditions.budgets import parse_budget
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.imagenet import subset_indices
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task, with_clean_subsets
from tests.palette import palette, subset_folders, wnid_folders, write
from tests.reports.plots.rows import attacks_of

A = subset_indices("imagenet-a")
OUTSIDE = {index: index + 1 for index in A if index + 1 not in A}
"""Shown beside a class of no subset, so that the 1000-way number is another one."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sets")
    write(root / "imagenet-a", subset_folders("imagenet-a", swapped=OUTSIDE))
    return write(root / "clean", wnid_folders([*A[:10], 0, 2, 4])).parent


def evaluate(folders: Path, out: Path, *, attacked: bool = True, seed: int = 0) -> Run:
    pgd = ATTACKS["pgd"].condition(parse_budget("10/255"), overrides={"steps": 2})
    conditions = [clean(), pgd] if attacked else [clean()]
    names = (str(folders / "clean"), f"imagenet-a={folders}/imagenet-a")
    tasks = with_clean_subsets(
        [make_task(open_dataset(name, limit=40), conditions) for name in names]
    )
    options = Options(seed=seed, batch_size=64, attack_precision="bf16")
    return evaluate_models({"palette": palette()}, tasks, out=out, options=options)


def top1(table: pd.DataFrame, condition: str) -> float:
    return float(table.loc[table["condition"] == condition, "top1"].iloc[0])


@pytest.mark.slow
def test_a_sweep_starts_at_the_number_over_its_own_classes(folders: Path, tmp_path: Path) -> None:
    table = results(evaluate(folders, tmp_path / "run").folder)
    assert top1(table, "imagenet-a") > top1(table, "imagenet-a/1000-way")
    points = budget_curves(table)
    assert points["budget"].tolist() == [0, 10, 0, 10]
    starts = table["condition"].iloc[points["entry"]].tolist()[::2]
    assert starts == ["clean", "imagenet-a"]


@pytest.mark.slow
def test_they_are_not_attacked(folders: Path, tmp_path: Path) -> None:
    table = results(evaluate(folders, tmp_path / "run").folder)
    short = table[table["flags"].str.contains("attack-in-bf16")]
    assert short["condition"].tolist() == ["pgd@10/255", "pgd@10/255"]
    assert table.loc[table["attack"] == "readout", "condition"].tolist() == [
        "clean/imagenet-a-classes",
        "imagenet-a/1000-way",
    ]


@pytest.mark.slow
def test_a_page_says_which_images_and_which_number(folders: Path, tmp_path: Path) -> None:
    table = results(evaluate(folders, tmp_path / "run").folder)
    whole, shifted = what_was_run(table, attacks_of(table))
    assert "clean images; clean/imagenet-a-classes; PGD" in whole
    assert "the images of imagenet-a as they are; imagenet-a/1000-way; PGD" in shifted
    _, sentence = headlines(table)
    assert (
        f": {top1(table, 'imagenet-a'):.1f} % top-1 on the images of imagenet-a as they are (95 %"
        in sentence
    )
    assert "under pgd@10/255" in sentence
    assert sentence.count("% top-1") == 2


@pytest.mark.slow
def test_seeds_matter_to_attacks_alone(folders: Path, tmp_path: Path) -> None:
    runs = [
        evaluate(folders, tmp_path / str(seed), attacked=False, seed=seed).folder for seed in (0, 1)
    ]
    assert len(merge(runs[:1]).entries) == 4
    names = [entry.key[-1] for entry in merge(runs).entries]
    assert names == ["clean", "clean/imagenet-a-classes", "imagenet-a", "imagenet-a/1000-way"]
