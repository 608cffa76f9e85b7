"""A manifest with several data sets, and one from before there were several."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.records.manifest import Evaluation, Manifest
from robustbench_twicing.records.parts import PartRecords
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.schema import RECORD_SCHEMA
from tests.plain_manifest import plain_condition, plain_evaluation

CONDITIONS = tuple(plain_condition(name) for name in ("clean", "pgd", "imagenet-a"))


def evaluation(name: str, conditions: dict[str, int], images: int = 3) -> Evaluation:
    return plain_evaluation("m", images, conditions, data=name)


CLEAN = evaluation("val", {"pixel:pgd": 3, "pixel:clean": 2})
SHIFTED = evaluation("imagenet-a", {"pixel:imagenet-a": 3})


def manifest(*evaluations: Evaluation, left_out: tuple[str, ...] = ()) -> Manifest:
    return Manifest(evaluations, CONDITIONS, 0, 4, left_out=left_out)


def part() -> PartRecords:
    columns: dict[str, list[Any]] = {name: [None] * 2 for name in RECORD_SCHEMA.names}
    named = {"protocol": ["pixel"] * 2, "condition": ["clean"] * 2, "image": ["a", "b"]}
    named |= {"label": ["m"] * 2, "dataset": ["val"] * 2, "status": ["ok"] * 2}
    columns["index"] = [0, 1]
    return PartRecords(pa.table(columns | named, schema=RECORD_SCHEMA), {})


def test_every_data_set_has_its_own_conditions() -> None:
    several = manifest(CLEAN, SHIFTED)
    ids = [[each.id for each in several.conditions_of(one)] for one in several.evaluations]
    assert ids == [["pgd", "clean"], ["imagenet-a"]]


def test_it_is_read_back_as_it_was(tmp_path: Path) -> None:
    asked = manifest(CLEAN, SHIFTED, left_out=("imagenetv2",))
    RunFolder.create_or_continue(tmp_path / "run", asked)
    assert RunFolder.open(tmp_path / "run").manifest == asked
    with pytest.raises(
        UserError,
        match="data sets left out are imagenetv2 there and none here; give the same --without",
    ):
        RunFolder.create_or_continue(tmp_path / "run", manifest(CLEAN, SHIFTED))


def test_a_condition_that_nothing_describes_is_refused(tmp_path: Path) -> None:
    strange = manifest(CLEAN, evaluation("x", {"pixel:fgsm": 3}))
    (tmp_path / "run.json").write_text(json.dumps(strange.to_json()))
    with pytest.raises(UserError, match=r"run\.json is not a manifest .* a condition is not there"):
        RunFolder.open(tmp_path)


def test_a_run_from_before_there_were_several_is_still_read(tmp_path: Path) -> None:
    old = json.loads(json.dumps(manifest(CLEAN).to_json()))
    del old["left_out"], old["evaluations"][0]["conditions"]
    (tmp_path / "run.json").write_text(json.dumps(old))
    written = RunFolder(tmp_path, manifest(CLEAN), old)
    written.write_part(CLEAN, 0, part())
    folder = RunFolder.open(tmp_path)
    (one,) = folder.manifest.evaluations
    assert one.conditions == {each.key: 3 for each in CONDITIONS}
    assert folder.records(one).frame["image"].tolist() == ["a", "b"]
    with pytest.raises(UserError, match="belongs to another run"):
        RunFolder(tmp_path, manifest(CLEAN)).records(one)
