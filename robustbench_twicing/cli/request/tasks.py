"""From the data sets that were found to what is done on each of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import UserError
from .conditions import make_conditions, suite_data
from .data_sets import Sources
from .options import EvalOptions

if TYPE_CHECKING:
    from ...conditions.condition import Condition
    from ...data.dataset import Dataset
    from ...evaluation.tasks import Task

Conditions = Mapping[str | None, "list[Condition]"]
"""By name of a shifted data set; None: for the clean ones."""


def conditions_by_set(options: EvalOptions, sources: Sources) -> "Conditions":
    """What is done on each data set.

    Without --attacks a shifted set that the suite does not name is shown as it is, and so are clean
    images beside a suite that does nothing with them. Attacks that are named are for all data sets
    that --data or the suite names.

    Raises:
        UserError: as `make_conditions`.
    """
    from ...conditions.condition import clean

    suite = suite_data(options)
    if sources.imagenet_c is not None and suite.corrupted and not _says_how_to_corrupt(options):
        options = replace(options, imagenet_c=sources.imagenet_c)
    protocol = options.protocol or "pixel"
    found: dict[str | None, list[Condition]] = {}
    if sources.clean:
        asked = suite.clean or (options.attacks is not None and bool(options.data))
        found[None] = (make_conditions(options) if asked else []) or [clean(protocol)]
    for name in sources.shifted:
        found[name] = make_conditions(options, name) or [clean(protocol)]
    return found


def _says_how_to_corrupt(options: EvalOptions) -> bool:
    """Whether the user points at corrupted images, or wants them made in a way of their own."""
    own = (
        options.imagenet_c,
        options.imagenet_c_jpeg,
        options.imagenet_c_size,
        options.frost_dir,
    )
    return any(each is not None for each in own)


def open_tasks(options: EvalOptions, sources: Sources, conditions: "Conditions") -> "list[Task]":
    """Open the data sets, the clean ones first.

    Raises:
        UserError: as `open_dataset`, or --labels and --classes for more than one data set.
    """
    from ...evaluation.tasks import make_task, with_clean_subsets

    own = [name for name in ("labels", "classes") if getattr(options, name) is not None]
    if own and len(sources.clean) != 1:
        raise UserError(
            f"--{own[0]} is for one data set, and {len(sources.clean)} take it; evaluate them in "
            "runs of their own"
        )
    tasks = [
        make_task(
            _open(options, spec, labels=options.labels, classes=options.classes), conditions[None]
        )
        for spec in sources.clean
    ]
    tasks += [
        make_task(_open(options, spec), conditions[name]) for name, spec in sources.shifted.items()
    ]
    return with_clean_subsets(tasks)


def _open(
    options: EvalOptions, spec: str, *, labels: str | None = None, classes: str | None = None
) -> "Dataset":
    from ...data.opening import open_dataset

    return open_dataset(
        spec, labels=labels, classes=classes, limit=options.limit, seed=options.seed
    )
