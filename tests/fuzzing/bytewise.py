"""Damage to any file: its bytes."""

from random import Random

from .rounds import Mutation

NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1)


def flip_bits(random: Random, content: bytes) -> bytes:
    """One to eight bits."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 8))):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def truncate(random: Random, content: bytes) -> bytes:
    """The end is missing."""
    return content[: random.randrange(len(content) + 1)]


def behead(random: Random, content: bytes) -> bytes:
    """The start is missing."""
    return content[random.randrange(len(content) + 1) :]


def insert(random: Random, content: bytes) -> bytes:
    """Bytes that do not belong there."""
    at = random.randrange(len(content) + 1)
    return content[:at] + random.randbytes(random.choice((1, 2, 7, 300))) + content[at:]


def cut_out(random: Random, content: bytes) -> bytes:
    """A piece in the middle is missing."""
    at = random.randrange(len(content) + 1)
    return content[:at] + content[at + random.choice((1, 2, 16, 500)) :]


def double(random: Random, content: bytes) -> bytes:
    """A piece comes twice, or a hundred times."""
    at = random.randrange(len(content) + 1)
    piece = content[at : at + random.choice((1, 8, 64, 1000))]
    return content[:at] + piece * random.choice((2, 2, 100)) + content[at + len(piece) :]


def splice(random: Random, content: bytes) -> bytes:
    """Two pieces change places."""
    one, two = sorted(random.randrange(len(content) + 1) for _ in range(2))
    return content[two:] + content[one:two] + content[:one]


def overwrite(random: Random, content: bytes) -> bytes:
    """A number that is negative, huge or 0 in place of some bytes."""
    size = random.choice((1, 2, 4, 8))
    order = "little" if random.random() < 0.5 else "big"
    number = random.choice(NUMBERS) % (1 << (8 * size))
    at = random.randrange(len(content) + 1)
    return content[:at] + number.to_bytes(size, order) + content[at + size :]  # type: ignore[arg-type]


def blank(random: Random, content: bytes) -> bytes:
    """A stretch of zeros, as an unfinished download leaves."""
    at = random.randrange(len(content) + 1)
    size = random.choice((4, 100, len(content)))
    return content[:at] + bytes(len(content[at : at + size])) + content[at + size :]


def append(random: Random, content: bytes) -> bytes:
    """Something behind the end."""
    return content + random.choice((b"\0" * 999, b"<script>", random.randbytes(99), content))


BYTEWISE: tuple[Mutation, ...] = (
    *(flip_bits, flip_bits, truncate, behead, insert, cut_out, double, splice, overwrite),
    *(overwrite, blank, append),
)
