"""Answers that take long to find, kept on disk until anything that they depend on has changed.

A question is a subject, which has one answer kept at a time, and a state: whatever decides the
answer. An answer is given only to the very state that it was kept for.
"""

import hashlib
import json
import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import UserError
from .atomic import write_atomically
from .stamp import stamp_of
from .text import read_json

log = logging.getLogger(__name__)
KIND = "1.json"
"""Version of the files of answers, and their ending."""


def cache_folder() -> Path:
    """Where answers are kept: ``$ROBUSTBENCH_TWICING_CACHE``, or in the user's folder of caches.

    Raises:
        UserError: neither is there.
    """
    named = os.environ.get("ROBUSTBENCH_TWICING_CACHE")
    place = named or os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        folder = Path(place).expanduser()
    except RuntimeError as error:
        raise UserError(
            f"{place}: {error}; name a folder for caches by ROBUSTBENCH_TWICING_CACHE"
        ) from error
    return folder if named else folder / "robustbench_twicing"


def recall(subject: str, state: Any) -> Any:
    """The answer that was kept for this state of a subject; None where there is none."""
    try:
        file = kept_file(subject, KIND)
        # Of a file in a locked folder not even `is_file` can be asked.
        content = None if stamp_of(file) is None else read_json(file)
    except UserError as error:
        log.info("%s; it is found out anew", error)
        return None
    if not isinstance(content, dict) or content.get("sha256") != _digest(
        [content.get("is"), _plain(state)]
    ):
        return None
    return content["is"]


def keep(subject: str, state: Any, answer: Any) -> None:
    """Keep the answer, plain values, in the place of the one before."""
    content = json.dumps({"is": answer, "sha256": _digest([_plain(answer), _plain(state)])})
    keep_file(
        *(subject, KIND, lambda file: file.write_text(content, encoding="utf-8")),
        "starting again takes as long as the first time",
    )


def forget(subject: str) -> None:
    """Keep no answer, as where one has turned out to be wrong."""
    try:
        kept_file(subject, KIND).unlink(missing_ok=True)
    except (OSError, UserError) as error:
        log.warning("%s cannot be forgotten: %s", subject, error)


def kept_file(subject: str, kind: str) -> Path:
    """Where something is kept of a subject; ``kind`` is its version and its ending.

    Raises:
        UserError: as `cache_folder`.
    """
    name = hashlib.sha256(os.fsencode(subject)).hexdigest()[:24]
    return cache_folder() / f"{name}-{kind}"


def keep_file(subject: str, kind: str, write: Callable[[Path], object], otherwise: str) -> None:
    """Write what `kept_file` names, as `write_atomically` does.

    Where that cannot be, a warning says so, and what is so ``otherwise``: once.
    """
    try:
        write_atomically(kept_file(subject, kind), write)
    except UserError as error:
        cause, reason = error.__cause__, str(error)
        if isinstance(cause, OSError):  # the same for all answers, whose names differ
            reason = f"{cache_folder()} cannot be written to: {cause.strerror or cause}"
        _warn(reason, otherwise)


@cache
def _warn(reason: str, otherwise: str) -> None:
    log.warning("%s; %s", reason, otherwise)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
