"""When two manifests are of the same run, and two records of the same thing.

Decided by hashes and by settings that change numbers: never by paths, wording, flags, or by the
kernels and the memory format with which a processor computes, which are noted per session.
"""

import json
import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..conditions.condition import CLASS_SUBSET, CLEAN, WORST, Condition
from ..data.preprocessing import Preprocessing
from ..models.family import ModelRecord
from .manifest import DatasetRecord, Manifest

log = logging.getLogger(__name__)
SETTINGS_OF_A_MODEL = ("sizes", "classes", "takes_pixels", "code_sha256")
"""What changes its numbers, of `ModelRecord.details`."""
NO_SIZES = ("attention", "num_classes")
"""Of ``sizes``: kernels, and what the shape of the weights says."""


def model_identity(record: ModelRecord) -> dict[str, Any]:
    """Which model it is: the weights by hash of the tensors, whatever file they are from."""
    names = ("family", "weights_sha256")
    settings = {name: record.details.get(name) for name in SETTINGS_OF_A_MODEL}
    if isinstance(settings["sizes"], Mapping):
        sizes = settings["sizes"].items()
        settings["sizes"] = {name: size for name, size in sizes if name not in NO_SIZES}
    if record.family == "user" and settings["code_sha256"]:
        settings["model"] = record.model.rpartition(":")[2]  # the function, wherever its file is
    return _plain(
        {"model": record.model} | {name: getattr(record, name) for name in names} | settings
    )


def images_identity(dataset: DatasetRecord) -> dict[str, Any]:
    """Which images with which labels they are."""
    names = ("name", "source", "n_images", "fingerprint", "num_classes")
    space = None if dataset.space is None else vars(dataset.space)
    return _plain({name: getattr(dataset, name) for name in names} | {"space": space})


def preprocessing_identity(preprocessing: Preprocessing) -> dict[str, Any]:
    """How photographs become pixels."""
    return _plain(preprocessing.as_dict())


def condition_identity(condition: Condition) -> dict[str, Any]:
    """What is done to the images."""
    names = ("id", "attack", "protocol", "settings", "class_subset")
    return _plain(
        {name: getattr(condition, name) for name in names}
        | {
            "eps": str(condition.eps),
            "threat": vars(condition.threat),
            "images": None if condition.images is None else condition.images.describe(),
            "code_sha256": condition.code_sha256 or None,
        }
    )


def seeded_identity(condition: Condition, manifest: Manifest) -> dict[str, Any]:
    """What is done to the images; seed and precision matter where something is."""
    identity = condition_identity(condition)
    if condition.attack in (CLEAN, CLASS_SUBSET):
        return identity
    identity |= {"seed": manifest.seed, "attack_precision": manifest.attack_precision}
    if condition.is_attacked and condition.attack != WORST:  # the worst case is that of both modes
        identity["mode"] = manifest.mode
    return identity


def run_identity(manifest: Manifest) -> dict[str, Any]:
    """What a run folder must have in common with a run that continues it, and shards of one run.

    Models, data sets and conditions may be given in any order; no number depends on it.

    Returns:
        By the words in which a message names it.
    """
    values: dict[str, Any] = {
        "seed": manifest.seed,
        "device": manifest.device,
        "attack precision": manifest.attack_precision,
        "mode": manifest.mode,
        "draws": manifest.draws,
        "part size": manifest.part_size,
        "data sets left out": sorted(manifest.left_out),
        "models": sorted({one.label for one in manifest.evaluations}),
        "data sets": sorted({one.dataset.name for one in manifest.evaluations}),
    }
    for evaluation in manifest.evaluations:
        label, name = evaluation.label, evaluation.dataset.name
        values[f"conditions on {name}"] = sorted(evaluation.conditions)
        values[f"limit seed of {name}"] = evaluation.dataset.limit_seed
        values[f"images of {name}"] = images_identity(evaluation.dataset)
        # Before the model: another crop also resamples its position embedding.
        values[f"preprocessing of {label}"] = preprocessing_identity(evaluation.preprocessing)
        values[f"model {label}"] = model_identity(evaluation.record)
    for condition in manifest.conditions:
        values[f"condition {condition.key}"] = condition_identity(condition)
    return values


def run_difference(old: Manifest, new: Manifest) -> "Difference | None":
    """Where a run differs first from the one that is to continue it; None where it is the same.

    A folder of before may not say the code of a user's own attack or corruption: a warning does.
    """
    before, now = run_identity(old), run_identity(new)
    for key in (f"condition {condition.key}" for condition in new.conditions):
        if key in before and before[key]["code_sha256"] is None and now[key]["code_sha256"]:
            now[key]["code_sha256"] = None
            log.warning("%s: the run does not say with which code; it cannot be compared", key)
    return first_difference(before, now)


def not_the_same(old: Manifest, new: Manifest) -> str:
    """Why a run folder cannot be continued, after its name; empty where it can."""
    if old.schema != new.schema:
        return (
            " was made by an earlier version, whose records have other columns; report reads it; "
            "to continue, use another --out"
        )
    difference = run_difference(old, new)
    if difference and difference.code:
        return (
            f": the code of {difference.code} has changed since the run was begun (sha256 "
            f"{difference.old[:8]} there, {difference.new[:8]} here); evaluate with the code of "
            "then, or use another --out"
        )
    if difference:
        return (
            f" was made with other settings: {difference.between('there', 'here')}; give the same "
            f"{difference.option}, or use another --out"
        )
    return ""


OPTIONS: Mapping[str, str] = {
    "seed": "--seed",
    "device": "--device",
    "attack precision": "--attack-precision",
    "mode": "--survivors",
    "draws": "--draws",
    "part size": "--part-size",
    "data sets left out": "--without",
    "models": "--model and --label",
    "data sets": "--data",
    "conditions on": "--suite, --attacks, --eps, --protocol, --corruptions and --severities",
    "limit seed of": "--limit and --limit-seed",
    "images of": "--data, --labels, --classes and --limit",
    "model": "--model, --checkpoint and --weights",
    "preprocessing of": "--crop, --resize, --interpolation, --mean, --std and --normalize",
    "condition": "--set, --protocol and the options of the attack",
}
"""By the first words of a name in `run_identity`: what to look at on the command line."""
PARTICULAR: Mapping[str, str] = {
    ".takes_pixels": "--normalize",
    ".settings.expectation": "--expectation",
    ".images": "--imagenet-c, --imagenet-c-jpeg and --imagenet-c-size",
}
"""The same by a later part of a path."""
CODE = (".code_sha256", ".settings.sha256")
"""How paths to hashes of code end; the latter is of a user's file on the command line."""


class Difference(NamedTuple):
    """Where two nested plain values differ first.

    Attributes:
        path: of the value, like ``model deit.weights_sha256``.
        old, new: each side's value, short; of lists what it alone has, empty where that is nothing.
    """

    path: str
    old: str
    new: str

    @property
    def code(self) -> str:
        """Whose code it is, like ``condition pixel:rain@4/255``; empty for all other values."""
        return next((self.path.removesuffix(end) for end in CODE if self.path.endswith(end)), "")

    def between(self, old: str, new: str) -> str:
        """In words, where the sides are called like ``there`` and ``here``."""
        if self.old and self.new:
            plural = self.path.startswith(("draws", "models", "data sets", "conditions", "threads"))
            return f"{self.path} {'are' if plural else 'is'} {self.old} {old} and {self.new} {new}"
        alone, has, lacks = (self.old, old, new) if self.old else (self.new, new, old)
        return f"of {self.path}, {alone} {'are' if ', ' in alone else 'is'} {has} and not {lacks}"

    @property
    def option(self) -> str:
        """What to look at on the command line, for a difference of two `run_identity`."""
        texts = [text for part, text in PARTICULAR.items() if part in self.path]
        texts += [text for start, text in OPTIONS.items() if _begins(self.path, start)]
        return texts[0]


def _begins(path: str, start: str) -> bool:
    return path == start or path.startswith((f"{start} ", f"{start}."))


def first_difference(old: Any, new: Any, path: str = "") -> Difference | None:
    """Where two nested plain values differ first; None where they are equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            name = f"{path}.{key}" if path else str(key)
            difference = first_difference(old.get(key), new.get(key), name)
            if difference:
                return difference
        return None
    if old == new:
        return None
    if isinstance(old, list) and isinstance(new, list):
        return Difference(path, *_only_different(old, new))
    return Difference(path, _short(old), _short(new))


def _only_different(old: list[Any], new: list[Any]) -> tuple[str, str]:
    """What is only in one of two lists; of names one side may have all, of numbers both are whole.

    Nothing is said of a list that lacks what the other has; an empty one says "none".
    """
    sides = [[item for item in one if item not in other] for one, other in ((old, new), (new, old))]
    if not any(sides) or not (all(sides) or all(isinstance(item, str) for item in old + new)):
        sides = [old, new]
    texts = [
        _short(side) if side or not whole else ""
        for side, whole in zip(sides, (old, new), strict=True)
    ]
    return texts[0], texts[1]


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list):
        value = ", ".join(map(str, value)) or "none"
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON reads it back, so that tuples equal lists."""
    read_back: dict[str, Any] = json.loads(json.dumps(values, default=dict))
    return read_back
