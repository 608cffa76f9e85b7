"""Models, data and conditions as plain values: what the manifest of a run says of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..classifiers.classifier import Classifier
from ..conditions.condition import Condition
from ..data.summary import typical_side
from ..records.manifest import Evaluation, Manifest
from .class_subsets import count_images
from .tasks import Task


def make_manifest(
    models: Mapping[str, Classifier],
    tasks: Sequence[Task],
    *,
    left_out: Sequence[str] = (),
    seed: int,
    batch_size: int,
    on_bad_image: str,
    device: str,
    attack_precision: str,
) -> Manifest:
    """What the run is, before anything is computed."""
    about = [
        (
            describe_data(task),
            {each.key: count_images(task.data, each) for each in task.conditions},
        )
        for task in tasks
    ]
    evaluations = tuple(
        Evaluation(label, asdict(model.record), model.preprocessing.as_dict(), data, images)
        for label, model in models.items()
        for data, images in about
    )
    conditions = {each.key: each for task in tasks for each in task.conditions}
    return Manifest(
        evaluations=evaluations,
        conditions=tuple(describe_condition(condition) for condition in conditions.values()),
        left_out=tuple(left_out),
        seed=seed,
        batch_size=batch_size,
        on_bad_image=on_bad_image,
        device=device,
        attack_precision=attack_precision,
    )


def describe_data(task: Task) -> dict[str, Any]:
    """A data set as plain values; where it is corrupted, how large its images are."""
    data = task.data
    shown = any(condition.images is not None for condition in task.conditions)
    return {
        "name": data.name,
        "source": data.source,
        "n_images": len(data),
        "fingerprint": data.fingerprint,
        "labelling": data.labelling,
        "num_classes": data.num_classes,
        "space": None if data.space is None else data.space.describe(),
        "notes": list(data.notes),
        "flags": list(data.flags),
        "skipped": [each._asdict() for each in data.skipped],
        **({"typical_side": typical_side(data)} if shown else {}),
    }


def describe_condition(condition: Condition) -> dict[str, Any]:
    """A condition as plain values; the budget as an exact fraction."""
    return {
        "id": condition.id,
        "attack": condition.attack,
        "eps": str(condition.eps),
        "protocol": condition.protocol,
        "threat": asdict(condition.threat),
        "white_box": condition.white_box,
        "settings": dict(condition.settings),
        "changed": dict(condition.changed),
        "notes": list(condition.notes),
        "flags": list(condition.flags),
        "over": condition.over,
        "images": None if condition.images is None else condition.images.describe(),
    }
