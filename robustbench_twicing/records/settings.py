"""run.json as plain values, and where there may be one."""

import json
from pathlib import Path
from typing import Any

from ..files.atomic import asked
from ..files.text import read_json

SETTINGS = "run.json"
"""Name of the file; the folder that has it is a run folder."""
PARTS, SESSIONS = "parts", "sessions"
"""Folders beside it."""


def read_settings(path: Path) -> Any:
    """What run.json holds; None where there is none.

    Raises:
        UserError: it cannot be read, or is not JSON.
    """
    file = path / SETTINGS
    return read_json(file) if asked(file, file.exists) else None


def comparable(settings: dict[str, Any]) -> dict[str, Any]:
    """What must be equal for a run to be continued.

    Not what to do with images that cannot be read: that changes no finished part.
    """
    values: dict[str, Any] = json.loads(json.dumps(settings))
    values.pop("on_bad_image", None)
    plain = {name: each for name, each in values.items() if not isinstance(each, (list, dict))}
    return plain | values  # another seed is named as such, not by the subset that it draws
