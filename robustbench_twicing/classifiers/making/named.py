"""From a name to a network with its weights, and to what the record says of both."""

from collections.abc import Mapping
from typing import Any

import torch

from ...checkpoints.beside.config_file import Expected, read_expected
from ...checkpoints.state_dict import weights_sha256
from ...checkpoints.weights import BUNDLED, PRETRAINED, Given, give_weights
from ...data.imagenet import NUM_CLASSES
from ...data.preprocessing import Preprocessing
from ...errors import UserError
from ...models.build import build_model
from ...models.family import FAMILIES, model_about
from ...models.resolve import resolve_model
from ...models.spec import ModelSpec
from ..user_code import load_user_network
from .made import Made, ModelRequest, origins

GELU = "gelu"
"""The exact one, with which DeiT and all of its variants compute."""
USER_PREPROCESSING = Preprocessing(crop=224, resize=256)
"""For networks that say nothing of their input."""


def table_model(asked: ModelRequest) -> Made:
    """A model of the table or of timm.

    Raises:
        UserError: as `load_model`.
    """
    spec = resolve_model(asked.name)
    family = FAMILIES[spec.family]
    expected = _beside(asked.checkpoint)
    wanted, _ = spec.preprocessing.by_request(expected.for_crop(spec.preprocessing.crop))
    preprocessing, notes = wanted.by_request(asked.parts)
    num_classes = asked.num_classes
    if expected.num_classes != spec.sizes.get("num_classes", NUM_CLASSES):
        num_classes = num_classes or expected.num_classes
    sizes = {
        **_sizes(spec, preprocessing, num_classes, asked.attention),
        **_described(spec, expected),
    }
    given = give_weights(
        lambda: build_model(spec.family, **sizes),
        asked.checkpoint,
        spec.name,
        spec=spec,
        weights=asked.weights,
        adapter=asked.adapter,
        arch_override=asked.arch_override,
        beside=expected.declared,
    )
    preprocessing, of_file = _with_constants(preprocessing, given, asked.parts)
    return Made(
        spec.name,
        spec.family,
        given,
        preprocessing,
        origins(preprocessing, "the architecture", expected, given, asked.parts),
        (*expected.notes, *notes, *of_file, *filter(None, [family.note])),
        expected.flags,
        sizes,
        code_sha256=family.code_sha256(given.network),
        about=model_about(spec.family, sizes),
    )


def user_model(asked: ModelRequest) -> Made:
    """A network of a user's own code; errors as `table_model`."""
    name, checkpoint, parts, normalize = asked.name, asked.checkpoint, asked.parts, asked.normalize
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
        given = give_weights(
            lambda: user.network,
            checkpoint,
            name,
            spec=None,
            weights=asked.weights,
            adapter=asked.adapter,
        )
    elif asked.adapter is not None:
        raise UserError(f"an adapter is merged into a file's weights; give {name} a --checkpoint")
    all_notes, source = (*expected.notes, *notes), user.file_sha256
    told = origins(preprocessing, "default", expected, None, parts)
    return Made(
        name,
        "user",
        given,
        preprocessing,
        told,
        all_notes,
        expected.flags,
        takes_pixels=normalize is None,
        code_sha256=source,
    )


def _with_constants(
    preprocessing: Preprocessing, given: Given, parts: Mapping[str, Any]
) -> tuple[Preprocessing, list[str]]:
    """Mean and std that the weights' own file keeps, which stand above all but the request."""
    if given.constants is None:
        return preprocessing, []
    constants = {"mean": given.constants.mean, "std": given.constants.std}
    listed = ", ".join(f"{part} {value}" for part, value in constants.items())
    asked = {part: constants[part] for part in constants if parts[part] is None}
    replaced = " and ".join(f"--{part}" for part in constants if part not in asked)
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
