"""From the data sets that were found to what is done on each of them."""

from collections.abc import Mapping
from dataclasses import replace

from ...conditions.condition import Condition, clean
from ...errors import UserError
from ...evaluation.tasks import Task, make_task, with_clean_subsets
from ..options.evaluation import EvalOptions
from .conditions import ConditionRequest, make_conditions
from .data_sets import Sources, open_images

Conditions = Mapping[str | None, list[Condition]]
"""By name of a shifted data set; None: for the clean ones."""


def conditions_by_set(request: ConditionRequest, sources: Sources) -> Conditions:
    """What is done on each data set.

    Without --attacks a shifted set that the suite does not name is shown as it is, and so are clean
    images beside a suite that does nothing with them. Attacks that are named are for all data sets
    that --data or the suite names.

    Args:
        request: what is asked for.
        sources: the data sets.

    Raises:
        UserError: as `make_conditions`.
    """
    options = request.options
    if sources.imagenet_c is not None and request.corrupted and not _says_how_to_corrupt(options):
        options = replace(options, imagenet_c=sources.imagenet_c)
        request = replace(request, options=options)
    unattacked = [clean(options.protocol or "pixel")]
    conditions: dict[str | None, list[Condition]] = {}
    if sources.clean:
        asked = request.clean or (options.attacks is not None and bool(options.data))
        conditions[None] = (make_conditions(request) if asked else []) or unattacked
    for name in sources.shifted:
        conditions[name] = make_conditions(request, name) or unattacked
    return conditions


def _says_how_to_corrupt(options: EvalOptions) -> bool:
    """Whether the user points at corrupted images, or wants them made in a way of their own."""
    given = (
        options.imagenet_c,
        options.imagenet_c_jpeg,
        options.imagenet_c_size,
        options.frost_dir,
    )
    return any(value is not None for value in given)


def open_tasks(options: EvalOptions, sources: Sources, conditions: Conditions) -> list[Task]:
    """Open the data sets, the clean ones first.

    Args:
        options: as typed.
        sources: the data sets.
        conditions: what is done on each.

    Raises:
        UserError: as `open_dataset`, or --labels and --classes for more than one data set.
    """
    names = ("labels", "classes", "class_order")
    given = [name for name in names if getattr(options, name) is not None]
    if given and len(sources.clean) != 1:
        raise UserError(
            f"--{given[0].replace('_', '-')} is for one data set, and {len(sources.clean)} take "
            "it; evaluate them in runs of their own"
        )
    tasks = [
        make_task(
            open_images(options, spec),
            conditions[None],
            options.draws,
        )
        for spec in sources.clean
    ]
    tasks += [
        make_task(open_images(options, spec, labels=False), conditions[name], options.draws)
        for name, spec in sources.shifted.items()
    ]
    return with_clean_subsets(tasks)
