"""Text from anywhere, made fit for one line on a terminal, or for the name of a folder."""

import re
import traceback
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

LONGEST = 1000
"""Characters of a line; what a file says may be longer."""
_END = 300
"""Of these, how many of a longer text's end are kept: there it says what would be right."""


def one_line(text: str, longest: int = LONGEST) -> str:
    """Text on one line, in which nothing steers a terminal, and not too long to be read.

    White space becomes one space each. What cannot be printed is written as Python's escapes:
    control characters (colours, cursor), characters that turn the direction of writing, halves of
    surrogate pairs. A long text loses its middle.

    Args:
        text: what is to be said, parts of which may come from a file.
        longest: characters.
    """
    line = unbroken(text)
    if len(line) <= longest:
        return line
    end = min(_END, longest // 3)
    return f"{line[: longest - end - 5]} ... {line[-end:]}"


def unbroken(text: str) -> str:
    """The text as `printable`, however long, on one line: white space becomes one space each."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """The text with everything that is not a printable character written as an escape."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _escape(character) for character in text
    )


def printable_lines(text: str) -> str:
    """As `printable`, but lines still end where they do."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def message_of(error: BaseException) -> str:
    """What an exception says; one of foreign code may fail to say anything."""
    try:
        return str(error)
    except Exception as failure:
        return f"no message, since __str__ raises {type(failure).__name__}"


def described(error: BaseException) -> str:
    """``KeyError: 'x' (attack.py:12)``: what was raised, and where, in one sentence."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {message_of(error)}{place}"


def folder_name(label: str) -> str:
    """A label as a folder name: readable, and never the same for two labels.

    A label that ends like a name made here is given a digest, too, so that it is not that name.
    """
    safe = re.sub(r"[^A-Za-z0-9._+\-]", "_", label)[:80].lstrip(".") or "_"
    if safe == label and not re.search(r"-[0-9a-f]{8}$", label):
        return label
    return f"{safe}-{sha256(label.encode()).hexdigest()[:8]}"


def name_some(names: Iterable[str], most: int = 3, separator: str = ", ") -> str:
    """``a, b, c and 4 more``: all of a few names; of many the first ones, and how many more.

    Names of files may hold anything; here a line's end or a colour is written as its escape.
    """
    every = list(names)
    rest = f" and {len(every) - most:,} more" if len(every) > most else ""
    return separator.join(map(printable, every[:most])) + rest


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 image``, ``2 images``, ``1,000 images``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def spoken_size(size: float) -> str:
    """Bytes as people say them, like ``1.3 MB``; never less than 1 kB."""
    for unit, of in (("GB", 1e9), ("MB", 1e6)):
        if size >= of:
            return f"{size / of:,.1f} {unit}"
    return f"{max(1, round(size / 1e3))} kB"
