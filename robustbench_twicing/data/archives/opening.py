"""What archives hold, as a listing like a folder's, and the labels that come with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import UserError
from ...files.printable import name_some
from ..folders.class_folders import BY_NUMBER, Labelled, check_range, why_unlabelled
from ..folders.class_list import MOST_CLASSES, OwnClasses
from ..folders.label_file import class_index
from ..folders.scanning import Listing, printable_name, scan
from ..imagenet import NUM_CLASSES, WNID, wnid_to_index
from .finding import Archives, find_archives
from .names import plain_member
from .parquet import LABEL_COLUMNS, LabelColumn, Rows, Value, list_all
from .parquet_row import ParquetRow
from .webdataset import label_by_neighbour, list_tars, without_neighbours

SOME_CLASSES = {
    0: "tench",
    1: "goldfish",
    207: "golden retriever",
    388: "giant panda",
    817: "sports car",
    954: "banana",
}
"""How the descriptions of some of ImageNet-1k's classes begin."""


class Packed(NamedTuple):
    """The images of a folder, or of archives.

    Attributes:
        listing: ids are what they would be had everything been unpacked.
        labelled: by labels that lie in archives; None where there are none but names of folders.
        archives: which ones; None for a folder.
    """

    listing: Listing
    labelled: Labelled | None = None
    archives: Archives | None = None

    @property
    def is_parquet(self) -> bool:
        """Whether a column could have had labels."""
        return self.archives is not None and self.archives.form == "parquet"

    @property
    def why_unlabelled(self) -> str:
        """What to give where nothing says the classes."""
        if not self.is_parquet:
            return why_unlabelled(self.listing)
        return (
            f"{self.listing.root} has no column of numbers or texts for labels "
            f"({', '.join(LABEL_COLUMNS)}); give --labels FILE with lines like "
            f"{self.listing.images[0].id},n01751748"
        )


def open_images(path: Path, classes: OwnClasses | None = None, *, labels: bool = True) -> Packed:
    """The images below a folder, or else those of its archives; or those of an archive.

    Args:
        path: a folder, an archive, or a pattern.
        classes: own classes.
        labels: whether labels that lie in archives are wanted.

    Raises:
        UserError: nothing there, or what is there is damaged.
    """
    listing = scan(path) if path.is_dir() else None
    if listing is not None and listing.images:
        return Packed(listing)
    archives = find_archives(path)
    if archives is not None:
        return open_archives(archives, path, classes, labels=labels)
    if listing is None:
        raise UserError(f"{path} is neither a folder nor a .tar or .parquet of images")
    return Packed(listing)


def open_archives(
    archives: Archives, asked: Path, classes: OwnClasses | None, *, labels: bool = True
) -> Packed:
    """Read what archives hold.

    Args:
        archives: which ones.
        asked: what stands for them, whose name is the data set's.
        classes: own classes.
        labels: whether labels that lie in them are wanted.

    Raises:
        UserError: they are damaged, hold no images, or labels that are none or contradict folders.
    """
    if archives.form == "parquet":
        every = list_all(archives.paths)
        listing = Listing(asked, _images(every), (), ())
        labelled = _by_column(every, listing, classes) if labels else None
        return Packed(listing, _agreeing(labelled, asked, classes), archives)
    contents = list_tars(archives.paths, asked)
    labelled = label_by_neighbour(contents, classes) if labels else None
    return Packed(without_neighbours(contents), _agreeing(labelled, asked, classes), archives)


def _agreeing(
    labelled: Labelled | None, asked: Path, classes: OwnClasses | None
) -> Labelled | None:
    """The same labels, if folders that are named by wnids say the same."""
    index = wnid_to_index()
    for image, label in zip(labelled.images, labelled.labels, strict=True) if labelled else ():
        folders = [part for part in image.id.split("/")[:-1] if part in index]
        if classes is None and folders and index[folders[-1]] != label:
            raise UserError(
                f"{asked}: {image.id} lies in a folder of class {index[folders[-1]]}, and its "
                f"label is {label}; give --labels FILE with what is right"
            )
    return labelled


def _images(every: Sequence[Rows]) -> tuple[ParquetRow, ...]:
    """Every row, by the image's name where all of them have one of their own, else by number."""
    total = sum(len(rows.sizes) for rows in every)
    names = [
        plain_member(rows.shard.path, printable_name(name or ""))
        for rows in every
        for name in rows.names
    ]
    if not (len(set(names)) == total and all(names)):
        names = [f"{number:06d}" for number in range(total)]
    places = [(rows.shard, row, size) for rows in every for row, size in enumerate(rows.sizes)]
    return tuple(ParquetRow(name, *place) for name, place in zip(names, places, strict=True))


def _by_column(
    every: Sequence[Rows], listing: Listing, classes: OwnClasses | None
) -> Labelled | None:
    """By the first column whose values are all classes; others that are, too, have to agree."""
    columns = every[0].columns.labels if listing.images else ()
    by_name, mistakes = dict[str, Labelled](), list[UserError]()
    for place, column in enumerate(columns):
        values = [label for rows in every for label in rows.labels[place]]
        try:
            by_name[column.name] = _by_values(column, values, listing, classes)
        except UserError as error:
            mistakes.append(error)
    if not by_name:
        for mistake in mistakes:
            raise mistake
        return None
    (first, labelled), *others = by_name.items()
    for name, other in others:
        if other.labels != labelled.labels:
            pairs = zip(listing.images, labelled.labels, other.labels, strict=True)
            image, one, two = next(pair for pair in pairs if pair[1] != pair[2])
            raise UserError(
                f"{listing.root}: columns {first} and {name} may both be the label, and contradict "
                f"each other: {image.id} has class {one} by {first} and {two} by {name}; write it "
                "without one of them, or give --labels FILE"
            )
    return labelled


def _by_values(
    column: LabelColumn, values: Sequence[Value], listing: Listing, classes: OwnClasses | None
) -> Labelled:
    """Labels from the values of one column."""
    wnids = all(WNID.fullmatch(text) for text in column.classes or map(str, set(values)))
    names = column.classes if wnids or classes is not None else ()
    _check_numbers(values, column.classes, listing, in_order=not names)
    by_value = {value: _index(value, names, classes, listing) for value in dict.fromkeys(values)}
    labels = tuple(by_value[value] for value in values)
    number = classes.num_classes if classes is not None else len(column.classes) or None
    if classes is None and wnids:
        number = NUM_CLASSES
    if number == NUM_CLASSES and classes is None:
        check_range(set(labels), str(listing.root), "labels")
    named = wnids or column.classes or classes is not None
    return Labelled(
        listing.images,
        labels,
        number,
        f"{'wnids' if wnids else 'class indices'} in column {column.name} of Parquet files",
        () if named else (BY_NUMBER,),
    )


def _check_numbers(
    values: Sequence[Value], names: Sequence[str], listing: Listing, *, in_order: bool
) -> None:
    """Refuse numbers that no class has, and 1000 classes in another order than ImageNet's."""
    numbers = {value for value in values if isinstance(value, int)} if names else set[int]()
    wrong = sorted(value for value in numbers if not 0 <= value < len(names))
    if wrong:
        raise UserError(f"{listing.root}: label {wrong[0]} is none of its {len(names)} classes")
    if numbers and in_order:
        _check_order(names, listing)


def _index(value: Value, names: Sequence[str], classes: OwnClasses | None, listing: Listing) -> int:
    """The class that a cell means: by its name where names are known, else as it stands."""
    if isinstance(value, int) and names:
        value = names[value]
    index = class_index(str(value), classes)
    most = MOST_CLASSES if classes is None else classes.num_classes or MOST_CLASSES
    if index is None or not 0 <= index < most:
        known = "a wnid or a class index" if classes is None else f"a class of {classes.source}"
        label = "an empty label" if value is None else f"label {value!r}"
        raise UserError(f"{listing.root}: {label} is not {known}; --classes FILE names them")
    return index


def _check_order(names: Sequence[str], listing: Listing) -> None:
    """Refuse 1000 classes that are not ImageNet's in their usual order."""
    if len(names) != NUM_CLASSES:
        return
    for index, begin in SOME_CLASSES.items():
        if not names[index].lower().replace("_", " ").startswith(begin):
            raise UserError(
                f"{listing.root} names 1000 classes, of which number {index} is "
                f"{name_some([names[index]])}, and not {begin} as in ImageNet-1k's sorted order; "
                "give --classes FILE with your own class list"
            )
