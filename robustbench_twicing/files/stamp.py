"""How a file shows that it was changed, or is another one than before."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

SETTLED = 2.0
"""Seconds after which another change of a file is sure to show in its times: on most disks a tick
of their clock is some milliseconds, on some network drives a second."""


class Stamp(NamedTuple):
    """What the system says of a file, from what its copies share to what one disk alone knows.

    Attributes:
        size: in bytes.
        modified: when its content changed last, in ns. Anybody may set it back, and ``cp -p``,
            archives and backups keep it.
        changed: when anything of it changed, in ns, which nobody sets: another time for every copy,
            and a new one after a chmod or where a hard link comes or goes, and after most renames.
        inode: tells files apart that were written in one tick of the clock. Stable on disks and
            NFS; a drive of FUSE (sshfs, buckets) may number a file anew whenever it is mounted, or
            was long not looked at.
    """

    size: int
    modified: int
    changed: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """All of it."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

    @property
    def on_any_mount(self) -> tuple[int, int, int]:
        """All but the inode: for what is refused, or takes long, where the stamp is another one."""
        return self[:3]

    @property
    def as_written(self) -> tuple[int, int]:
        """Size and time of the content: all that stays when a file is deleted while it is open."""
        return self[:2]


def stamp_of(path: Path) -> Stamp | None:
    """How a change of a file shows; None where there is none, or the system does not tell."""
    try:
        return Stamp.of(path.stat())
    except OSError:
        return None


def are_settled(stamps: Iterable[Stamp | None]) -> bool:
    """Whether all files were changed so long ago that the next change shows in their stamps."""
    times = (max(stamp.modified, stamp.changed) for stamp in stamps if stamp is not None)
    return time.time() - max(times, default=0) / 1e9 > SETTLED
