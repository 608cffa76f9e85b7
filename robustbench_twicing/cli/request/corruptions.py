"""From --corruptions, --severities and --imagenet-c to items of a suite, and to conditions."""

from collections.abc import Sequence
from pathlib import Path

from attacks import corruption_condition
from attacks.corruptions import GeneratedImages, OfficialImages

from ...conditions.condition import Condition
from ...conditions.suites import SuiteItem
from ...data.dataset import Dataset
from ...data.imagenet_c import SIDE, cells, parse_corruptions, parse_id, parse_severities
from ...errors import UserError
from ...files.printable import name_some
from ...registry import unknown
from ..options.evaluation import EvalOptions

MOST_NAMES = 6
"""Conditions that one line names."""


def named_item(name: str) -> SuiteItem:
    """The item that ``imagenet-c/fog/3`` among the --attacks means.

    Raises:
        UserError: an unknown name.
    """
    corruptions, severities = parse_id(name)
    return SuiteItem(corruption=corruptions, severity=severities)


def with_corruptions(items: Sequence[SuiteItem], options: EvalOptions) -> list[SuiteItem]:
    """The items, with the corruptions and severities that the command line puts in their place.

    Raises:
        UserError: unknown names, or options of corruptions without any.
    """
    replaced = list(items)
    if options.corruptions is not None:
        others = [item for item in items if not item.corruption]
        replaced = [*others, SuiteItem(corruption=parse_corruptions(options.corruptions))]
    if options.severities is not None:
        severities = parse_severities(options.severities)
        replaced = [
            item.model_copy(update={"severity": severities}) if item.corruption else item
            for item in replaced
        ]
    _check_used(replaced, options)
    return replaced


def _check_used(items: Sequence[SuiteItem], options: EvalOptions) -> None:
    """Options about corruptions are refused where there is none, and where files need none."""
    given = {
        "--severities": options.severities,
        "--imagenet-c": options.imagenet_c,
        "--imagenet-c-jpeg": options.imagenet_c_jpeg,
        "--imagenet-c-size": options.imagenet_c_size,
        "--frost-dir": options.frost_dir,
    }
    unused = [name for name, value in given.items() if value is not None]
    if unused and not any(item.corruption for item in items):
        raise UserError(
            f"{unused[0]} is given, but no corruption is asked for; "
            "add --corruptions main (15), extra (4) or all"
        )
    check_frost_dir(options.frost_dir)
    about_making = [name for name in unused if name in list(given)[2:]]
    if about_making and options.imagenet_c is not None:
        raise UserError(
            f"{about_making[0]} is about making images, and --imagenet-c reads files; "
            "leave one of them out"
        )


def corrupted_conditions(item: SuiteItem, protocol: str, options: EvalOptions) -> list[Condition]:
    """The conditions of one item.

    Raises:
        UserError: no such folder, or a bad size or second JPEG.
    """
    side = SIDE if options.imagenet_c_size is None else options.imagenet_c_size
    return [
        corruption_condition(
            *cell,
            folder=options.imagenet_c,
            jpeg=parse_jpeg(options.imagenet_c_jpeg),
            side=side,
            frost_dir=options.frost_dir,
            protocol=protocol,
        )
        for cell in cells(item.corruption, item.severity)
    ]


def check_frost_dir(folder: str | None) -> None:
    """Refuse a folder of frost photographs that is not there, whatever corruptions are asked for.

    Raises:
        UserError: no such folder.
    """
    if folder is not None and not Path(folder).expanduser().is_dir():
        raise UserError(f"--frost-dir {folder} is not there; give the folder of frost1.png, ...")


def parse_jpeg(text: str | None) -> bool:
    """Whether corrupted images get the second JPEG: ``85``, the default, or ``none``.

    Raises:
        UserError: something else.
    """
    if text not in (None, "85", "none"):
        raise unknown("--imagenet-c-jpeg", text, ("85", "none"))
    return text != "none"


def shortfalls(conditions: Sequence[Condition], data: Dataset) -> list[str]:
    """What corruptions will lack, found out before the work starts: files, photographs of frost.

    Raises:
        UserError: a folder of corrupted images has none of the conditions, or none of the images
            of the data set.
    """
    conditions_by_problem: dict[str, list[str]] = {}
    official = [item.images for item in conditions if isinstance(item.images, OfficialImages)]
    if official and all(source.folder is None for source in official):
        names = name_some((source.cell.id for source in official), MOST_NAMES)
        raise UserError(
            f"--imagenet-c {official[0].root} has no folder for {names}; "
            "give the one that holds fog/1, ..."
        )
    missing = [source.missing(data) for source in official]
    if official and min(missing) == len(data):
        raise UserError(
            f"no image of {data.name} ({len(data):,} in all) has a file in {official[0].root}; "
            "they are matched by class and name, so give the clean images of these files"
        )
    first = next((source for source in official if source.folder is not None), None)
    if first is not None and (size := first.other_size()):
        raise UserError(
            f"--imagenet-c {first.root}: {first.cell.id} has images of {size} pixels, and those of "
            f"source {first.source} are {first.side} x {first.side}; give these, or make them with "
            "corrupt"
        )
    for source, count in zip(official, missing, strict=True):
        if count:
            why = f"{count} of {len(data)} images have no file in {source.root}: incomplete"
            conditions_by_problem.setdefault(why, []).append(source.cell.id)
    for condition in conditions:
        images = condition.images
        if isinstance(images, GeneratedImages) and (why := images.lacking()):
            conditions_by_problem.setdefault(f"cannot be made: {why}", []).append(condition.id)
    return [
        f"{name_some(names, MOST_NAMES)}: {why}" for why, names in conditions_by_problem.items()
    ]
