"""Nothing that a checkpoint names is executed: a canary file would show it."""

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from robustbench_twicing.checkpoints.reading import read_checkpoint
from robustbench_twicing.errors import UserError


class Touch:
    """Touches a file when it is unpickled, by whatever function is given."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


def saved(content: Any, **options: Any) -> bytes:
    """What torch.save writes."""
    file = io.BytesIO()
    torch.save(content, file, **options)
    return file.getvalue()


EXECUTORS: dict[str, Callable[[Path], Any]] = {
    "system": lambda canary: Touch(os.system, f"touch {canary}"),
    "eval": lambda canary: Touch(eval, f"open({str(canary)!r}, 'w').close()"),
    "getattr": lambda canary: Touch(Path.touch, canary),
}
"""The foreign name, and something that is pickled with it and touches the canary."""


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
@pytest.mark.parametrize("name", EXECUTORS)
def test_nothing_is_executed_and_the_foreign_name_is_given(
    name: str, options: dict[str, bool], tmp_path: Path, canary: Path, weights: dict[str, Tensor]
) -> None:
    path = tmp_path / "checkpoint.pth"
    path.write_bytes(saved({"model": weights, "args": EXECUTORS[name](canary)}, **options))
    with pytest.raises(UserError, match=rf"needs \w+\.{name}, .*nothing was loaded"):
        read_checkpoint(path)
    assert not canary.exists()
    torch.load(path, weights_only=False)
    assert canary.exists(), "the trap itself does not work"


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_of_any_protocol_executes_nothing(
    protocol: int, tmp_path: Path, canary: Path
) -> None:
    path = tmp_path / "checkpoint.pth"
    path.write_bytes(pickle.dumps([Touch(os.system, f"touch {canary}")], protocol))
    with pytest.raises(UserError, match=r"needs \w+\.system"):
        read_checkpoint(path)
    assert not canary.exists()


def test_a_hand_written_pickle_in_a_sound_archive_executes_nothing(
    tmp_path: Path, canary: Path
) -> None:
    path = tmp_path / "checkpoint.pth"
    for code in (
        f"\x80\x02cos\nsystem\n(X{chr(len(str(canary)) + 6)}\0\0\0touch {canary}tR.",
        f"(S'touch {canary}'\nios\nsystem\n.",
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("net/data.pkl", code.encode("latin1"))
            archive.writestr("net/version", b"3\n")
        with pytest.raises(UserError, match=r"needs os\.system"):
            read_checkpoint(path)
    assert not canary.exists()
