"""A model as it is asked for, and what comes of it; and who says how its input is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...checkpoints.beside.config_file import Expected
from ...checkpoints.contents import Choice
from ...checkpoints.weights import Given
from ...data.preprocessing import RGB, Preprocessing
from ...models.family import ModelAbout


class ModelRequest(NamedTuple):
    """A model as asked for; see `load_model`.

    Attributes:
        name: of the table, timm's, a folder of Hugging Face's, or a user's function.
        checkpoint: its weights; None where the name says them.
        parts: of the preprocessing, None where nothing was asked.
        weights: which of the file's.
        adapter: to merge into them.
        arch_override: whether the file may name another architecture.
        num_classes: in place of what files say.
        attention: kernels.
        normalize: mean and std that a user's network expects; None for one that takes pixels.
    """

    name: str
    checkpoint: str | None
    parts: Mapping[str, Any]
    weights: Choice = "auto"
    adapter: str | None = None
    arch_override: bool = False
    num_classes: int | None = None
    attention: str = "auto"
    normalize: tuple[RGB, RGB] | None = None


@dataclass(frozen=True)
class Made:
    """A network with its weights, and what the record needs beside them.

    Attributes:
        name: of the model.
        family: see `ModelRecord`.
        given: the network, and where its weights are from.
        preprocessing: how photographs become its pixels.
        origins: by part of it, who says so.
        notes: sentences a reader must know.
        flags: marks that stay on every number.
        sizes: arguments of its family.
        takes_pixels: whether it normalises its input itself.
        code_sha256: of a user's code.
        about: see `ModelAbout`.
    """

    name: str
    family: str
    given: Given
    preprocessing: Preprocessing
    origins: Mapping[str, str]
    notes: tuple[str, ...]
    flags: tuple[str, ...] = ()
    sizes: Mapping[str, Any] = field(default_factory=dict)
    takes_pixels: bool = False
    code_sha256: str = ""
    about: ModelAbout = field(default_factory=ModelAbout)

    def facts(self, classes: Sequence[int] | None) -> dict[str, Any]:
        """What a run must have in common to be continued."""
        chosen = None if classes is None else list(classes)
        return {
            "sizes": dict(self.sizes),
            "classes": chosen,
            "takes_pixels": self.takes_pixels,
            "code_sha256": self.code_sha256,
        }


def origins(
    preprocessing: Preprocessing,
    default: str,
    expected: Expected,
    given: Given | None,
    parts: Mapping[str, Any],
) -> dict[str, str]:
    """By part of a preprocessing, who says so: a request, the weights, a file beside them.

    Args:
        preprocessing: as it is done.
        default: who says what nobody else does.
        expected: what the files beside the weights say.
        given: the weights; None where they say nothing.
        parts: by request.
    """
    told = dict.fromkeys(preprocessing.as_dict(), default)
    told |= dict.fromkeys(expected.parts, expected.file)
    if expected.crop_share is not None:
        told["resize"] = expected.file
    if given is not None and given.constants is not None:
        told |= dict.fromkeys(("mean", "std"), "the weights' own file")
    asked = {part for part, value in parts.items() if value is not None}
    # The resize follows the crop in proportion.
    return told | dict.fromkeys(asked | ({"resize"} if "crop" in asked else set()), "request")
