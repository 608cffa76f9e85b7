"""Join a label file with the images of a folder; nothing may be left over on either side."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ...errors import UserError
from ...files.printable import count, name_some
from ..dataset import Remark, RightLabels
from ..imagenet import NUM_CLASSES, WNID, wnid_to_index, wnids
from .class_folders import BY_NUMBER, Labelled, check_range
from .class_list import OwnClasses
from .label_file import Label, Target, read_label_file
from .right_labels import Labels, hash_labels, read_right_labels
from .scanning import IMAGE_ENDINGS, Listing

Stem = tuple[str, ...]
_WNID_BEHIND = re.compile(r"(ILSVRC2012_val_\d{8})_n\d{8}")


class _Image(NamedTuple):
    id: str
    stem: Stem


def label_images(
    listing: Listing, file: Path, classes: OwnClasses | None = None, *, superset: bool = False
) -> Labelled:
    """Give every image the labels that a file of any form has for it.

    Raises:
        UserError: as `read_right_labels`, `read_label_file`, and those that use what these read.
    """
    several = read_right_labels(file, classes)
    if several is not None:
        return label_by_right_labels(listing, several, str(file), classes, superset=superset)
    lines = read_label_file(file, classes)
    return label_by_file(listing, lines, str(file), classes, superset=superset)


def label_by_file(
    listing: Listing,
    labels: tuple[Label[int], ...],
    source: str,
    classes: OwnClasses | None = None,
    *,
    superset: bool = False,
) -> Labelled:
    """Give every image the label of the line that names it.

    A name may have more or fewer leading folders than the image's id, and may lack its ending.

    Args:
        listing: the images.
        labels: lines of the file.
        source: the file, for messages.
        classes: own classes.
        superset: whether the file may name images that are not here.

    Raises:
        UserError: images without label, labels without image, contradictions.
    """
    indices, notes = _joined(listing, labels, source, superset=superset)
    if classes is None:
        check_range(set(indices.values()), source, "labels")
        _refuse_contradiction(listing, indices, source)
    return Labelled(
        listing.images,
        tuple(indices[image.id] for image in listing.images),
        NUM_CLASSES if classes is None else classes.num_classes,
        f"label file {PurePosixPath(source).name}",
        notes,
    )


def label_by_right_labels(
    listing: Listing,
    labels: Labels,
    source: str,
    classes: OwnClasses | None = None,
    *,
    superset: bool = False,
) -> Labelled:
    """Give every image all of its right labels, and leave out those that have none.

    They take the place of what folders say; otherwise as `label_by_file`.

    Raises:
        UserError: images or entries without a counterpart, contradictions, no label at all.
    """
    right, notes = _joined(listing, labels, source, superset=superset)
    images = tuple(image for image in listing.images if right[image.id])
    file = PurePosixPath(source).name
    if not images:
        raise UserError(f"{source} has no label for any image of {listing.root}")
    of = tuple(right[image.id] for image in images)
    return Labelled(
        images,
        tuple(first for first, *_ in of),
        NUM_CLASSES if classes is None else classes.num_classes,
        f"label file {file}",
        (*notes, *_replaced(listing, right, file)),
        RightLabels(of, hash_labels(labels)),
        tuple(_about_right_labels(of, len(listing.images), file)),
    )


def _about_right_labels(
    right: Sequence[tuple[int, ...]], listed: int, file: str
) -> Iterator[Remark]:
    numbers = list(map(len, right))
    yield Remark(
        "several-labels",
        f"an answer is right where it is any of the image's labels in {file} ("
        f"{sum(numbers) / len(right):.2f} an image, {max(numbers)} at most): not to be compared "
        "with accuracy under one label",
    )
    if left_out := listed - len(right):
        yield Remark(
            f"unlabelled-{left_out}-of-{listed}",
            f"{left_out:,} of {count(listed, 'image')} have no label in {file}, and were left out",
        )


def _replaced(listing: Listing, right: Mapping[str, tuple[int, ...]], file: str) -> Iterator[str]:
    """A note where images lie in folders of classes, which do not count."""
    folders = {image.id: _class_of_folder(listing, image.id) for image in listing.images}
    known = {name: of for name, of in folders.items() if of is not None and right[name]}
    if known:
        others = sum(of not in right[name] for name, of in known.items())
        yield (
            f"the labels of {file} replace those of folders named by wnid; of "
            f"{count(len(known), 'image')} {others} have other labels alone"
        )


def _joined(
    listing: Listing, labels: Sequence[Label[Target]], source: str, *, superset: bool
) -> tuple[dict[str, Target], tuple[str, ...]]:
    """What the file says of every image, by its id; and notes."""
    by_stem: dict[str, list[_Image]] = defaultdict(list)
    for image in listing.images:
        stem = _stem(image.id)
        by_stem[stem[-1]].append(_Image(image.id, stem))
    by_image: dict[str, Target] = {}
    without_image: list[str] = []
    for label in labels:
        image_id = _match(label, by_stem, source)
        if image_id is None:
            without_image.append(label.name)
        elif by_image.setdefault(image_id, label.target) != label.target:
            raise UserError(
                f"{source}:{label.line}: {label.name!r} is given the classes "
                f"{by_image[image_id]} and {label.target}; an image has one line"
            )
    _refuse_leftovers(listing, by_image, [] if superset else without_image, source)
    notes = [f"labels are those of {PurePosixPath(source).name}"]
    if any(label.by_number for label in labels):
        notes.append(BY_NUMBER)
    if superset and without_image:
        notes.append(f"{count(len(without_image), 'label')} of it without an image, by request")
    return by_image, tuple(notes)


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _stem(name: str) -> Stem:
    """Path parts, the last without an image's ending, or the wnid that Hugging Face adds."""
    parts = _parts(name) or ("",)
    start, dot, ending = parts[-1].rpartition(".")
    last = start if (dot + ending).lower() in IMAGE_ENDINGS else parts[-1]
    return (*parts[:-1], _WNID_BEHIND.sub(r"\1", last))


def _match(label: Label[Target], by_stem: Mapping[str, list[_Image]], source: str) -> str | None:
    """The image whose path ends as the name does, or the other way round."""
    stem = _stem(label.name)
    candidates = by_stem.get(stem[-1], [])
    matches = [image.id for image in candidates if _same_end(stem, image.stem)]
    if len(matches) > 1:
        last = _parts(label.name)[-1:]
        exact = [name for name in matches if _parts(name)[-1:] == last]
        matches = exact if len(exact) == 1 else matches
    if len(matches) > 1:
        raise UserError(
            f"{source}:{label.line}: {label.name!r} may be any of {name_some(matches)}; "
            "write the path below the folder"
        )
    return matches[0] if matches else None


def _same_end(first: Stem, second: Stem) -> bool:
    shorter = min(len(first), len(second))
    return first[-shorter:] == second[-shorter:]


def _refuse_leftovers(
    listing: Listing, by_image: Collection[str], without_image: list[str], source: str
) -> None:
    unlabelled = [image.id for image in listing.images if image.id not in by_image]
    if not unlabelled and not without_image:
        return
    wrong = []
    if unlabelled:
        wrong.append(
            f"{len(unlabelled):,} of {count(len(listing.images), 'image')} without a label "
            f"({name_some(unlabelled)})"
        )
    if without_image:
        wrong.append(
            f"{count(len(without_image), 'label')} without an image ({name_some(without_image)})"
        )
    raise UserError(
        f"{source} does not fit {listing.root}: {' and '.join(wrong)}; "
        "every image needs one label and every label an image"
        f"{'' if unlabelled else ' (--labels-superset allows labels of other images)'}"
    )


def _class_of_folder(listing: Listing, image: str) -> int | None:
    """Class index of the nearest folder above an image that is named by a wnid, if it has one."""
    folders = [listing.root.name, *image.split("/")[:-1]]
    wnid = next((name for name in reversed(folders) if WNID.fullmatch(name)), "")
    return wnid_to_index().get(wnid)


def _refuse_contradiction(listing: Listing, indices: dict[str, int], source: str) -> None:
    """Where an image also lies in a wnid folder, both have to say the same."""
    for image in listing.images:
        of_folder = _class_of_folder(listing, image.id)
        if of_folder not in (None, indices[image.id]):
            raise UserError(
                f"{source} gives {image.id!r} class {indices[image.id]}, but its folder "
                f"{wnids()[of_folder]} is class {of_folder}; leave --labels out or point at the "
                "right file"
            )
