"""A file is there in full or not at all."""

from pathlib import Path

import pytest

from robustbench_twicing.files.atomic import write_atomically


def test_the_name_appears_with_its_content(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    seen = []

    def write(temporary: Path) -> None:
        temporary.write_text("half")
        seen.append((path.exists(), temporary.parent))
        temporary.write_text("whole")

    write_atomically(path, write)
    assert seen == [(False, tmp_path)]
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_renamed_and_not_copied(tmp_path: Path) -> None:
    """A copy could be cut short; a renamed file is the one that was written, to its inode."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    seen = []

    def write(temporary: Path) -> None:
        temporary.write_text("new")
        seen.append(temporary.stat().st_ino)

    write_atomically(path, write)
    assert path.stat().st_ino == seen[0]


def test_an_older_file_is_replaced_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(temporary: Path) -> None:
        assert path.read_text() == "old"
        temporary.write_text("new")

    write_atomically(path, write)
    assert path.read_text() == "new"


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(temporary: Path) -> None:
        temporary.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_atomically(path, write)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_with_one_process_number_do_not_meet(tmp_path: Path) -> None:
    """Containers number their processes alike; here one writer runs inside the other."""
    path = tmp_path / "a.txt"

    def inner(temporary: Path) -> None:
        temporary.write_text("inner")

    def outer(temporary: Path) -> None:
        temporary.write_text("outer")
        write_atomically(path, inner)

    write_atomically(path, outer)
    assert path.read_text() == "outer"
    assert list(tmp_path.iterdir()) == [path]


def test_content_is_on_disk_before_the_name_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, events = tmp_path / "a.txt", []
    from robustbench_twicing.files import atomic

    monkeypatch.setattr(
        atomic, "_fsync", lambda each: events.append((each == tmp_path, path.exists()))
    )
    write_atomically(path, lambda temporary: temporary.touch())
    assert events == [(False, False), (True, True)]
