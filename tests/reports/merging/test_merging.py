"""Many run folders are one set of results: shards join, contradictions are refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports import COLUMNS, merge, results
from robustbench_twicing.errors import UserError
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import RECORD_SCHEMA
from tests.reports.made import Outcomes, write_run

CLEAN = [0, 0, 1, 6, 0, 2, 0, 0, 9]
PGD = [0, 3, 1, 6, 1, 2, 0, 5, 9]
ONE: Mapping[str, Outcomes] = {"a": {"clean": CLEAN, "pgd@1/255": PGD}}


def keys(*folders: RunFolder) -> list[tuple[str, ...]]:
    table = results(merge(folders))
    names = ["label", "dataset", "protocol", "condition"]
    return [tuple(row) for row in table[names].itertuples(index=False)]


def test_one_run_is_its_results(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path / "run", ONE)])
    table = results(runs)
    assert table.columns.tolist() == list(COLUMNS)
    assert table["top1"].tolist() == [100 * 5 / 9, 100 * 2 / 9]
    assert table["top5"].tolist() == [100 * 7 / 9, 100 * 6 / 9]
    assert table["robust_top1"].tolist() == [100 * 5 / 9, 100 * 2 / 9]
    assert table["n_images"].tolist() == [9, 9]
    assert table["n_forward"].tolist() == [9, 9]
    assert table["seconds"].tolist() == [0.75, 0.75]
    assert runs.notes == ()


def test_records_are_sorted_by_entry_and_image(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path / "run", ONE)])
    assert runs.records.columns.tolist() == [*RECORD_SCHEMA.names, "entry"]
    assert runs.records["entry"].tolist() == [0] * 9 + [1] * 9
    assert runs.of(0)["rank"].tolist() == CLEAN
    assert runs.of(1)["rank"].tolist() == PGD
    assert runs.of(1)["index"].tolist() == list(range(9))
    assert [entry.key for entry in runs.entries] == [
        ("a", "val", "pixel", "clean"),
        ("a", "val", "pixel", "pgd@1/255"),
    ]


@pytest.mark.slow
def test_shards_of_one_run_are_one_row(tmp_path: Path) -> None:
    whole = results(merge([write_run(tmp_path / "whole", ONE)]))
    shards = [write_run(tmp_path / f"{i}", ONE, shard=(i, 3)) for i in (3, 1, 2)]
    table = results(merge(shards))
    pd.testing.assert_frame_equal(table, whole)
    assert merge(shards).of(1)["rank"].tolist() == PGD


def test_shards_know_their_checkpoint_under_other_paths(tmp_path: Path) -> None:
    shards = [
        write_run(
            tmp_path / f"{i}",
            ONE,
            shard=(i, 2),
            models={"a": {"checkpoint": f"/machine{i}/a.pth", "notes": (f"read on {i}",)}},
            data={"notes": (f"scanned on {i}",)},
        )
        for i in (1, 2)
    ]
    assert results(merge(shards))["status"].tolist() == ["ok", "ok"]


def test_a_missing_shard_leaves_the_run_incomplete(tmp_path: Path) -> None:
    table = results(merge([write_run(tmp_path / f"{i}", ONE, shard=(i, 3)) for i in (1, 3)]))
    assert table["status"].tolist() == ["incomplete"] * 2
    assert table["n_images"].tolist() == [5, 5]
    assert table["top1"].isna().all()


def test_a_part_in_two_shards_is_refused(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "one", ONE, shard=(1, 2)),
        write_run(tmp_path / "again", ONE),
    ]
    wanted = r"a: images 1 to 4 are in .*one and in .*again, shards of one run, .* counted twice"
    with pytest.raises(UserError, match=wanted):
        merge(folders)


def test_an_image_counted_twice_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ONE, images=[*(f"{i}.png" for i in range(8)), "3.png"])
    with pytest.raises(UserError, match=r"image 3\.png is counted twice under clean for a"):
        merge([folder])


def test_a_record_that_is_twice_in_one_part_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ONE)
    evaluation = folder.manifest.evaluations[0]
    part = folder.part(evaluation, 0)
    folder.part_path(evaluation, 0).unlink()
    again = pa.concat_tables([part.table, part.table.slice(0, 1)])
    folder.write_part(evaluation, 0, part._replace(table=again))
    with pytest.raises(UserError, match=r"image 0\.png is counted twice under clean for a"):
        merge([folder])


def test_what_happened_to_any_part_is_said(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ONE)
    evaluation = folder.manifest.evaluations[0]
    part = folder.part(evaluation, 1)
    folder.part_path(evaluation, 1).unlink()
    folder.write_part(evaluation, 1, part._replace(flags=("batch-halved",)))
    assert results(merge([folder]))["flags"].tolist() == ["batch-halved"] * 2


def test_a_folder_given_twice_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", ONE)
    (tmp_path / "elsewhere").mkdir()
    again = RunFolder.open(tmp_path / "elsewhere" / ".." / "run")
    with pytest.raises(UserError, match="is given twice"):
        merge([folder, again])


def test_no_folder_is_a_mistake() -> None:
    with pytest.raises(UserError, match="no run folder is given"):
        merge([])


@pytest.mark.slow
def test_models_of_several_runs_stand_below_each_other(tmp_path: Path) -> None:
    b = write_run(tmp_path / "b", {"b": {"clean": CLEAN}, "c": {"clean": PGD}})
    a = write_run(tmp_path / "a", ONE)
    assert [row[0] for row in keys(b, a)] == ["b", "c", "a", "a"]


@pytest.mark.slow
def test_conditions_and_data_sets_of_one_label_come_together(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "1", {"a": {"clean": CLEAN}}),
        write_run(tmp_path / "2", {"b": {"clean": CLEAN}}),
        write_run(tmp_path / "3", {"a": {"clean": PGD}}, data={"name": "other"}),
        write_run(tmp_path / "4", {"a": {"fgsm@1/255": PGD}}),
    ]
    wanted = [
        ("a", "val", "pixel", "clean"),
        ("a", "val", "pixel", "fgsm@1/255"),
        ("a", "other", "pixel", "clean"),
        ("b", "val", "pixel", "clean"),
    ]
    assert keys(*folders) == wanted
    runs = merge(folders)
    assert runs.of(1)["rank"].tolist() == PGD
    assert runs.of(3)["label"].tolist() == ["b"] * 9


@pytest.mark.slow
def test_protocols_are_rows_of_their_own(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / name, ONE, protocol=name)  # both have a condition pgd@1/255
        for name in ("pixel", "paper")
    ]
    assert [row[2:] for row in keys(*folders)] == [
        ("pixel", "clean"),
        ("pixel", "pgd@1/255"),
        ("paper", "clean"),
        ("paper", "pgd@1/255"),
    ]


@pytest.mark.slow
def test_a_condition_that_two_runs_share_is_counted_once_and_said(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "1", {"a": {"clean": CLEAN, "fgsm@1/255": PGD}}),
        write_run(tmp_path / "2", {"a": {"clean": CLEAN, "pgd@1/255": PGD}}, part_size=2),
    ]
    runs = merge(folders)
    assert results(runs)["condition"].tolist() == ["clean", "fgsm@1/255", "pgd@1/255"]
    assert results(runs)["n_images"].tolist() == [9, 9, 9]
    assert runs.entries[0].folders == (tmp_path / "1", tmp_path / "2")
    (note,) = runs.notes
    assert note == (
        f"a: clean is in {tmp_path / '1'} and in {tmp_path / '2'}, with equal results; "
        "it is used once."
    )


def test_the_seed_does_not_matter_to_clean_images(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / f"{seed}", {"a": {"clean": CLEAN}}, seed=seed) for seed in (0, 1)
    ]
    assert len(results(merge(folders))) == 1


OTHER_PGD = [*PGD[:-1], 0]
FEWER: Mapping[str, Any] = {"a": {"clean": CLEAN[:8], "pgd@1/255": PGD[:8]}}


@pytest.mark.parametrize(
    ("outcomes", "options", "words"),
    [
        (ONE, {"seed": 1}, "a pgd@1/255 is two things: seed is 0 in .*1 and 1 in .*2;"),
        (
            {"a": {"clean": CLEAN, "pgd@1/255": OTHER_PGD}},
            {"part_size": 3},
            "a pgd@1/255 differs between .*1 and .*2 at 1 of 9 images;",
        ),
        (
            {"a": {"pgd@1/255": PGD}},
            {"settings": {"steps": 40}},
            "a pgd@1/255 is two things: settings.steps is 20 in .* and 40 in ",
        ),
        (
            {"a": {"pgd@1/255": PGD}},
            {"attack_precision": "bf16"},
            "attack_precision is fp32 in .* and bf16 in ",
        ),
        (FEWER, {}, "label a on val is two things: dataset.n_images is 9 in .* and 8 in "),
        (
            ONE,
            {"data": {"fingerprint": "f"}},
            "label a on val is two things: dataset.fingerprint is .* in .* and f in ",
        ),
        (
            ONE,
            {"models": {"a": {"weights_sha256": "w"}}},
            "label a is two things: weights_sha256 is .* in .*1 and w in .*2; evaluate one",
        ),
        (
            {"a": {"fgsm@1/255": PGD}},
            {"models": {"a": {"model": "another"}}},
            "label a is two things: model is a in .* and another in ",
        ),
        (
            {"a": {"clean": PGD}},
            {"models": {"a": {"weights_sha256": "e"}}, "data": {"name": "elsewhere"}},
            "label a is two things: weights_sha256 is .* in .* and e in ",
        ),
        (ONE, {"part_size": 2, "shard": (1, 2)}, "a clean has 9 images in .*1 and 5 in .*2;"),
    ],
)
def test_contradictions_are_refused_with_the_first_difference(
    outcomes: Mapping[str, Outcomes], options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    folders = [write_run(tmp_path / "1", ONE), write_run(tmp_path / "2", outcomes, **options)]
    with pytest.raises(UserError, match=words):
        merge(folders)


@pytest.mark.slow
def test_other_images_under_one_name_are_told_apart(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "1", ONE),
        write_run(tmp_path / "2", {"b": {"clean": CLEAN}}),
        write_run(tmp_path / "3", {"c": {"clean": CLEAN[:4]}}),
        write_run(tmp_path / "4", {"c": {"clean": CLEAN[:4]}}, data={"name": "other"}),
    ]
    runs = merge(folders)
    names = results(runs)["dataset"].tolist()
    nine, four = (folder.manifest.evaluations[0].dataset.fingerprint for folder in folders[1:3])
    assert names == [*[f"val#{nine[:8]}"] * 3, f"val#{four[:8]}", "other"]
    assert [entry.dataset for entry in runs.entries] == names
    assert runs.of(3)["dataset"].tolist() == [names[3]] * 4
    assert set(results(merge(folders[:2]))["dataset"]) == {"val"}


def test_the_same_images_of_two_sources_are_refused(tmp_path: Path) -> None:
    folders = [
        write_run(tmp_path / "1", ONE),
        write_run(tmp_path / "2", {"b": {"clean": CLEAN}}, data={"source": "generated"}),
    ]
    with pytest.raises(UserError, match="two data sets of the same images are called val"):
        merge(folders)


def test_a_failed_image_fails_its_condition_alone(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "run", {"a": {"clean": [0, 0, "skipped"], "pgd@1/255": [0, "error", "skipped"]}}
    )
    table = results(merge([folder]))
    assert table["status"].tolist() == ["ok", "error"]
    assert table["n_images"].tolist() == [2, 1]
    assert table["n_skipped"].tolist() == [1, 1]
    assert table["top1"].tolist()[0] == 100
    assert pd.isna(table["top1"][1])


def test_a_run_without_parts_is_incomplete(tmp_path: Path) -> None:
    runs = merge([write_run(tmp_path / "run", ONE, shard=(9, 9))])
    assert results(runs)["status"].tolist() == ["incomplete"] * 2
    assert len(runs.of(0)) == len(runs.of(1)) == 0


def test_a_run_without_evaluations_is_refused(tmp_path: Path) -> None:
    file = write_run(tmp_path / "run", ONE).path / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"evaluations": []}))
    with pytest.raises(UserError, match="it names no model"):
        RunFolder.open(file.parent)


def test_records_of_an_unknown_condition_are_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", {"a": {"clean": CLEAN[:3]}})
    path = folder.part_path(folder.manifest.evaluations[0], 0)
    table = pq.read_table(path)
    renamed = table.to_pydict() | {"condition": ["fgsm@1/255"] * 3}
    pq.write_table(table.from_pydict(renamed, schema=table.schema), path)
    with pytest.raises(UserError, match=r"of a condition that its run\.json does not name"):
        merge([folder])


def test_runs_from_before_conditions_had_images_are_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_run(tmp_path / "run", {"A": {"clean": [0, 1], "pgd@1/255": [1, 1]}})
    values = json.loads((folder.path / "run.json").read_text())
    for condition in values["conditions"]:
        del condition["images"], condition["about"]
    older = RunFolder(folder.path, folder.manifest, values)
    (evaluation,) = folder.manifest.evaluations
    older_parts = [PartRecords(folder.parts(evaluation).table, {})]
    (folder.path / "run.json").write_text(json.dumps(values))
    older.write_part(evaluation, 0, older_parts[0])
    runs = merge([RunFolder.open(folder.path)])
    assert results(runs)["top1"].tolist() == [50, 0]
    assert results(runs)["source"].tolist() == ["files", "files"]
