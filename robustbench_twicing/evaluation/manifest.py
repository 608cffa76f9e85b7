"""Models, data and conditions as the manifest of a run has them."""

from collections.abc import Mapping
from dataclasses import replace

from ..data.dataset import Dataset
from ..data.preprocessing import Preprocessing
from ..data.summary import SURVEYED, Survey, survey, typical_side
from ..data.suspicions import severities_in_one_array, suspicions
from ..errors import UserError
from ..records.manifest import DatasetRecord, Evaluation, Manifest
from .class_subsets import count_images
from .tasks import RunRequest, Task


def make_manifest(
    request: RunRequest,
    *,
    classes: Mapping[str, int],
    part_size: int,
    device: str,
    remarks: bool = True,
) -> Manifest:
    """What the run is, before anything is computed.

    Args:
        request: what is asked for.
        classes: how many logits each model has.
        part_size: see `Manifest`.
        device: see `Manifest`.
        remarks: whether to say what looks wrong with the images, for which many of them are looked
            into; what run it is does not depend on that.

    Raises:
        UserError: an array of corrupted images.
    """
    tasks, options = request.tasks, request.options
    datasets = [
        (
            dataset_record(task, sides=remarks),
            task.data,
            survey(task.data, most=SURVEYED) if remarks else None,
        )
        for task in tasks
    ]
    for task in tasks:
        _refuse_severities(task.data)
    counts = [
        {condition.key: count_images(task.data, condition) for condition in task.conditions}
        for task in tasks
    ]
    evaluations = tuple(
        Evaluation(
            *(label, model.record, model.preprocessing),
            _with_remarks(record, data, surveyed, model.preprocessing, classes[label]),
            images,
        )
        for label, model in request.models.items()
        for (record, data, surveyed), images in zip(datasets, counts, strict=True)
    )
    by_key = {condition.key: condition for task in tasks for condition in task.conditions}
    return Manifest(
        evaluations=evaluations,
        conditions=tuple(by_key.values()),
        left_out=tuple(request.left_out),
        seed=options.seed,
        part_size=part_size,
        on_bad_image=options.on_bad_image,
        device=device,
        attack_precision=options.attack_precision,
        score_8bit=options.score_8bit or "sample",
        mode="survivors" if options.survivors else "full",
        draws=options.draws,
    )


def _refuse_severities(data: Dataset) -> None:
    """CIFAR-C's arrays hold five severities, whose mean is no clean accuracy."""
    for remark in severities_in_one_array(data):
        raise UserError(
            f"{data.name}: {remark.sentence}; give the clean test set as --data, in the same "
            "order, and the folder of the arrays by --imagenet-c"
        )


def _with_remarks(
    record: DatasetRecord,
    data: Dataset,
    surveyed: Survey | None,
    preprocessing: Preprocessing,
    classes: int,
) -> DatasetRecord:
    """With what looks wrong with the images, for the network that will see them."""
    if surveyed is None:
        return record
    remarks = tuple(suspicions(data, surveyed, preprocessing, data.num_classes or classes))
    flags = tuple(remark.flag for remark in remarks)
    sentences = tuple(remark.sentence for remark in remarks)
    return replace(record, flags=(*record.flags, *flags), notes=(*record.notes, *sentences))


def dataset_record(task: Task, *, sides: bool) -> DatasetRecord:
    """What the manifest says of a data set; with ``sides``, how large corrupted images are."""
    data = task.data
    corrupted = any(condition.images is not None for condition in task.conditions)
    return DatasetRecord(
        name=data.name,
        source=data.source,
        n_images=len(data),
        fingerprint=data.fingerprint,
        labelling=data.labelling,
        num_classes=data.num_classes,
        space=None if data.space is None else data.space.record,
        notes=data.notes,
        flags=data.flags,
        skipped=data.skipped,
        limit_seed=data.limit_seed,
        typical_side=typical_side(data) if corrupted and sides else None,
        right_labels_sha256=None if data.several is None else data.several.sha256,
    )
