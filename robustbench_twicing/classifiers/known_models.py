"""What is known of a model without building its network, because it was loaded before."""

import logging
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError

from ..checkpoints.beside.adapter import CONFIG as ADAPTER_CONFIG
from ..checkpoints.beside.adapter import adapter_file
from ..checkpoints.beside.config_file import CONFIG, PROCESSOR
from ..checkpoints.bundled import bundled_file
from ..checkpoints.hub import HF_PREFIX, cached_pretrained
from ..checkpoints.reading import checkpoint_files
from ..checkpoints.weights import BUNDLED, PRETRAINED, RANDOM
from ..data.preprocessing import Preprocessing
from ..errors import UserError
from ..files.memory import keep, recall
from ..files.source_code import is_shipped, suite_sha256
from ..files.stamp import are_settled, stamp_of
from ..models.family import FAMILIES, ModelRecord
from ..models.resolve import resolve_model
from .classifier import Classifier
from .device import choose_device
from .kernels import check_kernels
from .loading import load_model
from .user_code import is_user_code

log = logging.getLogger(__name__)
PACKAGES = ("torch", "timm", "transformers", "safetensors", "numpy")
"""What networks and their weights are made with."""


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model.

    Attributes:
        record: of `Classifier`.
        preprocessing: of `Classifier`.
        takes_pixels: whether the network normalises its input itself.
        classes: how many logits it has.
    """

    record: ModelRecord
    preprocessing: Preprocessing
    takes_pixels: bool
    classes: int


_ADAPTER: TypeAdapter[ModelFacts] = TypeAdapter(ModelFacts)


def load_and_keep(name: str, checkpoint: str | None, **wishes: Any) -> Classifier:
    """As `load_model`, on the CPU; what is known of the model is kept for `recall_model`.

    A user's own code is not: what it builds may depend on anything.

    Raises:
        UserError: as `load_model`.
    """
    state = _state(name, checkpoint, wishes)
    classifier = load_model(name, checkpoint, **wishes)
    classes = getattr(classifier.network, "num_classes", None)
    if state is None or not isinstance(classes, int) or not are_settled(state["files"].values()):
        return classifier
    facts = ModelFacts(
        classifier.record, classifier.preprocessing, classifier.normalize is None, classes
    )
    answer = _ADAPTER.dump_python(
        facts, mode="json", warnings=False
    )  # lists where tuples are meant
    if state == _state(name, checkpoint, wishes):  # no file has changed while it was read
        keep(_subject(name, checkpoint, wishes), state, answer)
    return classifier


def recall_model(name: str, checkpoint: str | None, **wishes: Any) -> ModelFacts | None:
    """What `load_model` would find of a model; None where only loading it can tell.

    Nothing that decides it has changed since: the arguments, the files that are read by their
    stamps, the code of this suite, the versions of the libraries, and the machine.
    """
    state = _state(name, checkpoint, wishes)
    if state is None:
        return None
    answer = recall(_subject(name, checkpoint, wishes), state)
    try:
        return None if answer is None else _ADAPTER.validate_python(answer)
    except ValidationError as error:
        log.info("what is kept of %s has another form: %s", name, error)
        return None


def _subject(name: str, checkpoint: str | None, wishes: dict[str, Any]) -> str:
    return f"model {name} {checkpoint} {sorted(wishes.items())} from {Path.cwd()}"


def _state(name: str, checkpoint: str | None, wishes: dict[str, Any]) -> dict[str, Any] | None:
    """All that decides what is found; None where that is not known, or loading would fail."""
    if is_user_code(name):
        return None
    try:
        check_kernels(wishes["kernels"], choose_device("cpu"))
        files = dict.fromkeys(_files_read(name, checkpoint, wishes["adapter"]))
    except UserError:
        return None  # loading says what is wrong
    return {
        "files": {str(file): stamp_of(file) for file in files},
        "code": suite_sha256(),
        "versions": {package: _version(package) for package in PACKAGES},
        # Initial weights, and position embeddings of another size, are computed.
        "machine": [platform.node(), platform.python_version(), _cpu()],
    }


def _files_read(name: str, checkpoint: str | None, adapter: str | None) -> Iterator[Path]:
    """All files that loading reads, and those that it would read if they were there.

    Raises:
        UserError: it is not known.
    """
    if name.startswith(HF_PREFIX):
        place = Path(checkpoint or name.removeprefix(HF_PREFIX)).expanduser()
        if not place.is_dir():
            raise UserError(f"{place} is no folder: the hub decides what {name} is")
        yield from sorted(place.iterdir())
    else:
        of_checkpoint = _place(name, checkpoint)
        if of_checkpoint is None:
            return
        place = of_checkpoint
    yield from checkpoint_files(place)
    yield from ((place if place.is_dir() else place.parent) / one for one in (CONFIG, PROCESSOR))
    if adapter is not None:
        file = adapter_file(Path(adapter).expanduser())
        yield from (*checkpoint_files(file), file.parent / ADAPTER_CONFIG)


def _place(name: str, checkpoint: str | None) -> Path | None:
    """File or folder of a checkpoint; None for weights that are made.

    Raises:
        UserError: it is not known, or the code that builds the network is not this suite's.
    """
    spec = resolve_model(name)
    if not is_shipped(FAMILIES[spec.family].build):
        raise UserError(f"{name} is built by code that may have changed")
    if checkpoint is None or checkpoint.startswith(RANDOM):
        return None
    if checkpoint == BUNDLED:
        return bundled_file(spec.name)
    if checkpoint != PRETRAINED:
        return Path(checkpoint).expanduser()
    cached = cached_pretrained(spec)
    if cached is None:
        raise UserError(f"the weights of {name} are not here yet")
    return cached


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cpu() -> str:
    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
