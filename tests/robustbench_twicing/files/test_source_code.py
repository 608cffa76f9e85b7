"""Hashes of code notice what changes numbers, and nothing that only a session remembers."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from torch import nn

from attacks import ATTACKS, pgd
from attacks.corruptions import CORRUPTIONS
from robustbench_twicing.files.source_code import code_sha256, foreign_code_sha256, is_shipped

SOURCE = """
import math

RATES = {"slow": [1, 2]}
half = 0.5
i = 1
cache = []
_ = "shown last"


def twice(value):
    return 2 * value


def unused(value):
    return value


class Base:
    def move(self, value):
        return value * half


class Moved(Base):
    @property
    def rate(self):
        return RATES["slow"]

    def __call__(self, value):
        return self.move(value)


def outer(value, *, start=1):
    cache.append(value)
    return sum(twice(i) for i in RATES["slow"]) + math.sqrt(value) + start
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a text as the module `made_up`, in the place of the one before it."""

    def load(text: str) -> ModuleType:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("made_up", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "made_up", module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+ start", "- start"),
        ("start=1", "start=2"),
        ("return 2 * value", "return 3 * value"),
        ("[1, 2]", "[1, 3]"),
    ],
)
def test_what_a_function_uses_of_its_module_is_covered(
    load: Callable[[str], ModuleType], old: str, new: str
) -> None:
    first = code_sha256(load(SOURCE).outer)
    assert code_sha256(load(SOURCE).outer) == first
    assert code_sha256(load(SOURCE.replace(old, new)).outer) != first


@pytest.mark.parametrize(
    ("old", "new"),
    [("i = 1", "i = 2"), ("cache = []", "cache = [1]"), ("return value\n", "return 0\n")],
)
def test_what_it_does_not_use_or_what_it_fills_is_not(
    load: Callable[[str], ModuleType], old: str, new: str
) -> None:
    module = load(SOURCE)
    first = code_sha256(module.outer)
    module.outer(1)
    assert code_sha256(module.outer) == first
    changed = SOURCE.replace(old, new, 1)
    assert changed != SOURCE
    assert code_sha256(load(changed).outer) == first


@pytest.mark.parametrize("change", [("half = 0.5", "half = 0.4"), ("[1, 2]", "[2]")])
def test_an_objects_class_its_parents_and_properties_are_covered(
    load: Callable[[str], ModuleType], change: tuple[str, str]
) -> None:
    first, again, other = (
        code_sha256(load(text).Moved().move) for text in (SOURCE, SOURCE, SOURCE.replace(*change))
    )
    assert first == again != other


def test_what_an_object_says_of_itself_is_covered() -> None:
    assert code_sha256(nn.Linear(2, 3)) == code_sha256(nn.Linear(2, 3))
    assert code_sha256(nn.Linear(2, 3)) != code_sha256(nn.Linear(2, 4))


def test_values_around_an_inner_function_are_covered() -> None:
    def made(factor: float) -> Callable[[float], float]:
        return lambda value: value * factor

    assert code_sha256(made(1)) == code_sha256(made(1))
    assert code_sha256(made(1)) != code_sha256(made(2))


def test_code_of_a_prompt_is_known_by_its_bytecode() -> None:
    code = "from robustbench_twicing.files.source_code import code_sha256\n"
    code += "def mine(x):\n    return x + {}\nprint(code_sha256(mine))"
    hashes = [
        subprocess.check_output([sys.executable, "-c", code.format(number)]) for number in (1, 1, 2)
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_what_is_shipped_needs_no_hash() -> None:
    assert foreign_code_sha256(pgd, partial(pgd, steps=3)) == ""
    assert all(is_shipped(spec.function) and is_shipped(spec.sweep) for spec in ATTACKS.values())
    assert all(is_shipped(spec.function) for spec in CORRUPTIONS.values())
    assert foreign_code_sha256(pgd, Path.cwd) == code_sha256(Path.cwd)
