"""File systems of their own, to be filled."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Disk(NamedTuple):
    """A file system in memory, of a size that can be changed; root alone may mount it."""

    path: Path

    def mount(self) -> None:
        """Make it, of 50 MiB.

        Raises:
            subprocess.CalledProcessError, OSError: mounting is not allowed, or not known here.
        """
        self.path.mkdir()
        _mount("-t", "tmpfs", "-o", "size=50m", "none", str(self.path))

    def resize(self, size: str) -> None:
        """Another size, like ``60k``; what is there stays."""
        _mount("-o", f"remount,size={size}", str(self.path))

    def write_protect(self) -> None:
        """For everybody, root included."""
        _mount("-o", "remount,ro", str(self.path))

    def unmount(self) -> None:
        """Take it away, with all that is on it."""
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)
