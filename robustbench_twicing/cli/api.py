"""What a script calls: one evaluation by a function, loaded by ``robustbench_twicing.evaluate``."""

import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

from ..classifiers.classifier import Classifier
from ..conditions.condition import AttackFunction, Condition, from_functions
from ..data.crop_cache import cache_crops
from ..data.dataset import Dataset
from ..data.opening import open_dataset
from ..evaluation.runner import Options, Run, evaluate_models
from ..evaluation.tasks import make_task


def evaluate(
    classifier: Classifier,
    data: Dataset | str,
    conditions: Mapping[str, AttackFunction | Condition | None],
    *,
    out: str | Path | None = None,
    seed: int = 0,
    batch_size: int = 32,
    label: str | None = None,
    device: str = "auto",
    on_bad_image: str = "stop",
    workers: int = 1,
    cache: str | Path | None = None,
) -> Run:
    """Evaluate one classifier on one data set under some conditions.

    Args:
        classifier: from `load_model`, or a `Classifier` around a network of your own.
        data: a data set, or the name or folder of one.
        conditions: id to attack, for example
            ``{"clean": None, "pgd@1/255": partial(pgd, eps=1 / 255)}``. An attack is called as
            ``attack(model, x, y, generator=generators)`` with one generator per image; the budget
            in the id is the one its result is checked against. A corruption has none:
            ``{"imagenet-c/fog/3": corruption_condition("fog", 3)}``.
        out: run folder; one that exists is continued. None: a temporary one.
        seed: base seed of every random stream.
        batch_size: images per batch.
        label: name in tables; default the model's name.
        device: ``auto``, ``cpu`` or ``cuda``.
        on_bad_image: ``stop`` at an image that cannot be decoded, or ``skip`` and list it.
        workers: processes that read and corrupt images. With more than 1 the calling script needs
            ``if __name__ == "__main__":``, as for all of `multiprocessing`.
        cache: folder in which decoded crops are kept; None keeps none.

    Raises:
        UserError: a condition without a budget, a folder of another run, labels that do not fit.
        BadImageError: an image that cannot be decoded, with its path.
    """
    options = Options(
        seed=seed,
        batch_size=batch_size,
        on_bad_image=on_bad_image,
        device=device,
        workers=workers,
    )
    dataset = open_dataset(data) if isinstance(data, str) else data
    if cache is not None:
        dataset = cache_crops(dataset, Path(cache))
    tasks = [make_task(dataset, from_functions(conditions))]
    models = {label or classifier.record.model: classifier}
    if out is not None:
        return evaluate_models(models, tasks, out=Path(out), options=options)
    temporary = tempfile.TemporaryDirectory()
    try:
        run = evaluate_models(models, tasks, out=Path(temporary.name) / "run", options=options)
    except BaseException:
        temporary.cleanup()
        raise
    weakref.finalize(run.folder, temporary.cleanup)
    return run
