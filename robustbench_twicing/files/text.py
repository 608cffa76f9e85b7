"""Text and JSON from files that are data: bounded, and refused in one line."""

import json
from pathlib import Path
from typing import Any

from ..errors import UserError
from .regular import check_regular

LARGEST_TEXT = 256 * 2**20
"""Bytes; the labels of all 1.3 million training images of ImageNet are a third of this."""


def read_text(path: Path, largest: int = LARGEST_TEXT) -> str:
    """A text file's content, UTF-8 with or without a byte order mark.

    Args:
        path: a file.
        largest: bytes.

    Raises:
        UserError: not a file, not readable, too large, or not UTF-8 text.
    """
    check_regular(path, largest)
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text; save it as UTF-8") from error


def read_json(path: Path, advice: str = "") -> Any:
    """A JSON file's content.

    Args:
        path: a file.
        advice: what would be right; ends the message.

    Raises:
        UserError: as `read_text`, or not JSON.
    """
    text = read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}){advice and f'; {advice}'}") from error
