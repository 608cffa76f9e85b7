"""A run that was cut, split or repeated has the records of an undisturbed one."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from attacks import ATTACKS
from reports import results, write_results
from reports.merging.sessions import read_sessions
from robustbench_twicing.conditions.condition import WORST, clean
from robustbench_twicing.data.dataset import Dataset, limit_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.options import Shard
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.evaluation.tasks import make_task
from robustbench_twicing.records.run_folder import RunFolder
from tests.tiny import convnet, dataset, noise, quick_conditions, run, text

CONDITIONS = quick_conditions("clean", "fgsm", "pgd", "spsa", "noise")


def evaluate(out: Path, **options: Any) -> Run:
    return run(convnet(), noise(11), CONDITIONS, out, **{"batch_size": 3, **options})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The undisturbed run."""
    return evaluate(tmp_path_factory.mktemp("whole") / "run")


def parts(done: Run) -> list[Path]:
    return sorted(done.folder.path.rglob("*.parquet"))


def counted(done: Run) -> pd.DataFrame:
    return results(done.folder).drop(columns="seconds")


@pytest.mark.slow
def test_parts_that_are_gone_are_computed_again_and_no_others(whole: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole.folder.path, out)
    cut = Run(RunFolder.open(out))
    before = {path: path.stat().st_mtime_ns for path in parts(cut)}
    assert len(before) == 4
    gone = parts(cut)[1::2]
    for path in gone:
        path.unlink()
    assert not cut.complete
    assert set(results(cut.folder)["status"]) == {"incomplete"}
    done = evaluate(out)
    assert done.complete
    after = {path: path.stat().st_mtime_ns for path in parts(done)}
    assert [path for path in after if after[path] != before[path]] == gone
    assert text(done.records()) == text(whole.records())
    pd.testing.assert_frame_equal(counted(done), counted(whole))


@pytest.mark.slow
def test_an_incomplete_condition_has_no_accuracy(whole: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole.folder.path, out)
    parts(Run(RunFolder.open(out)))[0].unlink()
    table = results(RunFolder.open(out))
    assert set(table["n_images"]) == {8}
    for name in ("top1", "top5", "top1_ci_low", "top1_ci_high", "robust_top1", "linf_255_max"):
        assert table[name].isna().all(), name


@pytest.mark.slow
@pytest.mark.parametrize("shares", [2, 3, 7])
def test_shares_make_one_run(shares: int, whole: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    complete = [
        evaluate(out, shard=Shard(share, shares)).complete
        for share in reversed(range(1, shares + 1))
    ]
    assert complete == [False] * (shares - 1) + [True]
    done = Run(RunFolder.open(out))
    assert text(done.records()) == text(whole.records())
    pd.testing.assert_frame_equal(counted(done), counted(whole))


@pytest.mark.slow
def test_each_share_has_its_own_parts(tmp_path: Path) -> None:
    done = evaluate(tmp_path / "run", shard=Shard(2, 3))
    assert [path.name for path in parts(done)] == ["part-000001.parquet"]
    assert evaluate(tmp_path / "run", shard=Shard(1, 3)).folder.missing(
        done.folder.manifest.evaluations[0]
    ) == [2]


@pytest.mark.slow
def test_a_finished_run_is_left_alone(whole: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole.folder.path, out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    assert text(evaluate(out).records()) == text(whole.records())
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")} == before


@pytest.mark.slow
def test_every_process_that_computes_is_noted(tmp_path: Path) -> None:
    for number in (1, 2, 3, 3):
        evaluate(tmp_path / "run", shard=Shard(number, 3))
    sessions = read_sessions(tmp_path / "run")
    assert len(sessions) == 3
    assert {session.model_dump()["pid"] for session in sessions} == {os.getpid()}


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 4, 64])
def test_another_batch_size_gives_the_same_but_for_rounding(
    batch_size: int, whole: Run, tmp_path: Path
) -> None:
    """Streams are per image, so only rounding differs: no loss may differ by more than that."""
    columns = ["condition", "image"]
    other = evaluate(tmp_path / "run", batch_size=batch_size).records().sort_values(columns)
    found, wanted = other, whole.records().sort_values(columns)
    assert found["prediction"].tolist() == wanted["prediction"].tolist()
    assert found["loss"].tolist() == pytest.approx(wanted["loss"].tolist(), rel=1e-3)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"seed": 1}, "seed is 0 there and 1 here; give the same --seed"),
        (
            {"attack_precision": "bf16"},
            "attack precision is fp32 there and bf16 here; give the same --attack-precision",
        ),
    ],
)
def test_other_options_are_refused_by_name(options: dict[str, Any], named: str, whole: Run) -> None:
    with pytest.raises(UserError) as caught:
        evaluate(whole.folder.path, **options)
    assert str(caught.value) == (
        f"{whole.folder.path} was made with other settings: {named}, or use another --out"
    )


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 2, 64, None])
def test_a_run_keeps_its_parts_when_it_goes_on_with_another_batch_size(
    batch_size: int | None, whole: Run, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole.folder.path, out)
    (out / "results.csv").unlink(missing_ok=True)
    for part in (1, 3):
        next(out.rglob(f"part-{part:06}.parquet")).unlink()
    done = evaluate(out, batch_size=batch_size)
    assert done.folder.manifest.part_size == 3
    records, wanted = done.records(), whole.records()
    assert records["prediction"].tolist() == wanted["prediction"].tolist()
    assert records["loss"].tolist() == pytest.approx(wanted["loss"].tolist(), rel=1e-3)
    assert not any("batch-halved" in flags for flags in results(done.folder)["flags"])


def test_parts_of_another_size_than_the_batches(whole: Run, tmp_path: Path) -> None:
    done = evaluate(tmp_path / "run", batch_size=2, part_size=5)
    assert done.folder.part_count(done.folder.manifest.evaluations[0]) == 3
    order = ["condition", "index"]
    records, wanted = (run.records().sort_values(order) for run in (done, whole))
    assert records["prediction"].tolist() == wanted["prediction"].tolist()


def other_labels() -> Dataset:
    data = noise(11)
    return replace(data, labels=(0, *data.labels[1:]))


@pytest.mark.slow
def test_another_seed_of_a_subset_is_named(tmp_path: Path) -> None:
    """Not the images, which differ too: nobody would see from a fingerprint what to type."""
    out = tmp_path / "run"
    words = "limit seed of tiny is 0 there and 1 here; give the same --limit and --limit-seed"
    for seed in (0, 1):
        data = limit_dataset(noise(11), 5, seed=seed)
        with pytest.raises(UserError, match=words) if seed else nullcontext():
            run(convnet(), data, CONDITIONS, out, batch_size=3)


def test_other_data_models_and_conditions_are_refused_by_name(whole: Run) -> None:
    out, data = whole.folder.path, noise(11)
    other = replace(CONDITIONS[2], settings={**CONDITIONS[2].settings, "steps": 4})
    attempts: list[tuple[Any, Any, Any, str]] = [
        (convnet(), noise(11, seed=1), CONDITIONS, "images of tiny.fingerprint is "),
        (convnet(), other_labels(), CONDITIONS, "images of tiny.fingerprint is "),
        (convnet(), noise(10), CONDITIONS, "images of tiny.n_images is 11 there and 10"),
        (convnet(), data, CONDITIONS[:-1], "conditions on tiny, pixel:noise@4/255 is there"),
        (
            convnet(),
            data,
            [*CONDITIONS[:2], other, *CONDITIONS[3:]],
            "settings.steps is 3 there and 4",
        ),
        (
            convnet(),
            data,
            CONDITIONS[1:],
            "of conditions on tiny, pixel:clean is there and not here",
        ),
    ]
    for model, images, conditions, named in attempts:
        with pytest.raises(UserError, match=named):
            run(model, images, conditions, out, batch_size=3)


def test_conditions_in_another_order_continue_the_run(whole: Run, tmp_path: Path) -> None:
    """In the order in which it was begun, so that the records are the same bit for bit."""
    out = tmp_path / "run"
    shutil.copytree(whole.folder.path, out)
    parts(Run(RunFolder.open(out)))[1].unlink()
    done = run(convnet(), noise(11), CONDITIONS[::-1], out, batch_size=3)
    assert done.complete
    assert text(done.records()) == text(whole.records())


def test_another_checkpoint_is_refused_by_its_hash(whole: Run) -> None:
    model = convnet()
    model.record = replace(model.record, weights_sha256="other")
    with pytest.raises(UserError, match="weights_sha256, other is here and not there"):
        run(model, noise(11), CONDITIONS, whole.folder.path, batch_size=3)


SCRIPT = """
import sys, time
from pathlib import Path
from tests.robustbench_twicing.evaluation.test_runner_continue import CONDITIONS
from tests.tiny import convnet, noise, run

class Slow(type(convnet().network)):
    def forward(self, x):
        time.sleep(0.02)
        return super().forward(x)

model = convnet()
model.network.__class__ = Slow
run(model, noise(11), CONDITIONS[:3], Path(sys.argv[1]), batch_size=1)
"""


@pytest.mark.slow
def test_a_killed_run_is_continued_bit_for_bit(tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(out)], cwd=Path(__file__).parents[3]
    )
    deadline = time.monotonic() + 120
    while len(list(out.rglob("part-*.parquet"))) < 3 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    kept = len(list(out.rglob("part-*.parquet")))
    assert 3 <= kept < 11
    done = run(convnet(), noise(11), CONDITIONS[:3], out, batch_size=1)
    wanted = run(convnet(), noise(11), CONDITIONS[:3], tmp_path / "other", batch_size=1)
    assert text(done.records()) == text(wanted.records())
    assert len(read_sessions(done.folder.path)) == 2


@pytest.mark.slow
def test_a_run_killed_while_it_wrote_its_manifest_is_started_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / ".run.json.123.tmp").write_text('{"evalu')
    assert evaluate(out).complete


@pytest.mark.slow
def test_what_a_killed_writer_left_is_no_part(whole: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole.folder.path, out)
    part = parts(Run(RunFolder.open(out)))[0]
    part.rename(part.with_name(f".{part.name}.123.tmp"))
    assert not Run(RunFolder.open(out)).complete
    assert text(evaluate(out).records()) == text(whole.records())


@pytest.mark.slow
def test_files_of_one_label_are_never_taken_for_anothers(tmp_path: Path) -> None:
    from robustbench_twicing.evaluation.runner import Options, evaluate_models

    models = {"a b": convnet(0), "a/b": convnet(1), "a_b": convnet(2)}
    done = evaluate_models(
        models,
        [make_task(noise(3), [clean()])],
        out=tmp_path / "run",
        options=Options(batch_size=3),
    )
    records = done.records()
    assert records["label"].tolist() == [label for label in models for _ in range(3)]
    assert len({path.parent for path in parts(done)}) == 3


def test_results_are_written_beside_the_parts(whole: Run) -> None:
    path = write_results(whole.folder)
    assert path == whole.folder.path / "results.csv"
    attacks = pd.read_csv(path)["attack"]
    assert (attacks != WORST).sum() == len(CONDITIONS)


def test_the_manifest_says_what_was_asked_for(tmp_path: Path) -> None:
    data = dataset(noise(2).images.arrays, [0, 1], name="photos")  # type: ignore[attr-defined]
    done = run(convnet(), data, quick_conditions("clean", "pgd"), tmp_path / "run", seed=5)
    manifest = json.loads((done.folder.path / "run.json").read_text())
    assert manifest["schema"] == 2
    assert manifest["seed"] == 5
    assert manifest["attack_precision"] == "fp32"
    (evaluation,) = manifest["evaluations"]
    assert evaluation["record"]["model"] == "convnet"
    assert evaluation["preprocessing"]["std"] == [0.2, 0.25, 0.3]
    assert evaluation["dataset"]["fingerprint"] == data.fingerprint
    pgd = manifest["conditions"][1]
    assert Fraction(pgd["eps"]) == Fraction(4, 255)
    assert pgd["settings"] == {**ATTACKS["pgd"].settings, "steps": 3}
    assert pgd["changed"] == {"steps": 20}
    assert pgd["threat"] == {"space": "pixel", "clip": True, "label": "true", "norm": "linf"}
