"""From a name to a network with its weights, and to what the record says of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ...checkpoints.beside.config_file import Expected, read_expected
from ...checkpoints.state_dict import weights_sha256
from ...checkpoints.weights import BUNDLED, PRETRAINED, Given, give_weights
from ...data.imagenet import NUM_CLASSES
from ...data.preprocessing import RGB, Preprocessing
from ...errors import UserError
from ...models.build import build_model
from ...models.family import FAMILIES, ModelAbout, model_about
from ...models.resolve import resolve_model
from ...models.spec import ModelSpec
from ..user_code import load_user_network

GELU = "gelu"
"""The exact one, with which DeiT and all of its variants compute."""
USER_PREPROCESSING = Preprocessing(crop=224, resize=256)
"""For networks that say nothing of their input."""


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


def table_model(
    name: str,
    checkpoint: str | None,
    parts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    num_classes: int | None,
    attention: str,
) -> Made:
    """A model of the table or of timm.

    Args:
        name: see `load_model`, as are all others.
        checkpoint: its weights.
        parts: of the preprocessing, by request.
        wishes: ``weights``, ``adapter`` and ``arch_override``, for `give_weights`.
        num_classes: by request.
        attention: by request.

    Raises:
        UserError: as `load_model`.
    """
    spec = resolve_model(name)
    family = FAMILIES[spec.family]
    expected = _beside(checkpoint)
    wanted, _ = spec.preprocessing.by_request(expected.for_crop(spec.preprocessing.crop))
    preprocessing, notes = wanted.by_request(parts)
    if expected.num_classes != spec.sizes.get("num_classes", NUM_CLASSES):
        num_classes = num_classes or expected.num_classes
    sizes = {**_sizes(spec, preprocessing, num_classes, attention), **_described(spec, expected)}
    wishes = {**wishes, "beside": expected.declared}
    given = give_weights(
        lambda: build_model(spec.family, **sizes), checkpoint, spec.name, spec=spec, **wishes
    )
    preprocessing, of_file = _with_constants(preprocessing, given, parts)
    return Made(
        spec.name,
        spec.family,
        given,
        preprocessing,
        origins(preprocessing, "the architecture", expected, given, parts),
        (*expected.notes, *notes, *of_file, *filter(None, [family.note])),
        sizes,
        code_sha256=family.code_sha256(given.network),
        about=model_about(spec.family, sizes),
    )


def user_model(
    name: str,
    checkpoint: str | None,
    wishes: Mapping[str, Any],
    parts: Mapping[str, Any],
    normalize: tuple[RGB, RGB] | None,
) -> Made:
    """A network of a user's own code; arguments and errors as `table_model`.

    Args:
        name: ``path/file.py:function`` or ``module:function``.
        checkpoint: its weights; None for those that the code gives it.
        wishes: ``weights`` and ``adapter``, for `give_weights`.
        parts: of the preprocessing, by request.
        normalize: mean and std that it expects; None for one that takes pixels.
    """
    if normalize is None and (parts["mean"] is not None or parts["std"] is not None):
        raise UserError(
            f"{name} is given pixels, so mean and std would be unused; say with --normalize "
            "that it expects normalised input"
        )
    if normalize is not None:
        parts = {**parts, "mean": normalize[0], "std": normalize[1]}
    expected = _beside(checkpoint, pixels=normalize is None)
    wanted, _ = USER_PREPROCESSING.by_request(expected.for_crop(USER_PREPROCESSING.crop))
    preprocessing, notes = wanted.by_request(parts)
    if not any(
        parts[part] or part in expected.parts for part in ("crop", "resize", "interpolation")
    ):
        notes.append(
            f"Own code says nothing of its input: images are resized to {preprocessing.resize} "
            f"({preprocessing.interpolation}) and cropped to {preprocessing.crop} pixels."
        )
    with torch.random.fork_rng(devices=[]):
        user = load_user_network(name)
    tensors = {k: v for k, v in user.network.state_dict().items() if isinstance(v, torch.Tensor)}
    digest = weights_sha256(tensors)
    given = Given(user.network, "user code", user.file_sha256, weights_sha256=digest)
    if checkpoint is not None:
        given = give_weights(lambda: user.network, checkpoint, name, spec=None, **wishes)
    elif wishes["adapter"] is not None:
        raise UserError(f"an adapter is merged into a file's weights; give {name} a --checkpoint")
    said, source = (*expected.notes, *notes), user.file_sha256
    told = origins(preprocessing, "default", expected, None, parts)
    return Made(name, "user", given, preprocessing, told, said, {}, normalize is None, source)


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


def _with_constants(
    preprocessing: Preprocessing, given: Given, parts: Mapping[str, Any]
) -> tuple[Preprocessing, list[str]]:
    """Mean and std that the weights' own file keeps, which stand above all but the request."""
    if given.constants is None:
        return preprocessing, []
    kept = {"mean": given.constants.mean, "std": given.constants.std}
    listed = ", ".join(f"{part} {value}" for part, value in kept.items())
    asked = {part: kept[part] for part in kept if parts[part] is None}
    replaced = " and ".join(f"--{part}" for part in kept if part not in asked)
    above = f"; {replaced} replaces that" if replaced else ""
    note = f"{' and '.join(given.constants.keys)} in the file say: {listed}{above}."
    return preprocessing.override(**asked), [note]


def _beside(checkpoint: str | None, *, pixels: bool = False) -> Expected:
    """What the files beside a checkpoint say; of weights that are not named by a path, nothing."""
    named = checkpoint in (PRETRAINED, BUNDLED)
    return read_expected(None if named else checkpoint, pixels=pixels)


def _described(spec: ModelSpec, expected: Expected) -> dict[str, Any]:
    """Sizes that transformers' config.json says and the weights do not show."""
    heads = spec.sizes.get("num_heads")
    if heads is not None and expected.sizes.get("num_heads", heads) != heads:
        raise UserError(
            f"config.json beside the weights says {expected.sizes['num_heads']} attention heads, "
            f"and {spec.name} has {heads}; name a model that has as many"
        )
    activation = expected.sizes.get("activation", GELU)
    if heads is not None and activation != GELU:
        raise UserError(
            f"config.json beside the weights says hidden_act {activation!r}, and {spec.name} "
            f"computes with {GELU}; hf:FOLDER evaluates it as it is"
        )
    known = FAMILIES[spec.family].size_names
    return {name: size for name, size in expected.sizes.items() if name in known}


def _sizes(
    spec: ModelSpec, preprocessing: Preprocessing, num_classes: int | None, attention: str
) -> dict[str, Any]:
    sizes = {**spec.sizes, "attention": attention}
    if num_classes is not None:
        sizes["num_classes"] = num_classes
    if preprocessing.crop != spec.preprocessing.crop and _has_fixed_input(spec):
        sizes["img_size"] = preprocessing.crop
    return sizes


def _has_fixed_input(spec: ModelSpec) -> bool:
    """Whether the network must be told its input size; timm's convolutional ones take any."""
    if spec.family != "timm":
        return True
    from timm.models import get_pretrained_cfg

    config = get_pretrained_cfg(spec.sizes["timm_name"])
    return bool(config and config.fixed_input_size)
