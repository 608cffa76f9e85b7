"""What ended in an error is computed again by the same command, and nothing else is touched."""

import shutil
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attacks.declaration import sweep_of
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.dataset import Dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.options import Shard
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.evaluation.standing.look import Standing
from robustbench_twicing.records import compaction, locks
from robustbench_twicing.records.failures import Attempted, Work
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.records.holding import held_elsewhere
from tests.tiny import convnet, noise, quick_conditions, run, table, text

NAME = "weather@4/255"
BROKEN: list[int] = []
"""Calls of the attack below, counted from 1, that fail."""
CALLS = [0]


def weather(
    model: nn.Module, x: Tensor, y: Tensor, *, eps: float, generator: list[torch.Generator]
) -> Tensor:
    """Random pixels, unless something outside is out of order."""
    CALLS[0] += 1
    if CALLS[0] in BROKEN:
        raise ConnectionError("the disk is away")
    drawn = torch.cat([torch.rand(x[:1].shape, generator=drawer) for drawer in generator])
    return (x + eps * (2 * drawn - 1)).clamp(0, 1)


@pytest.fixture(autouse=True)
def in_order() -> Iterator[None]:
    """Nothing fails unless a test says so."""
    BROKEN.clear()
    CALLS[0] = 0
    yield
    BROKEN.clear()


def conditions() -> list[Condition]:
    budget = Fraction(4, 255)
    own = Condition(NAME, "weather", budget, sweep=sweep_of(weather, "weather"), passes=(0, 0))
    return [clean(), own, *quick_conditions("fgsm", "pgd")]


def evaluate(out: Path, data: Dataset | None = None, **options: Any) -> Run:
    images = noise(7) if data is None else data
    return run(convnet(), images, conditions(), out, **{"batch_size": 3, **options})


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run in which nothing fails."""
    return evaluate(tmp_path_factory.mktemp("fresh") / "run")


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose second part has error rows."""
    BROKEN.append(CALLS[0] + 2)
    out = tmp_path_factory.mktemp("failed") / "run"
    done = evaluate(out)
    assert table(done)[NAME]["status"] == "error"
    return out


@pytest.fixture
def copied(failed: Path, tmp_path: Path) -> Path:
    out = tmp_path / "run"
    shutil.copytree(failed, out)
    return out


def parts(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(out.rglob("part-*.parquet"))}


def test_it_has_the_rows_of_a_run_in_which_nothing_failed(
    copied: Path, fresh: Run, caplog: pytest.LogCaptureFixture
) -> None:
    before = parts(copied)
    done = evaluate(copied)
    assert text(done.records()) == text(fresh.records())
    changed = [path.name for path, content in parts(copied).items() if content != before[path]]
    assert changed == ["part-000001.parquet"]
    assert CALLS == [1]
    line = f"3 error rows were computed again ({NAME}): 0 are errors again, 3 have values now"
    assert [message for message in caplog.messages if "again" in message] == [line]


def test_what_is_left_is_counted_by_error_rows_and_not_by_their_part(tmp_path: Path) -> None:
    BROKEN.append(2)
    evaluate(tmp_path / "run", part_size=6)

    def left() -> str:
        folder = RunFolder.open(tmp_path / "run")
        (evaluation,) = folder.manifest.evaluations
        attempted = Attempted()
        works = (Work(folder, evaluation, range(folder.part_count(evaluation)), attempted),)
        return str(Standing(folder, works, attempted, begun=True)).partition(": ")[2]

    again = f"error rows under {NAME} are computed again"
    assert left() == f"3 of 7 images are left: 3 of convnet on tiny under 1 condition; {again}"
    folder = RunFolder.open(tmp_path / "run")
    folder.part_path(folder.manifest.evaluations[0], 1).unlink()
    both = "1 of convnet on tiny under 4 conditions, 3 of convnet on tiny under 1 condition"
    assert left() == f"4 of 7 images are left: {both}; {again}"
    folder.part_path(folder.manifest.evaluations[0], 0).unlink()
    assert left() == "7 of 7 images are left: 7 of convnet on tiny under 4 conditions"


def test_the_cost_is_that_of_both_attempts(copied: Path, fresh: Run) -> None:
    """The clean pass of the second one is charged to the condition that needed it."""
    names = ("n_forward", "n_backward")
    before = table(Run(RunFolder.open(copied)))
    after, wanted = table(evaluate(copied)), table(fresh)
    for condition in ("clean", "fgsm@4/255", "pgd@4/255"):
        assert [after[condition][name] for name in names] == [
            wanted[condition][name] for name in names
        ]
    assert after[NAME]["n_forward"] > before[NAME]["n_forward"] + 3
    assert after[NAME]["seconds"] > before[NAME]["seconds"]


def test_a_part_that_was_put_into_a_larger_file_meanwhile_is_tried_again(
    copied: Path, fresh: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = table(evaluate(shutil.copytree(copied, copied.with_name("plain"))))
    monkeypatch.setattr(compaction, "FEW", 1)
    calls = CALLS[0]
    done = evaluate(copied)
    assert CALLS[0] == calls + 1
    assert text(done.records()) == text(fresh.records())
    assert len(parts(copied)) == 1
    for condition, row in table(done).items():
        assert row["n_forward"] == wanted[condition]["n_forward"]


def test_a_part_that_another_process_had_meanwhile_is_tried_at_the_end(
    copied: Path, fresh: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one has it that puts its range into one file, for a shard of its own."""
    place = next(copied.rglob("part-000001.parquet")).parent
    with held_elsewhere(place, 1) as end:
        clock = SimpleNamespace(sleep=lambda seconds: end(), monotonic=time.monotonic)
        monkeypatch.setattr(locks, "time", clock)
        assert text(evaluate(copied).records()) == text(fresh.records())


def test_a_finished_run_without_errors_is_left_as_it_is(copied: Path) -> None:
    evaluate(copied)
    sessions, before, calls = len(list(copied.glob("sessions/*"))), parts(copied), CALLS[0]
    evaluate(copied)
    assert (len(list(copied.glob("sessions/*"))), parts(copied), CALLS[0]) == (
        sessions,
        before,
        calls,
    )


def test_an_error_of_the_attacks_own_is_there_again(
    copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = text(Run(RunFolder.open(copied)).records())
    BROKEN.append(1)
    assert text(evaluate(copied).records()) == wanted
    assert "3 are errors again, 0 have values now" in caplog.text


def test_of_several_batches_of_a_part_only_the_failing_one_is_computed(tmp_path: Path) -> None:
    wanted = evaluate(tmp_path / "fresh", part_size=7).records()
    BROKEN.append(CALLS[0] + 2)
    evaluate(tmp_path / "run", part_size=7)
    calls = CALLS[0]
    assert text(evaluate(tmp_path / "run", part_size=7).records()) == text(wanted)
    assert CALLS[0] == calls + 1


def test_another_shard_leaves_it_alone(copied: Path, fresh: Run) -> None:
    before = parts(copied)
    evaluate(copied, shard=Shard(1, 2))
    assert parts(copied) == before
    assert text(evaluate(copied, shard=Shard(2, 2)).records()) == text(fresh.records())


def test_what_is_missing_and_what_failed_are_computed_together(copied: Path, fresh: Run) -> None:
    next(copied.rglob("part-000000.parquet")).unlink()
    assert text(evaluate(copied).records()) == text(fresh.records())


def test_nothing_is_lost_where_the_second_attempt_ends_the_run(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = parts(copied)

    def full(*args: object) -> None:
        raise UserError("no space left")

    monkeypatch.setattr(RunFolder, "write_part", full)
    with pytest.raises(UserError, match="no space left"):
        evaluate(copied)
    assert parts(copied) == before


def test_images_that_cannot_be_read_are_no_error_of_an_attack(tmp_path: Path) -> None:
    data = noise(4, bad=[1])
    evaluate(tmp_path / "run", data, on_bad_image="skip")
    calls, before = CALLS[0], parts(tmp_path / "run")
    evaluate(tmp_path / "run", data, on_bad_image="skip")
    assert (CALLS[0], parts(tmp_path / "run")) == (calls, before)
