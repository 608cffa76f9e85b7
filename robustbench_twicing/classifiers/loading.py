"""`load_model`: from a name and a checkpoint to the one shape in which models are evaluated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ..checkpoints.contents import Choice
from ..checkpoints.state_dict import weights_sha256
from ..checkpoints.weights import Given, give_weights
from ..data.imagenet import NUM_CLASSES
from ..data.preprocessing import RGB, Preprocessing
from ..errors import UserError
from ..models.build import build_model
from ..models.family import FAMILIES, ModelAbout, ModelRecord, model_about
from ..models.resolve import resolve_model
from ..models.spec import ModelSpec
from .classifier import Classifier
from .config_file import read_expected
from .device import choose_device
from .kernels import Kernels, check_kernels, check_memory_format, use_onednn
from .user_code import is_user_code, load_user_network

USER_PREPROCESSING = Preprocessing(crop=224, resize=256)
"""For networks that say nothing of their input."""


def load_model(  # noqa: PLR0913 - one keyword for each thing a user may say of a model
    name: str,
    checkpoint: str | Path | None = None,
    *,
    weights: Choice = "auto",
    device: str | torch.device = "cpu",
    num_classes: int | None = None,
    resize: int | None = None,
    crop: int | None = None,
    interpolation: str | None = None,
    mean: RGB | None = None,
    std: RGB | None = None,
    attention: str = "auto",
    kernels: Kernels = "plain",
    memory_format: str = "contiguous",
    arch_override: bool = False,
    normalize: tuple[RGB, RGB] | None = None,
    classes: Sequence[int] | None = None,
) -> Classifier:
    """Load a model: pixels (N, 3, H, W) in [0, 1] to logits, frozen, in eval mode.

    Torch's global generator and settings are as before when it returns.

    Args:
        name: of the table, ``timm:NAME`` or timm's, ``path/file.py:function``, ``module:function``.
        checkpoint: a file; a folder with one, or with an index of shards; ``pretrained``;
            ``bundled``; ``random:SEED``. A user's code may do without.
        weights: ``plain``, ``ema``, or ``auto``: plain, and EMA only where there is no other.
        device: ``cpu``, ``cuda``, ``cuda:N``, or ``auto``.
        num_classes: for a network trained on data of one's own.
        resize: shorter side in pixels; follows ``crop`` in proportion unless it is given.
        crop: side in pixels, and the network's input size with it.
        interpolation: replaces the family's, as do all of these.
        mean: three numbers.
        std: three numbers.
        attention: ``auto``, ``explicit`` or ``fused`` kernels.
        kernels: of fp32 on the CPU: ``plain``, torch's choice, or ``onednn`` for linear layers.
        memory_format: ``contiguous``, or ``channels_last``, in which convolutions are faster.
        arch_override: load although the file names another architecture; stays as a flag.
        normalize: mean and std that a user's network expects; without it, it is given pixels.
        classes: keep these logits only (ImageNet-A and -R).

    Raises:
        UserError: anything that cannot be done as asked, in one line.
    """
    parts = {
        "resize": resize,
        "crop": crop,
        "interpolation": interpolation,
        "mean": mean,
        "std": std,
    }
    target = choose_device(str(device))
    computing = {
        "kernels": check_kernels(kernels, target),
        "memory_format": check_memory_format(memory_format),
    }
    checkpoint = None if checkpoint is None else str(checkpoint)
    if is_user_code(name):
        made = _user_model(name, checkpoint, weights, parts, normalize)
    elif normalize is not None:
        raise UserError(f"normalize is for your own code; use --mean and --std with {name}")
    else:
        wishes = {"weights": weights, "arch_override": arch_override}
        made = _table_model(name, checkpoint, parts, wishes, num_classes, attention)
    if computing["kernels"] == "onednn":
        use_onednn(made.given.network)
    return _classifier(made, classes, computing).to(target)


@dataclass(frozen=True)
class _Made:
    """A network with its weights, and what the record needs beside them."""

    name: str
    family: str
    given: Given
    preprocessing: Preprocessing
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


def _table_model(
    name: str,
    checkpoint: str | None,
    parts: Mapping[str, Any],
    wishes: Mapping[str, Any],
    num_classes: int | None,
    attention: str,
) -> _Made:
    spec = resolve_model(name)
    family = FAMILIES[spec.family]
    expected = read_expected(checkpoint)
    wanted, _ = spec.preprocessing.by_request({"crop": None, "resize": None, **expected.parts})
    preprocessing, notes = wanted.by_request(parts)
    if expected.num_classes != spec.sizes.get("num_classes", NUM_CLASSES):
        num_classes = num_classes or expected.num_classes
    sizes = _sizes(spec, preprocessing, num_classes, attention)
    given = give_weights(
        lambda: build_model(spec.family, **sizes), checkpoint, spec.name, spec=spec, **wishes
    )
    return _Made(
        spec.name,
        spec.family,
        given,
        preprocessing,
        (*expected.notes, *notes, *filter(None, [family.note])),
        sizes,
        code_sha256=family.code_sha256(given.network),
        about=model_about(spec.family, sizes),
    )


def _user_model(
    name: str,
    checkpoint: str | None,
    weights: Choice,
    parts: Mapping[str, Any],
    normalize: tuple[RGB, RGB] | None,
) -> _Made:
    if normalize is None and (parts["mean"] is not None or parts["std"] is not None):
        raise UserError(
            f"{name} is given pixels, so mean and std would be unused; say with --normalize "
            "that it expects normalised input"
        )
    if normalize is not None:
        parts = {**parts, "mean": normalize[0], "std": normalize[1]}
    expected = read_expected(checkpoint, pixels=normalize is None)
    wanted, _ = USER_PREPROCESSING.by_request({"crop": None, "resize": None, **expected.parts})
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
        given = give_weights(lambda: user.network, checkpoint, name, spec=None, weights=weights)
    said, source = (*expected.notes, *notes), user.file_sha256
    return _Made(name, "user", given, preprocessing, said, {}, normalize is None, source)


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


def _classifier(
    made: _Made, classes: Sequence[int] | None, computing: Mapping[str, str]
) -> Classifier:
    given = made.given
    count = getattr(given.network, "num_classes", None)
    outside = [index for index in classes or () if index < 0 or index >= (count or index + 1)]
    if outside or (classes is not None and len(classes) == 0):
        raise UserError(
            f"classes {outside[:3]} are not among the {count} logits of {made.name}; "
            "classes are indices from 0"
        )
    trained = given.training_size_notes(made.preprocessing.crop)
    parameters = sum(parameter.numel() for parameter in given.network.parameters())
    record = ModelRecord(
        model=made.name,
        family=made.family,
        checkpoint=given.checkpoint,
        checkpoint_sha256=given.checkpoint_sha256,
        weights=given.weights,
        weights_sha256=given.weights_sha256,
        notes=(*given.notes, *made.notes, *trained),
        flags=given.flags,
        details={
            **given.details,
            "parameters": parameters,
            **computing,
            **made.facts(classes),
        },
        about=made.about,
    )
    return Classifier(
        given.network,
        made.preprocessing,
        record,
        classes=classes,
        normalize=not made.takes_pixels,
        channels_last=computing["memory_format"] == "channels_last",
    )
