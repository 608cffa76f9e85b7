"""`load_model`: from a name and a checkpoint to the one shape in which models are evaluated."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from ..checkpoints.contents import Choice
from ..checkpoints.hub import HF_PREFIX
from ..data.preprocessing import RGB
from ..errors import UserError
from ..models.family import ModelRecord
from .classifier import Classifier
from .device import choose_device
from .kernels import Kernels, check_kernels, check_memory_format, use_compiled, use_onednn
from .making.hugging_face import hugging_face_model
from .making.made import Made, ModelRequest
from .making.named import table_model, user_model
from .user_code import is_user_code


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
    squash: bool | None = None,
    attention: str = "auto",
    kernels: Kernels = "plain",
    memory_format: str = "contiguous",
    arch_override: bool = False,
    normalize: tuple[RGB, RGB] | None = None,
    classes: Sequence[int] | None = None,
    adapter: str | Path | None = None,
) -> Classifier:
    """Load a model: pixels (N, 3, H, W) in [0, 1] to logits, frozen, in eval mode.

    Torch's global generator and settings are as before when it returns.

    Args:
        name: of the table, ``timm:NAME`` or timm's, ``hf:FOLDER`` or ``hf:OWNER/NAME``,
            ``path/file.py:function``, ``module:function``.
        checkpoint: a file; a folder with one, or with an index of shards; ``pretrained``;
            ``bundled``; ``random:SEED``. A user's code and ``hf:`` may do without.
        weights: ``plain``, ``ema``, or ``auto``: plain, and EMA only where there is no other.
        device: ``cpu``, ``cuda``, ``cuda:N``, or ``auto``.
        num_classes: for a network trained on data of one's own.
        resize: shorter side in pixels; follows ``crop`` in proportion unless it is given.
        crop: side in pixels, and the network's input size with it.
        interpolation: replaces the family's, as do all of these.
        mean: three numbers.
        std: three numbers.
        squash: whether both sides become ``resize`` pixels, whatever the photograph's proportions.
        attention: ``auto``, ``explicit`` or ``fused`` kernels.
        kernels: ``plain``, torch's choice; ``onednn`` for linear layers of fp32 on the CPU; or
            ``compiled`` by `torch.compile`, which takes about a minute.
        memory_format: ``contiguous``, or ``channels_last``, in which convolutions are faster.
        arch_override: load although the file names another architecture; stays as a flag.
        normalize: mean and std that a user's network expects; without it, it is given pixels.
        classes: keep these logits only (ImageNet-A and -R).
        adapter: a LoRA adapter, peft's folder or file, to merge into the weights.

    Raises:
        UserError: anything that cannot be done as asked, in one line.
    """
    parts = {
        "resize": resize,
        "crop": crop,
        "interpolation": interpolation,
        "mean": mean,
        "std": std,
        "squash": squash,
    }
    target = choose_device(str(device))
    computing = {
        "kernels": check_kernels(kernels, target),
        "memory_format": check_memory_format(memory_format),
    }
    asked = ModelRequest(
        name,
        None if checkpoint is None else str(checkpoint),
        parts,
        weights,
        None if adapter is None else str(adapter),
        arch_override,
        num_classes,
        attention,
        normalize,
    )
    if is_user_code(name):
        made = user_model(asked)
    elif normalize is not None:
        raise UserError(f"normalize is for your own code; use --mean and --std with {name}")
    else:
        made = (hugging_face_model if name.startswith(HF_PREFIX) else table_model)(asked)
    if computing["kernels"] == "onednn":
        use_onednn(made.given.network)
    classifier = _classifier(made, classes, computing).to(target)
    if computing["kernels"] == "compiled":
        use_compiled(classifier)
    return classifier


def _classifier(
    made: Made, classes: Sequence[int] | None, computing: Mapping[str, str]
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
        flags=(*given.flags, *made.flags),
        details={
            **given.details,
            "parameters": parameters,
            **computing,
            **made.facts(classes),
            "preprocessing_from": dict(made.origins),
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
