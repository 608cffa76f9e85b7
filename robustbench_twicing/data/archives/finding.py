"""Which archives a file, a folder or a pattern stands for."""

import re
import shlex
from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Literal, NamedTuple

from ...errors import UserError
from ...files.printable import count, name_some

Form = Literal["tar", "parquet"]
FORMS: dict[str, Form] = {".tar": "tar", ".parquet": "parquet"}
"""By ending."""
_COMPRESSED = re.compile(r"\.(?:t|tar\.)(gz|bz2?|xz|zst|lz4)$", re.IGNORECASE)
_TOOLS = {
    "gz": "gunzip -k",
    "bz2": "bunzip2 -k",
    "xz": "unxz -k",
    "zst": "zstd -d",
    "lz4": "lz4 -d",
}
_BEGINNINGS = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zst"}
"""How compressed files begin, whatever they are called."""
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
_SHARD = re.compile(r"(?P<split>.*?)[-_.]?\d+-of-(?P<of>\d+)")
_MOST = 100_000


class Archives(NamedTuple):
    """Archives of one form, in order of their names.

    Attributes:
        form: of all of them.
        paths: of the files, at least one.
        notes: sentences a reader must know.
    """

    form: Form
    paths: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def find_archives(path: Path) -> Archives | None:
    """The archives that a path means; None where it means none.

    Args:
        path: an archive; a folder of nothing but archives of one form, or with a folder ``data``
            of them, as on Hugging Face; or a pattern: ``val-*.tar``, ``val-{00..13}.tar``.

    Raises:
        UserError: a pattern, or a number of its range, that fits nothing, compressed archives, or
            parts of several data sets.
    """
    if path.is_dir():
        return _in_folder(path)
    if path.exists():
        _check_plain(path)
        return (
            Archives(FORMS[path.suffix.lower()], (path,)) if path.suffix.lower() in FORMS else None
        )
    if not (has_magic(str(path)) or _RANGE.search(path.name)):
        return None
    fitting = {pattern: glob(pattern) for pattern in _ranges(str(path))}  # noqa: PTH207 - absolute
    paths = sorted({Path(name) for names in fitting.values() for name in names})
    if not paths:
        raise UserError(f"no file fits {path}; give a pattern like val-*.tar or val-{{00..13}}.tar")
    absent = [Path(pattern).name for pattern, names in fitting.items() if not names]
    if absent:
        raise UserError(
            f"{path}: {count(len(absent), 'file')} missing ({name_some(absent)}); name those that "
            "are there by *"
        )
    return _of_one_form(path, paths)


def _in_folder(folder: Path) -> Archives | None:
    for place in (folder, folder / "data"):
        paths = sorted(entry for entry in place.glob("*") if entry.suffix.lower() in FORMS)
        if paths and place.is_dir():
            return _of_one_form(place, [path for path in paths if path.is_file()])
        packed = [entry for entry in sorted(place.glob("*")) if _COMPRESSED.search(entry.name)]
        if packed and not any(place.glob("*.npy")):
            _check_plain(packed[0])
    return None


def _of_one_form(asked: Path, paths: Sequence[Path]) -> Archives:
    for path in paths:
        _check_plain(path)
    forms = {FORMS.get(path.suffix.lower()) for path in paths}
    form = forms.pop() if len(forms) == 1 else None
    if form is None:
        raise UserError(
            f"{asked} stands for {count(len(paths), 'file')} that are not all .tar or all .parquet "
            f"({name_some(path.name for path in paths)}); give a pattern, like val-*.tar"
        )
    splits = {_split(path) for path in paths}
    if len(splits) > 1:
        raise UserError(
            f"{asked} holds parts of several data sets ({name_some(sorted(splits), 6)}); name one "
            f"by a pattern, like '{paths[0].parent / min(splits)}*{paths[0].suffix}'"
        )
    return Archives(form, tuple(paths), tuple(_missing(paths)))


def _split(path: Path) -> str:
    """What the names of all parts of one split begin with: ``validation``."""
    match = _SHARD.match(path.stem)
    return match["split"] if match else re.sub(r"[-_.]?\d+$", "", path.stem)


def _missing(paths: Sequence[Path]) -> Iterator[str]:
    match = _SHARD.match(paths[0].stem)
    if match and len(paths) != int(match["of"]):
        yield f"{len(paths)} of {int(match['of'])} parts are here, by the names of the files"


def _check_plain(path: Path) -> None:
    if match := _COMPRESSED.search(path.name):
        kind = match[1].lower()
        command = f"{_TOOLS.get(kind, _TOOLS['bz2'])} {shlex.quote(str(path))}"
        plain = path.with_name(f"{path.name[: match.start()]}.tar")
        raise UserError(f"{_packed(path)}: {command}, and give {plain}")


def _packed(path: Path) -> str:
    return (
        f"{path} is compressed, and images are read from their places in a plain .tar; decompress "
        "it once"
    )


def check_not_compressed(path: Path) -> None:
    """Refuse a file that is compressed in spite of its name.

    Raises:
        UserError: it is, with the commands that help.
    """
    with path.open("rb") as file:
        start = file.read(8)
    for beginning, kind in _BEGINNINGS.items():
        if start.startswith(beginning):
            name = shlex.quote(str(path))
            packed = shlex.quote(f"{path}.{kind}")
            raise UserError(f"{_packed(path)}: mv {name} {packed} && {_TOOLS[kind]} {packed}")


def _ranges(pattern: str) -> Iterator[str]:
    """The patterns that ``{00..13}`` stands for."""
    match = _RANGE.search(pattern)
    if match is None:
        yield pattern
        return
    first, last = int(match[1]), int(match[2])
    for number in range(first, min(last, first + _MOST) + 1):
        text = f"{number:0{len(match[1])}d}"
        yield from _ranges(pattern[: match.start()] + text + pattern[match.end() :])
