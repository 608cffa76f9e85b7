"""One door to all data: a folder, a known test set, an array file, Fashion-MNIST, or samples."""

import os
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..errors import UserError
from ..files.printable import count
from ..registry import nearest
from .archives.finding import find_archives
from .archives.opening import Packed, open_images
from .arrays import open_arrays
from .dataset import Dataset, limit_dataset
from .fashion_mnist import CUT, is_fashion_mnist, open_fashion_mnist
from .folders.class_folders import label_by_folder, says_classes, without_labels
from .folders.class_list import OwnClasses, order_of_wnids, read_classes
from .folders.image_files import FileImages, files_dataset
from .folders.labels_to_images import label_images
from .folders.scanning import check_has_images
from .folders.tiny_imagenet import TinyImageNet, find_tiny_imagenet, tiny_classes
from .imagenet_c import PREFIX
from .known_sets.checks import with_remark
from .known_sets.opening import open_known
from .known_sets.robustbench import with_robustbench_note
from .known_sets.table import KNOWN_SETS, KnownSet, known_set
from .samples import SAMPLES, open_samples

ARRAY_ENDINGS, PACKED = (".npz", ".npy"), (".zip", ".gz", ".7z", ".rar")
RIGHT_FORM = (
    f"right are a folder of images, a .tar or .parquet of them, NAME=FOLDER of a known test set "
    f"({', '.join(KNOWN_SETS)}), an array file (.npz, .npy), {SAMPLES}, {CUT} or "
    "fashion-mnist:FOLDER"
)
StrPath = str | os.PathLike[str]


class Named(NamedTuple):
    """A data set as asked for: a known one and its folder, or anything else and None."""

    known: KnownSet | None
    spec: str


def split_name(spec: str) -> Named:
    """``imagenet-a=DIR`` as name and folder; anything else is no known set.

    Raises:
        UserError: a name before ``=`` that no set has.
    """
    name, equals, path = spec.partition("=")
    if not equals or "/" in name or Path(spec).exists():
        return Named(None, spec)
    if name == PREFIX:
        raise UserError(
            f"{spec}: ImageNet-C's images take the place of clean ones; give those as --data, and "
            f"--imagenet-c {path}"
        )
    return Named(known_set(name), path)


def open_dataset(
    spec: StrPath,
    *,
    labels: StrPath | None = None,
    classes: StrPath | None = None,
    limit: int | None = None,
    seed: int = 0,
    needs_labels: bool = True,
    labels_superset: bool = False,
    class_order: str | None = None,
    max_pixels: int | None = None,
) -> Dataset:
    """Open labelled images; nothing is decoded yet.

    ``NAME=DIR`` opens a test set that is known by name (see `KNOWN_SETS`), with the rule of its
    score: ``imagenet-a=DIR`` is scored over its 200 classes. A plain folder's images are labelled
    by their class folders (wnids, or class indices 0 to 999; an image belongs to the nearest class
    folder above it), by ``labels``, or by ``classes``. Hidden files are ignored, links are
    followed.

    Args:
        spec: a folder; ``NAME=DIR``; ``.npz`` with ``images`` and ``labels``; ``.npy`` with images,
            and ``labels`` another; a folder of ``images.npy`` and ``labels.npy``;
            ``samples:imagenet``; ``fashion-mnist:test1000``, ``fashion-mnist:DIR`` (its test split)
            or ``fashion-mnist-train:DIR``.
        labels: label file: CSV (file, wnid or index) or lines of a name and a label.
        classes: own classes: a text file, one folder name a line, or JSON name -> index.
        limit: keep this many images, spread over the classes (see `limit_dataset`).
        seed: of that choice.
        needs_labels: False where images without labels are taken, too, as one class, with a note.
        labels_superset: whether ``labels`` may name images that are not here.
        class_order: of Tiny ImageNet's classes: ``sorted``, or ``file`` as its list has them.
        max_pixels: largest width times height that is decoded; None for Pillow's own limit.

    Raises:
        UserError: nothing there, no images, labels that cannot be trusted, not the set that the
            name says, or a seed without a limit.
    """
    if limit is None and seed:
        raise UserError(f"--limit-seed {seed} chooses the images of --limit; give --limit, too")
    if max_pixels is not None and max_pixels < 1:
        raise UserError(f"--max-pixels {max_pixels} decodes nothing; give 1 or more")
    known, path = split_name(os.fspath(spec))
    if known is not None and (labels is not None or classes is not None):
        raise UserError(
            f"{known.name} has labels of its own; leave --labels and --classes out, or give plain "
            f"--data {path}"
        )
    asked = LabelRequest(
        _absolute(labels) if labels is not None else None,
        read_classes(_absolute(classes)) if classes is not None else None,
        needs_labels,
        labels_superset,
        class_order,
    )
    _check_used(asked, known)
    if known is not None:
        dataset = open_known(known, _absolute(path))
    else:
        dataset = _open(path, asked)
        dataset = dataset.remarked(order_of_wnids(asked.classes) if asked.classes else ())
    if max_pixels is not None and isinstance(dataset.images, FileImages):
        dataset = replace(dataset, images=replace(dataset.images, most_pixels=max_pixels))
    chosen = dataset if limit is None else limit_dataset(dataset, limit, seed=seed)
    return with_robustbench_note(chosen)


class LabelRequest(NamedTuple):
    """How images get their labels; see `open_dataset`."""

    file: Path | None
    classes: OwnClasses | None
    needed: bool
    superset: bool
    class_order: str | None


def _check_used(asked: LabelRequest, known: KnownSet | None) -> None:
    if asked.superset and asked.file is None:
        raise UserError("--labels-superset is about a label file; give --labels FILE, too")
    if asked.class_order is not None and (known or asked.file or asked.classes):
        raise UserError(
            "--class-order is about Tiny ImageNet as it is downloaded; leave it, or --labels, "
            "--classes and the name of another set, out"
        )


def _open(spec: str, asked: LabelRequest) -> Dataset:
    if spec.startswith("samples:"):
        if spec != SAMPLES:
            raise UserError(f"no samples are called {spec!r}; there is {SAMPLES}")
        _refuse_labels(SAMPLES, asked)
        return open_samples()
    if is_fashion_mnist(spec):
        _refuse_labels("fashion-mnist", asked)
        return open_fashion_mnist(spec)
    path = _absolute(spec)
    if path.is_dir() or find_archives(path) is not None:
        return _open_images(path, asked)
    if not path.exists():
        raise UserError(f"no data at {path};{_meant(spec)} {RIGHT_FORM}")
    if path.suffix.lower() not in ARRAY_ENDINGS:
        raise UserError(f"{path} is a single file; {RIGHT_FORM}{_unpack(path)}")
    _refuse_order(str(path), asked)
    return open_arrays(path, asked.file, asked.classes)


def _meant(spec: str) -> str:
    """A question where a spec is almost one that is known, or what lies there; else nothing."""
    forms = {other.name.replace("_", "-"): other.name for other in Path(spec).parent.glob("*")}
    forms |= {SAMPLES: SAMPLES, SAMPLES.partition(":")[0]: SAMPLES, CUT: CUT, "fashion-mnist": CUT}
    forms |= {name: f"{name}=FOLDER" for name in KNOWN_SETS}
    near = nearest(Path(spec).name.replace("_", "-"), forms, cutoff=0.8)
    return f" did you mean {forms[near]}?" if near else ""


def _refuse_labels(name: str, asked: LabelRequest) -> None:
    if asked.file is not None or asked.classes is not None:
        raise UserError(f"{name} has labels of its own; leave --labels and --classes out")
    _refuse_order(name, asked)


def _refuse_order(name: str, asked: LabelRequest) -> None:
    if asked.class_order is not None:
        raise UserError(
            f"--class-order {asked.class_order}: {name} is not Tiny ImageNet as it is downloaded, "
            "with val/images, val/val_annotations.txt and wnids.txt"
        )


def _open_images(path: Path, asked: LabelRequest) -> Dataset:
    tiny = find_tiny_imagenet(path) if asked.file is None and asked.classes is None else None
    if tiny is not None:
        return _open_tiny(tiny, asked)
    _refuse_order(str(path), asked)
    packed = open_images(path, asked.classes, labels=asked.file is None)
    array = path / "images.npy"
    if array.is_file() and asked.file is None:
        if packed.listing.images:
            raise UserError(
                f"{path} holds images.npy and {count(len(packed.listing.images), 'image file')}; "
                "point at one of them: images.npy with --labels labels.npy, or the image folder"
            )
        return open_arrays(array, path / "labels.npy", asked.classes, name=path.name)
    return _labelled(packed, asked)


def _open_tiny(tiny: TinyImageNet, asked: LabelRequest) -> Dataset:
    name = tiny.wnids.parent.name
    if not asked.needed and asked.class_order is None:
        listing = open_images(tiny.images).listing
        why = "its classes are numbered by --class-order sorted, or file, as a network learned them"
        return files_dataset(listing, without_labels(listing, why), name=name)
    classes = tiny_classes(tiny, asked.class_order)
    asked = asked._replace(file=tiny.annotations, classes=classes)
    dataset = _labelled(open_images(tiny.images, classes, labels=False), asked)
    notes = (*dataset.notes, f"classes are numbered by {classes.source}")
    return replace(dataset, name=name, notes=notes).remarked(order_of_wnids(classes))


def _labelled(packed: Packed, asked: LabelRequest) -> Dataset:
    """Images with the labels of a file, of their archives, or of their folders."""
    listing, labelled, classes = packed.listing, packed.labelled, asked.classes
    check_has_images(listing)
    by_folder = classes is not None or says_classes(listing)
    if asked.file is not None:
        others = tuple(item for item in listing.others if listing.root / item.id != asked.file)
        listing = replace(listing, others=others)
        labelled = label_images(listing, asked.file, classes, superset=asked.superset)
    elif labelled is None and (asked.needed or by_folder):
        if not by_folder and packed.is_parquet:
            raise UserError(packed.why_unlabelled)
        labelled = label_by_folder(listing, classes)
    elif labelled is None:
        labelled = without_labels(listing, packed.why_unlabelled)
    notes, name = labelled.notes, listing.root.name
    if packed.archives is not None:
        notes = (*notes, *packed.archives.notes)
        name = name.removesuffix(".tar").removesuffix(".parquet")
    return with_remark(files_dataset(listing, labelled, notes=notes, name=name))


def _absolute(path: StrPath) -> Path:
    """An absolute path in which links keep their names: a data set is called what it was given."""
    return Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - resolve() follows links


def _unpack(path: Path) -> str:
    return "; unpack the archive first" if path.suffix.lower() in PACKED else ""
