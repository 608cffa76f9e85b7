"""A changed file has another stamp, as soon as its clock has ticked."""

import os
import shutil
import time
from pathlib import Path

import pytest

from robustbench_twicing.files.stamp import Stamp, are_settled, stamp_of


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


def test_what_copies_links_and_open_files_have_in_common(tmp_path: Path) -> None:
    file, copy, link = (tmp_path / name for name in ("file", "copy", "link"))
    file.write_text("content")
    os.utime(file, ns=(0, 10**18))
    before = Stamp.of(file.stat())
    shutil.copy2(file, copy)
    copied = Stamp.of(copy.stat())
    assert copied.as_written == before.as_written == (7, 10**18)
    assert copied.inode != before.inode
    time.sleep(0.02)  # the clock of the disk ticks
    link.hardlink_to(file)
    linked = Stamp.of(file.stat())
    assert linked == stamp_of(link) == before._replace(changed=linked.changed)
    assert linked.on_any_mount != before.on_any_mount
    with file.open() as content:
        file.unlink()
        assert Stamp.of(os.fstat(content.fileno())).as_written == before.as_written


@pytest.mark.parametrize("backwards", [False, True])
def test_files_settle_two_seconds_after_their_last_change(
    backwards: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    os.utime(tmp_path / "file", ns=(0, 10**18))
    stamp = Stamp.of((tmp_path / "file").stat())
    latest = stamp.changed / 1e9
    if backwards:  # as on a disk whose clock is behind that of the file's writer
        stamp = stamp._replace(modified=stamp.changed, changed=stamp.modified)
    monkeypatch.setattr(time, "time", lambda: latest + 1.9)
    assert not are_settled([None, stamp])
    monkeypatch.setattr(time, "time", lambda: latest + 2.1)
    assert are_settled([None, stamp])
    assert are_settled([])
