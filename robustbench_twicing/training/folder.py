"""The folder of a training: settings, log, the state to go on from, the finished weights."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ..checkpoints.reading import read_checkpoint
from ..errors import UserError
from ..files.atomic import is_left_over, write_atomically
from ..files.text import read_json
from ..records.identity import first_difference
from .form import plain

SETTINGS, LOG, STATE, WEIGHTS = "train.json", "log.jsonl", "last.pth", "model.safetensors"


class TrainingFolder:
    """Reads and writes one folder; every file but the log is replaced as a whole.

    Args:
        path: made if it is not there.
        settings: plain values that decide the result; a folder with others is refused.
        environment: plain values about this process.

    Raises:
        UserError: the folder holds something else, or a training with other settings.
    """

    def __init__(
        self, path: Path, settings: Mapping[str, Any], environment: Mapping[str, Any]
    ) -> None:
        self.path = path
        file = path / SETTINGS
        if file.is_file():
            self._check(file, settings)
            return
        if path.exists() and not (path.is_dir() and all(map(is_left_over, path.iterdir()))):
            raise UserError(f"{path} is not empty and not a training; use another --out")
        content = {"settings": settings, "environment": environment}
        _write_text(file, json.dumps(content, indent=2))

    @property
    def weights(self) -> Path:
        """The finished weights."""
        return self.path / WEIGHTS

    def _check(self, file: Path, settings: Mapping[str, Any]) -> None:
        content = read_json(file, "use another --out")
        before = content.get("settings") if isinstance(content, dict) else None
        if not isinstance(before, dict):
            raise UserError(f"{file} is damaged (it has no settings); use another --out")
        difference = first_difference(before, json.loads(json.dumps(settings)))
        if difference:
            raise UserError(
                f"{self.path} holds a training with other settings ("
                f"{difference.between('there', 'in this command')}); use another --out"
            )

    def read_state(self) -> dict[str, Any] | None:
        """What `write_state` wrote last; None before the first time."""
        path = self.path / STATE
        if not path.exists():
            return None
        try:
            state = plain(read_checkpoint(path).content)
        except RecursionError as error:  # a pickle can contain itself
            raise UserError(f"{path} is not the state of a training; use another --out") from error
        if not isinstance(state, dict):
            raise UserError(f"{path} is not the state of a training; use another --out")
        return state

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state that a continued training starts from.

        Raises:
            UserError: it cannot be written; the one before it is still there.
        """
        content = io.BytesIO()  # torch's own writer does not say what is wrong with a disk
        torch.save(dict(state), content)
        write_atomically(self.path / STATE, lambda path: path.write_bytes(content.getvalue()))

    def rewrite_log(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Drop what was logged after the last state."""
        _write_text(self.path / LOG, "".join(json.dumps(line) + "\n" for line in lines), end="")

    def log(self, line: Mapping[str, Any]) -> None:
        """Add a line.

        Raises:
            UserError: it cannot be written; what follows the last state is made again anyway.
        """
        path = self.path / LOG
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise UserError(
                f"{path} cannot be written: {error.strerror}; the same command goes on"
            ) from error

    def write_weights(
        self, state_dict: Mapping[str, torch.Tensor], metadata: Mapping[str, str]
    ) -> None:
        """Write the finished weights, with what there is to know of them."""
        from safetensors.torch import save

        tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in state_dict.items()}
        content = save(tensors, metadata=dict(metadata))
        write_atomically(self.weights, lambda path: path.write_bytes(content))


def _write_text(path: Path, text: str, *, end: str = "\n") -> None:
    write_atomically(path, lambda temporary: temporary.write_text(text + end, encoding="utf-8"))
