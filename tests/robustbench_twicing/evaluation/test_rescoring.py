"""Adversarial images as files would hold them: a sample of them, or all, is scored in 8 bits."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from robustbench_twicing import evaluate
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.tasks import rescored
from tests.tiny import convnet, dataset, halfspace, noise, quick_conditions, run

pytestmark = pytest.mark.slow

OPTIONS: dict[str, dict[str, Any]] = {
    "a": {"batch_size": 3},
    "b": {},
    "all": {"score_8bit": "all"},
}


def test_the_rank_after_rounding_to_8_bits_is_recorded(tmp_path: Path) -> None:
    """A mean of 127.75 less 0.4 is dark; rounded back to whole levels it is bright again."""
    image = np.full((2, 8, 8, 3), 128, np.uint8)
    image[:, :2] = 127
    moved = {"it@0.5/255": lambda model, x, y, *, generator: x - 0.4 / 255}
    data, out = dataset(image, [1, 0]), tmp_path / "run"
    records = evaluate(halfspace(), data, moved, out=out, score_8bit="all").records()
    assert records["clean_rank"].tolist() == [0, 1]
    assert records["rank"].tolist() == [1, 0]
    assert records["rank_8bit"].tolist() == [0, 1]


def test_one_image_in_eight_is_scored_in_8_bits_the_same_for_all(tmp_path: Path) -> None:
    """In batches of any size; where all are, those of the sample have the same ranks."""
    conditions = quick_conditions("clean", "fgsm", "noise")
    ranks = {}
    for name, options in OPTIONS.items():
        done = run(convnet(), noise(17), conditions, tmp_path / name, **options)
        assert done.folder.manifest.score_8bit == options.get("score_8bit", "sample")
        by_condition = done.records().groupby("condition", observed=True)
        ranks[name] = {str(key): rows["rank_8bit"].tolist() for key, rows in by_condition}
    sample = rescored(noise(17), 0, "sample")
    assert len(sample) == 3
    for condition, every in ranks["all"].items():
        shown = range(17) if condition == "clean" else sample
        wanted = [rank if index in shown else None for index, rank in enumerate(every)]
        for name in ("a", "b"):
            found = [None if pd.isna(rank) else rank for rank in ranks[name][condition]]
            assert found == wanted, (name, condition)


def test_a_run_goes_on_as_it_began(tmp_path: Path) -> None:
    """Also one from before there was a choice."""
    out, conditions = tmp_path / "run", quick_conditions("clean", "fgsm")
    run(convnet(), noise(9), conditions, out, score_8bit="all")
    values = json.loads((out / "run.json").read_text())
    del values["score_8bit"]
    (out / "run.json").write_text(json.dumps(values))
    shutil.rmtree(out / "parts")
    with pytest.raises(UserError, match="was begun with --score-8bit all, not sample; leave"):
        run(convnet(), noise(9), conditions, out, score_8bit="sample")
    done = run(convnet(), noise(9), conditions, out)
    assert done.folder.manifest.score_8bit == "all"
    assert done.records()["rank_8bit"].notna().all()


def test_at_most_256_images_of_a_set_are_scored_in_8_bits() -> None:
    few, many = noise(16), noise(2600)
    assert [len(rescored(data, 0, "sample")) for data in (few, many)] == [2, 256]
    assert rescored(few, 0, "sample") != rescored(few, 1, "sample")
    assert rescored(few, 0, "all") == frozenset(range(16))
