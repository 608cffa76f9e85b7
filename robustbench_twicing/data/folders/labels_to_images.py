"""Join a label file with the images of a folder; nothing may be left over on either side."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from ...errors import UserError
from ...files.printable import count, name_some
from ..imagenet import NUM_CLASSES, WNID, wnid_to_index
from .class_folders import Labelled, check_range
from .class_list import OwnClasses
from .label_file import Label
from .scanning import IMAGE_ENDINGS, Listing

Stem = tuple[str, ...]


class _Image(NamedTuple):
    id: str
    stem: Stem


def label_by_file(
    listing: Listing,
    labels: tuple[Label, ...],
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
    by_stem: dict[str, list[_Image]] = defaultdict(list)
    for image in listing.images:
        stem = _stem(image.id)
        by_stem[stem[-1]].append(_Image(image.id, stem))
    indices: dict[str, int] = {}
    without_image: list[str] = []
    for label in labels:
        image_id = _match(label, by_stem, source)
        if image_id is None:
            without_image.append(label.name)
        elif indices.setdefault(image_id, label.target) != label.target:
            raise UserError(
                f"{source}:{label.line}: {label.name!r} is given the classes "
                f"{indices[image_id]} and {label.target}; an image has one"
            )
    _refuse_leftovers(listing, indices, [] if superset else without_image, source)
    notes = [f"labels are those of {PurePosixPath(source).name}"]
    if superset and without_image:
        notes.append(f"{count(len(without_image), 'label')} of it without an image, by request")
    if classes is None:
        check_range(set(indices.values()), source, "labels")
        _refuse_contradiction(listing, indices, source)
    return Labelled(
        listing.images,
        tuple(indices[image.id] for image in listing.images),
        NUM_CLASSES if classes is None else classes.num_classes,
        f"label file {PurePosixPath(source).name}",
        tuple(notes),
    )


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _stem(name: str) -> Stem:
    """Path parts, the last without an image's ending."""
    parts = _parts(name) or ("",)
    start, dot, ending = parts[-1].rpartition(".")
    return (*parts[:-1], start) if (dot + ending).lower() in IMAGE_ENDINGS else parts


def _match(label: Label, by_stem: Mapping[str, list[_Image]], source: str) -> str | None:
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
    listing: Listing, indices: dict[str, int], without_image: list[str], source: str
) -> None:
    unlabelled = [image.id for image in listing.images if image.id not in indices]
    if not unlabelled and not without_image:
        return
    wrong = []
    if unlabelled:
        wrong.append(
            f"{len(unlabelled)} of {count(len(listing.images), 'image')} without a label "
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


def _refuse_contradiction(listing: Listing, indices: dict[str, int], source: str) -> None:
    """Where an image also lies in a wnid folder, both have to say the same."""
    for image in listing.images:
        folders = [listing.root.name, *image.id.split("/")[:-1]]
        wnid = next((name for name in reversed(folders) if WNID.fullmatch(name)), None)
        if wnid is not None and wnid_to_index().get(wnid) not in (None, indices[image.id]):
            raise UserError(
                f"{source} gives {image.id!r} class {indices[image.id]}, but its folder {wnid} is "
                f"class {wnid_to_index()[wnid]}; leave --labels out or point at the right file"
            )
