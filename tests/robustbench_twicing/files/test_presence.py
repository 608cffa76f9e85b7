"""A run folder that goes away, that is just being made, or that may not be looked into."""

from collections.abc import Callable
from pathlib import Path

import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.files.atomic import is_there
from robustbench_twicing.records import run_folder
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.records.test_run_folder import evaluation, manifest, part

LONG = "x" * 300
"""No file system of ours has such a name, and says so: neither yes nor no."""


def test_there_or_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert is_there(tmp_path)
    assert is_there(tmp_path / "file")
    assert not any(is_there(tmp_path / name) for name in ("none", "file/below", "loop"))
    with pytest.raises(UserError, match="cannot be read: File name too long"):
        is_there(tmp_path / LONG)


def test_a_folder_of_which_the_system_says_nothing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: File name too long"):
        RunFolder.open(tmp_path / LONG)
    with pytest.raises(UserError, match="cannot be read: File name too long"):
        RunFolder.create_or_continue(tmp_path / LONG, manifest())


def test_parts_that_may_not_be_looked_at_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest())

    def refuse(path: Path, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(UserError, match=r"run/parts/.* cannot be read: Permission denied"):
        folder.missing(evaluation())


@pytest.mark.parametrize("new", [None, manifest(seed=7), manifest("other")])
def test_work_on_a_folder_that_was_taken_away_ends(new: object, tmp_path: Path) -> None:
    """What is written into a folder without its run.json could never be used."""
    folder = RunFolder.create_or_continue(tmp_path / "run", manifest())
    folder.write_part(evaluation(), 0, part(0))
    (tmp_path / "run").rename(tmp_path / "moved")
    if new is not None:
        RunFolder.create_or_continue(tmp_path / "run", new)  # type: ignore[arg-type]
    what = "gone" if new is None else "of another run by now"
    with pytest.raises(UserError, match=f"run is {what}: it was moved or removed during the work"):
        folder.write_part(evaluation(), 1, part(2))
    assert not (tmp_path / "run" / "parts").exists()
    RunFolder.open(tmp_path / "moved").write_part(evaluation(), 1, part(2))
    assert RunFolder.open(tmp_path / "moved").complete


def test_a_run_that_another_process_begins_at_this_moment_is_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins after this process's first look, and before its second."""
    looks = 0

    def looking(look: Callable[[Path], bool]) -> Callable[[Path], bool]:
        def looked(path: Path) -> bool:
            nonlocal looks
            found = look(path)
            looks += 1
            if looks == 1:
                RunFolder.create_or_continue(tmp_path / "run", manifest())
            return found

        return looked

    for name in ("is_free", "is_there"):
        monkeypatch.setattr(run_folder, name, looking(getattr(run_folder, name)))
    assert RunFolder.create_or_continue(tmp_path / "run", manifest()).path == tmp_path / "run"
    assert looks > 2
