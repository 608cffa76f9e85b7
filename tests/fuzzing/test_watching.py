"""The watch sees what it is there for."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from robustbench_twicing.errors import UserError

from . import watching
from .watching import watch


def refuses() -> None:
    raise UserError("a.pth is damaged")


def fails() -> None:
    raise KeyError("x")


def computes() -> None:
    while True:
        pass


def waits() -> None:
    threading.Event().wait()


def fills() -> None:
    bytearray(os.urandom(2**16) * 5000)


def leaves() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        (refuses, ""),
        (lambda: None, ""),
        (fails, "traceback: KeyError in fuzzing/test_watching.py"),
        (leaves, "traceback: SystemExit"),
        (computes, "hang: "),
        (waits, "hang: "),
        (fills, "memory: "),
    ],
)
def test_every_fault_is_seen(
    action: Callable[[], object], fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "SECONDS", 0.2)
    monkeypatch.setattr(watching, "WAITING", 0.5 if action is waits else 60)
    found = watch(action, names="a.pth", canary=tmp_path / "canary", mib=100)
    assert found.fault.startswith(fault)
    assert bool(found.fault) == bool(fault)
    assert found.refused == ("a.pth is damaged" if action is refuses else "")


def test_another_name_and_a_canary_are_faults(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    found = watch(refuses, names="b.pth", canary=canary, mib=100)
    assert found.fault == "unclear: b.pth is not named in: a.pth is damaged"
    assert watch(canary.touch, names="", canary=canary, mib=100).fault == "execution: accepted"
