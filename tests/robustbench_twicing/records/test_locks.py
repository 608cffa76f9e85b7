"""One part, one process."""

import errno
import logging
from pathlib import Path

import pytest

from robustbench_twicing.errors import UserError
from robustbench_twicing.records import locks
from robustbench_twicing.records.locks import Ownership
from tests.robustbench_twicing.records.holding import held_elsewhere


def test_a_part_belongs_to_one_process_until_it_ends(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path, 3, killed=True) as end, Ownership(tmp_path) as owner:
        assert not owner.claim(3)
        assert not owner.wait(3, lambda: True)
        assert owner.claim(2)
        assert list(owner.claimed(range(6), lambda part: part == 4)) == [0, 1, 2, 5]
        end()
        assert owner.wait(3, lambda: True)
        assert owner.claim(3)


def test_parts_that_nobody_else_has_are_had_alone(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path, 3) as end, Ownership(tmp_path) as owner:
        with owner.alone(range(4)) as alone:
            assert not alone
        with owner.alone(range(3)) as alone:
            assert alone
        end()
        with owner.alone(range(4)) as alone:
            assert alone
        owner.possible = False
        with owner.alone(range(4)) as alone:
            assert not alone


def test_a_released_part_is_free(tmp_path: Path) -> None:
    with Ownership(tmp_path) as owner:
        assert owner.claim(1)
        owner.release(1)
        with held_elsewhere(tmp_path, 1):
            assert not owner.claim(1)


def test_a_part_finished_between_two_questions_is_not_done_again(tmp_path: Path) -> None:
    answers = iter([False, True, False, False])
    with Ownership(tmp_path) as owner:
        assert list(owner.claimed([0, 1], lambda part: next(answers))) == [1]


class NoLocks:
    """Of a file system without locks, like some mounts of NFS."""

    LOCK_EX = LOCK_NB = LOCK_UN = 0

    @staticmethod
    def lockf(*arguments: int) -> None:
        """Refused."""
        raise OSError(errno.ENOLCK, "No locks available")


def test_locks_that_are_gone_at_release_are_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Ownership(tmp_path) as owner:
        assert owner.claim(1)
        monkeypatch.setattr(locks, "_locks", NoLocks)
        owner.release(1)
        owner.release(1)
        assert owner.claim(2)
    (line,) = caplog.messages
    assert "no locks (No locks available)" in line


def test_without_locks_all_may_be_claimed_and_that_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locks, "_locks", NoLocks)
    with caplog.at_level(logging.WARNING), Ownership(tmp_path) as owner:
        assert list(owner.claimed(range(3), lambda part: False)) == [0, 1, 2]
        owner.release(1)
    with Ownership(tmp_path) as again:
        assert again.claim(0)
    (said,) = caplog.messages
    assert "no locks (No locks available); give processes that work on this run" in said


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "parts").write_text("")
    with pytest.raises(UserError, match="cannot be written to"):
        Ownership(tmp_path / "parts" / "a")
