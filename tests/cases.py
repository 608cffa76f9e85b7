"""The cases of the reference material, whose script makes their inputs."""

import json
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

BuildCase = Callable[[str, Path], tuple[Path, dict[str, Any]]]
"""From the number of a case, like ``h15``, and a folder to where its inputs are, and its facts."""


def load_script(shared: Path) -> ModuleType:
    spec = spec_from_file_location("build_cases", shared / "cases" / "build_cases.py")
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def build(script: ModuleType, name: str, root: Path) -> tuple[Path, dict[str, Any]]:
    script.MADE.clear()
    getattr(script, name)(root)
    ((folder, facts),) = script.MADE
    return folder, json.loads(json.dumps(facts))
