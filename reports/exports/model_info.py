"""The layout of RobustBench's JSON: ``model_info/imagenet/Linf/NAME.json``.

Its keys are those of https://github.com/RobustBench/robustbench (version 1.1), and one of this
suite's own; docs/reports.md explains them.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from robustbench_twicing.files.atomic import write_atomically
from robustbench_twicing.files.printable import folder_name

FOLDER = Path("model_info", "imagenet", "Linf")
"""Where RobustBench looks for the files of this board, below its checkout."""


class Measured(BaseModel):
    """What the runs say of a model, whether or not RobustBench has a key for it.

    Attributes:
        robust_acc: right before and after every attack at 4/255 or less, percent, as ``48.08``.
        members: the conditions of which that is the worst case.
        n: images that were evaluated.
        interval: 95 % Wilson interval of ``robust_acc``, percent.
        fingerprint: SHA-256 of names, labels and sizes of the images.
        seed: of all random draws.
        versions: of this suite, Python and packages.
        flags: of the clean images and of all attacks; docs/results.md explains them.
        why_not: why a number is not there, in sentences.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    robust_acc: str | None
    members: tuple[str, ...]
    n: int
    interval: tuple[str, str] | None
    fingerprint: str
    seed: int
    versions: Mapping[str, str]
    flags: tuple[str, ...]
    why_not: tuple[str, ...]


class ModelInfo(BaseModel):
    """One model as RobustBench's files have it; see `Facts` for what papers say.

    Attributes:
        eps: budget of the board.
        clean_acc: accuracy on clean images, percent, as ``72.56``.
        autoattack_acc: likewise under AutoAttack; absent where it is not RobustBench's number.
        unreliable: whether the evaluation misleads; absent where nothing tells.
        footnote: how ``autoattack_acc`` was computed.
        robustbench_twicing: what was measured.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    link: str | None
    name: str | None
    authors: str | None
    additional_data: bool | None
    number_forward_passes: int | None
    dataset: Literal["imagenet"]
    venue: str | None
    architecture: str | None
    eps: Literal["4/255"]
    clean_acc: str | None
    reported: str | None
    autoattack_acc: str | None = None
    unreliable: bool | None = None
    footnote: str | None = None
    robustbench_twicing: Measured

    def to_json(self) -> str:
        """As a file: keys that were not given are absent, facts that nobody told are null."""
        values = self.model_dump(mode="json", exclude_unset=True)
        return json.dumps(values, indent=2) + "\n"


def write_model_info(info: ModelInfo, out: Path, label: str) -> Path:
    """Write ``OUT/model_info/imagenet/Linf/LABEL.json``, and return its path.

    Raises:
        UserError: it cannot be written.
    """
    path = out / FOLDER / f"{folder_name(label)}.json"
    write_atomically(path, partial(Path.write_text, data=info.to_json(), encoding="ascii"))
    return path
