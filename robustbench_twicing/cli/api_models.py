"""Models as Python has them: names, classifiers, and modules of a script."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from ..checkpoints.state_dict import weights_sha256
from ..classifiers.classifier import Classifier
from ..classifiers.loading import load_model
from ..classifiers.making.named import USER_PREPROCESSING
from ..data.arrays import ArrayImages
from ..data.dataset import Dataset
from ..data.preprocessing import RGB, Preprocessing
from ..errors import UserError
from ..files.source_code import code_sha256
from ..models.family import ModelRecord

Model = Classifier | nn.Module | str
MODELS = (
    "a model is a Classifier (of load_model), a torch.nn.Module, or a name like "
    '"fmnist_deit=bundled"'
)


def open_model(model: Model, dataset: Dataset, mean: RGB | None, std: RGB | None) -> Classifier:
    """A classifier from what a script gives; see `MODELS`.

    A module takes pixels in [0, 1], or with ``mean`` and ``std`` input normalised by them. Images
    in memory are shown to it at their own size, files as to a model of one's own.

    Raises:
        TypeError: something else than is accepted.
        UserError: as `load_model`, or images of another size than the model's.
    """
    if isinstance(model, str):
        name, _, checkpoint = model.partition("=")
        model = load_model(name, checkpoint or None)
    if not isinstance(model, nn.Module):
        raise TypeError(f"{MODELS}; not {type(model).__name__}")
    if isinstance(model, Classifier):
        if mean is not None or std is not None:
            raise UserError("mean and std are for a plain module; a Classifier has its own")
        _check_size(model.preprocessing.crop, dataset)
        return model
    if (mean is None) != (std is None):
        raise UserError("give both mean and std, or neither for a network that takes pixels")
    preprocessing = _preprocessing(dataset).override(
        mean=_three_numbers("mean", mean), std=_three_numbers("std", std)
    )
    if max(preprocessing.mean) > 1:
        raise UserError(
            f"mean={preprocessing.mean} is of pixels up to 255, and the network is given pixels up "
            "to 1; divide mean and std by 255"
        )
    record = ModelRecord(
        model=type(model).__name__,
        checkpoint="in memory",
        weights_sha256=_weights_sha256(model),
        details={"takes_pixels": mean is None, "code_sha256": _module_sha256(model)},
    )
    return Classifier(model, preprocessing, record, normalize=mean is not None)


def _three_numbers(name: str, values: Any) -> RGB | None:
    """A list, tuple, array or tensor as three plain numbers."""
    if values is None:
        return None
    try:
        red, green, blue = (float(value) for value in values)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}={values!r} is not three numbers, one per channel") from error
    return red, green, blue


def _weights_sha256(model: nn.Module) -> str:
    state = {key: value for key, value in model.state_dict().items() if isinstance(value, Tensor)}
    if any(is_lazy(value) or value.is_meta for value in state.values()):
        raise UserError(
            f"{type(model).__name__} has tensors without values (of a lazy layer, or on the meta "
            "device); initialise it before"
        )
    if any(value.is_inference() for value in state.values()):
        raise UserError(
            f"{type(model).__name__} was made in torch.inference_mode, and has no gradients; make "
            "it outside"
        )
    return weights_sha256(state)


def _module_sha256(model: nn.Module) -> str:
    """Of the code of a module and of all inside, their plain attributes, and their hooks."""
    parts = [
        (
            name,
            code_sha256(type(module)),
            sorted(
                (key, repr(value)) for key, value in vars(module).items() if _is_setting(key, value)
            ),
            [code_sha256(hook) for hook in _hooks(module)],
        )
        for name, module in model.named_modules()
    ]
    return sha256(repr((repr(model), parts)).encode()).hexdigest()


def _hooks(module: nn.Module) -> Iterator[Any]:
    """What is called before and after the module's own code."""
    yield from module._forward_pre_hooks.values()
    yield from module._forward_hooks.values()


def _is_setting(name: str, value: object) -> bool:
    return name != "training" and not name.startswith("_") and _is_plain(value)


def _is_plain(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return isinstance(value, (bool, int, float, str))


def _preprocessing(dataset: Dataset) -> Preprocessing:
    if dataset.source != "memory" or not isinstance(dataset.images, ArrayImages):
        return USER_PREPROCESSING
    height, width, _ = dataset.images.form
    if height != width:
        raise UserError(f"images are {width} x {height} pixels, and have to be square")
    return Preprocessing(crop=width, resize=None)


def _check_size(crop: int, dataset: Dataset) -> None:
    """Tensors are evaluated as they are, so they have the size that the model takes."""
    if dataset.source != "memory" or not isinstance(dataset.images, ArrayImages):
        return
    height, width, _ = dataset.images.form
    if (height, width) != (crop, crop):
        raise UserError(
            f"the images are {width} x {height} pixels, the model takes {crop} x {crop}; resize "
            "them first, or load the model with crop="
        )


@contextmanager
def lent(model: object) -> Iterator[None]:
    """A module is frozen and in eval mode inside; afterwards it is as the script had it."""
    if not isinstance(model, nn.Module) or isinstance(model, Classifier):
        yield
        return
    modes = {module: module.training for module in model.modules()}
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    try:
        yield
    finally:
        for parameter in trained:
            if not parameter.requires_grad:
                parameter.requires_grad_(True)
        for module, training in modes.items():
            module.training = training
