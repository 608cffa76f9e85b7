"""results.csv: columns in order, counts as percentages with all digits, no accuracy in doubt."""

import csv
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from attacks import ATTACKS
from reports import COLUMNS, results, write_results
from reports.statistics.intervals import wilson
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.dataset import Skipped
from robustbench_twicing.data.loader import to_tensor
from robustbench_twicing.evaluation.runner import Options, Run, evaluate_models
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.records.cost import Cost
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import RECORD_SCHEMA
from tests.tiny import (
    PREPROCESSING,
    column,
    convnet,
    flags,
    greys,
    halfspace,
    noise,
    quick_conditions,
    run,
    table,
)

DESIGN = (
    "label,model,checkpoint,checkpoint_sha256,weights,dataset,source,n_images,n_skipped,protocol,"
    "condition,attack,eps_255,eps_pixel_255_max,steps,step_size_255,top1,top5,top1_ci_low,"
    "top1_ci_high,robust_top1,linf_255_max,n_forward,n_backward,seconds,seed,status,flags,"
    "norm,eps,l2_max,l0_max,n_attacked,goal_hit,goal_hit_right"
)
ACCURACIES = ("top1", "top5", "top1_ci_low", "top1_ci_high", "robust_top1", "linf_255_max")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of every kind of condition, with hashes and names that are easily misread."""
    model = convnet()
    record = replace(model.record, checkpoint_sha256="1234567890", checkpoint="007", weights="ema")
    model.record = record
    conditions = quick_conditions(
        "clean", "fgsm", "pgd", "spsa", "noise", budgets=[Fraction(1, 510), Fraction(64, 255)]
    )
    out = tmp_path_factory.mktemp("run") / "run"
    data = noise(11)
    pixels = np.stack([data.pixels(index, PREPROCESSING) for index in range(11)])
    predicted = model(to_tensor(pixels, torch.device("cpu"))).argmax(1).tolist()
    data = replace(data, labels=(*predicted[:9], *data.labels[9:]))
    return run(model, data, conditions, out, batch_size=4, seed=3)


@pytest.mark.slow
def test_columns_are_those_of_the_design_in_order_and_new_ones_follow(done: Run) -> None:
    assert ",".join(COLUMNS).startswith(DESIGN), "add a column at the end of COLUMNS"
    assert write_results(done.folder).read_text().splitlines()[0] == ",".join(COLUMNS)
    assert results(done.folder).columns.tolist() == list(COLUMNS)


@pytest.mark.slow
def test_the_file_reads_back_as_the_same_table(done: Run) -> None:
    wanted = results(done.folder)
    assert set(wanted[["steps", "l0_max", "n_attacked"]].dtypes.astype(str)) == {"Int64"}
    names = ["checkpoint", "checkpoint_sha256", "label"]
    may_lack = ["steps", "step_size_255", "eps", "l2_max", "l0_max", "n_attacked"]
    may_lack += ["goal_hit", "goal_hit_right", "top1_mean", "top1_sd"]
    read_back = pd.read_csv(
        write_results(done.folder),
        dtype=dict.fromkeys(names, str),
        keep_default_na=False,
        na_values=dict.fromkeys(may_lack, ""),
    )
    pd.testing.assert_frame_equal(read_back, wanted, check_dtype=False, check_exact=True)


@pytest.mark.slow
def test_counts_are_written_as_whole_numbers(done: Run) -> None:
    with write_results(done.folder).open(newline="") as file:
        rows = {row["condition"]: row for row in csv.DictReader(file)}
    assert rows["pgd@64/255"]["steps"] == "3"
    assert rows["clean"]["steps"] == ""
    for name in ("n_images", "n_skipped", "n_forward", "n_backward", "seed"):
        assert all(row[name].isdecimal() for row in rows.values()), name


def test_facts_of_model_data_and_condition(done: Run) -> None:
    rows = table(done)
    assert list(rows) == [
        "clean",
        *(
            f"{name}@{eps}/255"
            for name in ("fgsm", "pgd", "spsa", "noise")
            for eps in ("0.5", "64")
        ),
    ]
    row = rows["pgd@0.5/255"]
    assert row["label"] == row["model"] == "convnet"
    assert (row["checkpoint"], row["checkpoint_sha256"], row["weights"]) == (
        "007",
        "1234567890",
        "ema",
    )
    assert (row["dataset"], row["source"]) == ("tiny", "files")
    assert (row["protocol"], row["attack"], row["seed"]) == ("pixel", "pgd", 3)
    assert (row["n_images"], row["n_skipped"], row["status"]) == (11, 0, "ok")
    assert row["eps_255"] == row["eps_pixel_255_max"] == 0.5
    assert (row["steps"], row["step_size_255"]) == (3, 0.5 * 0.15)
    assert rows["fgsm@64/255"]["steps"] == 1
    assert rows["fgsm@64/255"]["step_size_255"] == 64
    assert rows["clean"]["eps_255"] == 0
    assert rows["clean"]["attack"] == "clean"
    assert rows["clean"]["steps"] is None


@pytest.mark.slow
def test_accuracies_are_counts_over_images(done: Run) -> None:
    records = done.records()
    rows = table(done)
    for name, mine in records.groupby("condition", observed=True):
        row = rows[str(name)]
        right, before = mine["rank"] == 0, mine["clean_rank"] == 0
        assert row["top1"] == 100 * right.sum() / 11
        assert row["top5"] == 100 * (mine["rank"] < 5).sum() / 11
        assert row["robust_top1"] == 100 * (right & before).sum() / 11
        low, high = wilson(int(right.sum()), 11)
        assert (row["top1_ci_low"], row["top1_ci_high"]) == (100 * low, 100 * high)
        assert row["linf_255_max"] == 255 * mine["linf"].max()
    assert table(done)["clean"]["top1"] == table(done)["clean"]["robust_top1"]
    assert len({row["top1"] for row in table(done).values()}) > 1


@pytest.mark.slow
def test_top_5_counts_ranks_0_to_4(tmp_path: Path) -> None:
    data = greys([200] * 2, [0, 1])
    rows = table(run(halfspace(), data, [clean()], tmp_path / "run"))
    assert (rows["clean"]["top1"], rows["clean"]["top5"]) == (50, 100)


@pytest.mark.slow
def test_a_normalised_budget_is_shown_in_its_space_and_in_pixels(tmp_path: Path) -> None:
    attack = ATTACKS["pgd"].condition(Fraction(4, 255), "paper", {"steps": 3})
    row = table(run(convnet(), noise(3), [attack], tmp_path / "run"))[attack.id]
    assert row["protocol"] == "paper"
    assert row["eps_255"] == 4
    assert row["eps_pixel_255_max"] == pytest.approx(4 * 0.3)
    assert row["step_size_255"] == pytest.approx(0.6)
    assert 0.6 < row["linf_255_max"] <= 4 * 0.3 + 1e-4


@pytest.mark.slow
def test_two_protocols_of_one_budget_are_two_rows(tmp_path: Path) -> None:
    conditions = [
        each
        for protocol in ("pixel", "paper")
        for each in (clean(protocol), ATTACKS["fgsm"].condition(Fraction(4, 255), protocol))
    ]
    done = run(convnet(), noise(7), conditions, tmp_path / "run", batch_size=3)
    assert column(done, "condition") == ["clean", "fgsm@4/255"] * 2
    assert column(done, "protocol") == ["pixel"] * 2 + ["paper"] * 2
    assert column(done, "n_images") == [7] * 4
    changes = column(done, "linf_255_max")
    assert changes[1] == pytest.approx(4, abs=1e-4)
    assert changes[3] == pytest.approx(1.2, abs=1e-4)


def ranks(rows: list[tuple[int | None, str]], tmp_path: Path) -> dict[str, Any]:
    """The result of a record made by hand: (rank or none, status) of each image."""
    made = evaluate_models(
        {"m": halfspace()},
        [make_task(greys([200] * 4, [1] * 4), [clean()])],
        out=tmp_path,
        options=Options(),
    )
    (evaluation,) = made.folder.manifest.evaluations
    frame = made.folder.records(evaluation).frame.iloc[: len(rows)].copy()
    frame = frame.astype(object).where(frame.notna(), None)
    content = {name: frame[name].tolist() for name in RECORD_SCHEMA.names}
    content["rank"] = content["rank_8bit"] = [rank for rank, _ in rows]
    content["status"] = [status for _, status in rows]
    records = pa.table(content, schema=RECORD_SCHEMA)
    made.folder.write_part(evaluation, 0, PartRecords(records, {"pixel:clean": Cost(1, 2, 3.5)}))
    return table(Run(RunFolder.open(tmp_path)))["clean"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "status", "counts", "top1"),
    [
        ([(0, "ok"), (1, "ok"), (0, "ok"), (7, "ok")], "ok", (4, 0), 50),
        ([(0, "ok"), (1, "ok"), (0, "ok"), (None, "skipped")], "ok", (3, 1), 200 / 3),
        ([(0, "ok"), (1, "ok"), (0, "ok"), (None, "error")], "error", (3, 0), None),
        ([(0, "ok"), (1, "ok"), (None, "skipped"), (None, "error")], "error", (2, 1), None),
        ([(0, "ok"), (1, "ok"), (0, "ok")], "incomplete", (3, 0), None),
        ([(0, "ok"), (1, "ok"), (None, "error")], "error", (2, 0), None),
        ([(None, "skipped")] * 4, "incomplete", (0, 4), None),
        ([], "incomplete", (0, 0), None),
    ],
)
def test_only_a_whole_condition_without_failures_has_an_accuracy(
    rows: list[tuple[int | None, str]],
    status: str,
    counts: tuple[int, int],
    top1: float | None,
    tmp_path: Path,
) -> None:
    row = ranks(rows, tmp_path)
    assert row["status"] == status
    assert (row["n_images"], row["n_skipped"]) == counts
    assert (row["n_forward"], row["n_backward"], row["seconds"]) == (1, 2, 3.5)
    if top1 is not None:
        assert row["top1"] == top1
    else:
        assert all(pd.isna(row[name]) for name in ACCURACIES)


@pytest.mark.slow
def test_rank_4_is_the_last_of_the_top_5(tmp_path: Path) -> None:
    row = ranks([(0, "ok"), (4, "ok"), (5, "ok"), (4, "ok")], tmp_path)
    assert (row["top1"], row["top5"]) == (25, 75)


@pytest.mark.slow
def test_marks_of_model_and_data_stay_on_every_row(tmp_path: Path) -> None:
    model = convnet()
    model.record = replace(model.record, flags=("random-weights",))
    data = replace(
        noise(3), flags=("limit-3-of-9",), skipped=(Skipped("notes.txt", "not an image"),)
    )
    done = run(model, data, quick_conditions("clean", "pgd"), tmp_path / "run")
    marks = [cell.split(";") for cell in column(done, "flags")]
    assert marks[0] == ["random-weights", "limit-3-of-9", "files-left-out-1"]
    assert marks[1][:4] == ["random-weights", "limit-3-of-9", "files-left-out-1", "steps=3"]
    assert flags(done) >= {"random-weights"}


@pytest.mark.slow
def test_a_rebuilt_file_replaces_the_old_one(done: Run) -> None:
    path = write_results(done.folder)
    before = path.read_text()
    path.write_text("old")
    assert write_results(done.folder).read_text() == before
    assert not list(done.folder.path.glob(".*"))
