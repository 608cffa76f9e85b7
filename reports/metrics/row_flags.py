"""Flags of a row that follow from its model, data, condition and run, whatever the records say."""

import re
from collections.abc import Iterator, Mapping

from robustbench_twicing.conditions.condition import CLASS_SUBSET, CLEAN
from robustbench_twicing.data.imagenet import NUM_CLASSES
from robustbench_twicing.data.imagenet_c import OFFICIAL, OTHER_SETS, PREFIXES, SIDE
from robustbench_twicing.records.manifest import Evaluation

from ..merging.entry import Entry
from .diagnostics import Scored

_CONSTANT = re.compile(r"\w+=.+|attack-in-.+")


def row_flags(entry: Entry, missing: int) -> list[str]:
    """Flags of one row of results.csv.

    Args:
        entry: what the row is of.
        missing: images of corrupted files that are not there.
    """
    condition, dataset, manifest = entry.condition, entry.evaluation.dataset, entry.manifest
    flags = [*entry.evaluation.record.flags, *dataset.flags, *condition.flags]
    flags += [*_about_labels(entry), *_about_corrupted(entry), *entry.shown_flags]
    if dataset.skipped:
        flags.append(f"files-left-out-{len(dataset.skipped)}")
    flags += [f"{name}={condition.settings[name]}" for name in condition.changed]
    if condition.is_attacked and manifest.attack_precision != "fp32":
        flags.append(f"attack-in-{manifest.attack_precision}")
    if missing:
        flags.append(f"files-missing-{missing}-of-{entry.n_expected}")
    return flags


def constants_in(flags: str) -> str:
    """``steps=5, random_start=False``, or in words that there are none.

    Numbers of other constants or number formats are of another attack under the same name.
    """
    constants = [flag for flag in flags.split(";") if _CONSTANT.fullmatch(flag)]
    return ", ".join(constants) or "the protocol's constants"


def _about_labels(entry: Entry) -> Iterator[str]:
    """Over which logits labels of a data set's own are scored; a second look says it itself."""
    space = entry.evaluation.dataset.space
    if space is not None and entry.condition.attack != CLASS_SUBSET:
        yield space.convention


def _about_corrupted(entry: Entry) -> Iterator[str]:
    """What keeps corrupted images from being ImageNet-C: other classes, or small ones enlarged."""
    if entry.condition.attack not in PREFIXES:
        return
    images = {} if entry.condition.images is None else entry.condition.images.describe()
    classes = _classes(entry.evaluation)
    if classes not in (NUM_CLASSES, None):
        yield f"not-imagenet-c-{classes}-classes"
    side = entry.evaluation.dataset.typical_side
    enlarged = side is not None and side < images.get("side", SIDE)
    if images.get("source", OFFICIAL) not in (OFFICIAL, *OTHER_SETS) and enlarged:
        yield f"not-imagenet-c-enlarged-{side}px"


def _classes(evaluation: Evaluation) -> int | None:
    """Of a data set, or where its labels do not tell, of the network; None if neither is known."""
    sizes = evaluation.record.details.get("sizes") or {}
    number: int | None = evaluation.dataset.num_classes or sizes.get("num_classes")
    return number


def copied_images(scored: Mapping[int, Scored]) -> dict[int, str]:
    """A flag for each condition whose files are, all of them, the images of another one.

    Images that were corrupted on the fly are left out: flat ones may come out as they went in.

    Args:
        scored: by position, all conditions of one model, data set and protocol.

    Returns:
        By position: ``same-images-as-CONDITION``.
    """
    by_content: dict[tuple[int | None, ...], list[int]] = {}
    for position, result in scored.items():
        if (_is_from_files(result) or result.condition.attack == CLEAN) and result.counts.scored:
            content = result.counts.scored, result.counts.images, result.counts.pixels
            by_content.setdefault(content, []).append(position)
    flags = {}
    for positions in by_content.values():
        for position in positions:
            others = [rival for rival in positions if rival != position]
            if others and _is_from_files(scored[position]):
                flags[position] = f"same-images-as-{scored[others[0]].condition.id}"
    return flags


def _is_from_files(result: Scored) -> bool:
    return result.condition.images is not None and "files" in result.condition.images.describe()
