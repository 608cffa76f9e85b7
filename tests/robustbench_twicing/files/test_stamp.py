"""A changed file has another stamp, as soon as its clock has ticked."""

import os
import time
from pathlib import Path

import pytest

from robustbench_twicing.files.stamp import are_settled, stamp_of


def test_content_changed_under_an_old_time_shows_in_the_stamp(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert stamp_of(file) is None
    file.write_text("before")
    stamp, times = stamp_of(file), file.stat()
    assert stamp_of(file) == stamp
    other = tmp_path / "other"
    other.write_text("afters")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(file)
    now = file.stat()
    assert (now.st_mtime_ns, now.st_size) == (times.st_mtime_ns, times.st_size)
    assert stamp_of(file) != stamp


def test_files_settle_two_seconds_after_their_last_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    stamp = stamp_of(tmp_path / "file")
    assert stamp is not None
    changed = max(stamp.modified, stamp.changed) / 1e9
    monkeypatch.setattr(time, "time", lambda: changed + 1.9)
    assert not are_settled([None, stamp])
    monkeypatch.setattr(time, "time", lambda: changed + 2.1)
    assert are_settled([None, stamp])
    assert are_settled([])
