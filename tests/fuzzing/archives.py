"""Damage to zip archives: their directory against their content."""

import io
import struct
import zipfile
from random import Random

from .bytewise import BYTEWISE, NUMBERS
from .opcodes import deep_program, hostile_program, in_archive, in_stream, random_program
from .rounds import Mutation

DIRECTORY, LOCAL, END = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"
FIELDS = ((4, 2), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4))
"""Offset and size of numbers in an entry of the directory."""
NAMES = ("net/data.pkl", "net/../x", "/etc/passwd", "net/data/0", "", "net/code/a.py", "a" * 9999)


def _entries(content: bytes) -> list[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > 10 * len(content) + 1000:
                return []
            return [(info.filename, archive.read(info)) for info in infos]
    except Exception:  # an archive that was damaged before stays as it is
        return []


def _packed(entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    import warnings

    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as archive:
        warnings.simplefilter("ignore")  # of two entries with one name
        for name, data in entries:
            archive.writestr(zipfile.ZipInfo(name or "x"), data, method)
    return file.getvalue()


def change_directory(random: Random, content: bytes) -> bytes:
    """A size, offset, flag, method or checksum in the directory is another one."""
    starts = [at for at in range(len(content)) if content.startswith(DIRECTORY, at)]
    if not starts:
        return content
    offset, size = random.choice(FIELDS)
    at = random.choice(starts) + offset
    number = random.choice(NUMBERS) % (1 << (8 * size))
    return content[:at] + number.to_bytes(size, "little") + content[at + size :]


def change_end(random: Random, content: bytes) -> bytes:
    """The record that says where the directory is says something else."""
    at = content.rfind(END)
    if at < 0:
        return content
    offset, size = random.choice(((4, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)))
    number = random.choice(NUMBERS) % (1 << (8 * size))
    at += offset
    return content[:at] + number.to_bytes(size, "little") + content[at + size :]


def rename_entry(random: Random, content: bytes) -> bytes:
    """An entry has the name of another one, or one outside the archive."""
    entries = _entries(content)
    if not entries:
        return content
    at = random.randrange(len(entries))
    entries[at] = random.choice(NAMES), entries[at][1]
    return _packed(entries)


def pack_again(random: Random, content: bytes) -> bytes:
    """Packed again, compressed."""
    entries = _entries(content)
    return _packed(entries, zipfile.ZIP_DEFLATED) if entries else content


def bomb(random: Random, content: bytes) -> bytes:
    """One entry unpacks to thirty million zeros."""
    entries = _entries(content)
    if not entries:
        return content
    at = random.randrange(len(entries))
    head = entries[at][1][: random.choice((0, 128, 1000))]
    entries[at] = entries[at][0], head + bytes(30_000_000)
    return _packed(entries, zipfile.ZIP_DEFLATED)


def change_entry(random: Random, content: bytes) -> bytes:
    """Damage inside an entry, under a true checksum."""
    entries = _entries(content)
    if not entries:
        return content
    at = random.randrange(len(entries))
    mutation = random.choice(BYTEWISE)
    entries[at] = entries[at][0], mutation(random, entries[at][1])
    return _packed(entries)


def nest(random: Random, content: bytes) -> bytes:
    """The archive within an archive, or behind something else."""
    return random.choice((_packed([("net/data.pkl", content)]), content + content, b"#!" + content))


def overlap(random: Random, content: bytes) -> bytes:
    """Many entries of the directory share one record, which is counted again and again."""
    start, end = content.find(DIRECTORY), content.rfind(END)
    if not 0 <= start < end:
        return content
    head, directory, tail = content[:start], content[start:end], content[end : end + 22]
    again = directory * random.choice((2, 500))
    count = again.count(DIRECTORY) % 2**16
    tail = tail[:8] + struct.pack("<HHI", count, count, len(again)) + tail[16:]
    return head + again + tail


def program(random: Random, content: bytes) -> bytes:
    """A hostile pickle in a sound container."""
    write = random.choice((hostile_program, random_program, random_program, deep_program))
    made = write(random)
    return random.choice((in_archive(made), in_archive(made), in_stream(made), made))


ZIPWISE: tuple[Mutation, ...] = (
    *(change_directory, change_directory, change_end, rename_entry, pack_again, bomb),
    *(change_entry, change_entry, change_entry, nest, overlap, *BYTEWISE),
)
CHECKPOINTS: tuple[Mutation, ...] = (*ZIPWISE, *(program,) * 8)
