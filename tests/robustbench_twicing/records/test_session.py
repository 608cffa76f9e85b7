"""Where nothing was computed, nothing is left; where anything may matter, all is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.records import session as sessions
from robustbench_twicing.records.run_folder import RunFolder
from robustbench_twicing.records.session import add_session, session
from tests.tiny import convnet, noise, quick_conditions, run

ENVIRONMENT = {"started": "2026-01-01T00:00:00+00:00"}
CLASSES = "must be the same classes"


def work(out: Path, *, classes: int = 5) -> Run:
    """Two parts of images of so many classes; the network has five."""
    return run(convnet(), noise(8, classes=classes), quick_conditions("clean"), out, batch_size=4)


def test_labels_that_are_not_the_models_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=CLASSES):
        work(tmp_path / "runs" / "run", classes=9)
    assert not (tmp_path / "runs" / "run").exists()
    assert work(tmp_path / "runs" / "run").complete


def test_a_note_that_has_no_room_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, write: object) -> None:
        path.parent.mkdir()
        raise UserError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sessions, "write_atomically", full)
        with pytest.raises(UserError, match="No space left"):
            work(tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert work(tmp_path / "run").complete


def other_process(out: Path) -> None:
    add_session(RunFolder.open(out), ENVIRONMENT)


def kept_image(out: Path) -> None:
    (out / "adversarial").mkdir()


def note_of_a_user(out: Path) -> None:
    (out / "notes.txt").write_text("do not delete")


def damaged_part(out: Path) -> None:
    path = out / "parts" / "convnet" / "tiny" / "part-000000.parquet.damaged-1"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


@pytest.mark.parametrize("leave", [other_process, kept_image, note_of_a_user, damaged_part])
def test_what_may_matter_to_somebody_stays(leave: Callable[[Path], None], tmp_path: Path) -> None:
    out = work(tmp_path / "run").folder.path
    for part in out.rglob("*.parquet"):
        part.unlink()
    for note in out.rglob("sessions/*"):
        note.unlink()
    leave(out)
    before = {path for path in out.rglob("*") if path.parent.name != "sessions"}
    with pytest.raises(UserError, match="in the work"), session(RunFolder.open(out), ENVIRONMENT):
        raise UserError("found in the work")
    assert {path for path in out.rglob("*") if path.parent.name != "sessions"} == before
    assert (out / "run.json").exists()


@pytest.mark.slow
def test_a_finished_part_stays(tmp_path: Path) -> None:
    out = work(tmp_path / "run").folder.path
    next(out.rglob("part-000001.parquet")).unlink()
    before = {path: path.read_bytes() for path in out.rglob("*.parquet")}
    with pytest.raises(UserError, match="in the work"), session(RunFolder.open(out), ENVIRONMENT):
        raise UserError("found in the work")
    assert {path: path.read_bytes() for path in out.rglob("*.parquet")} == before
    assert work(out).complete


def test_an_interruption_leaves_what_the_same_command_continues(tmp_path: Path) -> None:
    out = work(tmp_path / "run").folder.path
    for part in out.rglob("*.parquet"):
        part.unlink()
    with pytest.raises(KeyboardInterrupt), session(RunFolder.open(out), ENVIRONMENT):
        raise KeyboardInterrupt
    assert (out / "run.json").exists()
