"""WebDataset archives: every image has its label beside it, under the same name."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from ...errors import UserError
from ...files.printable import count, name_some
from ..dataset import Skipped
from ..folders.class_folders import BY_NUMBER, Labelled, check_range
from ..folders.class_list import OwnClasses
from ..folders.label_file import Label, class_index
from ..folders.scanning import Listing
from ..imagenet import NUM_CLASSES, WNID
from ..stored import read
from .tar import Contents, list_each
from .tar_member import TarMember

CLASS, FACTS = ".cls", ".json"
"""Endings of labels: a number or a wnid as text, or a JSON object with one of these keys."""
KEYS = ("cls", "label", "class", "target", "wnid", "class_name")
LARGEST_LABEL = 2**20


def list_tars(paths: Sequence[Path], asked: Path) -> Contents:
    """The members of one archive or several, in order of their names.

    Where archives have files of samples of one name, ids have the archive's name before them.

    Raises:
        UserError: as `list_each`, or archives that would have to be told apart by equal names.
    """
    contents = list_each(paths)
    if len(contents) == 1:
        return contents[0]
    if _share_samples(contents):
        prefixes = Counter(map(_prefix, paths))
        prefix, number = prefixes.most_common(1)[0]
        if number > 1:
            raise UserError(
                f"{asked} stands for {number} archives called {prefix} that hold files of the same "
                "names; name one of them, or rename them"
            )
        contents = [_prefixed(content, f"{_prefix(content.listing.root)}/") for content in contents]
    listings = [content.listing for content in contents]
    members = tuple(
        sorted((m for content in contents for m in content.members), key=lambda member: member.id)
    )
    above = {str(parent) for member in members for parent in PurePosixPath(member.id).parents}
    listing = Listing(
        asked,
        members,
        tuple(sorted(other for listing in listings for other in listing.others)),
        tuple(sorted({name for listing in listings for name in listing.empty} - above)),
        tuple(sorted({name for listing in listings for name in listing.hidden})),
    )
    texts = {name: text for content in contents for name, text in content.texts.items()}
    return Contents(listing, texts, members)


def _share_samples(contents: Sequence[Contents]) -> bool:
    """Whether files of samples of one name are in two archives, be it an image or its label."""
    images = {_key(member.id) for content in contents for member in content.members}
    counts = Counter[str]()
    for content in contents:
        names = (*(member.id for member in content.members), *content.texts)
        counts.update(images.intersection(map(_key, names)))
    return max(counts.values(), default=0) > 1


def _prefix(archive: Path) -> str:
    """Its name; that of a numbered part is not to be taken for a class."""
    return archive.name if archive.stem.isdigit() else archive.stem


def _prefixed(content: Contents, prefix: str) -> Contents:
    """With the archive's name before every id; messages name the member as it is."""
    tars = {member.tar for member in (*content.members, *content.texts.values())}
    renamed = {tar: replace(tar, prefix=prefix) for tar in tars}
    members = tuple(m._replace(id=prefix + m.id, tar=renamed[m.tar]) for m in content.members)
    others = tuple(Skipped(prefix + item.id, item.reason) for item in content.listing.others)
    return Contents(
        replace(content.listing, images=members, others=others),
        {prefix + name: member for name, member in content.texts.items()},
        members,
    )


def label_by_neighbour(contents: Contents, classes: OwnClasses | None) -> Labelled | None:
    """Labels from the files beside the images; None where these are not in this form.

    Raises:
        UserError: images without a label, or a label that is none.
    """
    listing = contents.listing
    ending = next((ending for ending in (CLASS, FACTS) if _are_there(contents, ending)), None)
    if ending is None:
        return None
    beside = _beside(contents, ending)
    without = [image.id for image in listing.images if _key(image.id) not in beside]
    if without:
        raise UserError(
            f"{listing.root}: {len(without):,} of {count(len(listing.images), 'image')} have no "
            f"{ending} file beside them ({name_some(without)})"
        )
    labels = [_label(beside[_key(image.id)], ending, classes) for image in listing.images]
    indices = tuple(label.target for label in labels)
    if classes is None:
        check_range(set(indices), str(listing.root), "labels")
    return Labelled(
        listing.images,
        indices,
        NUM_CLASSES if classes is None else classes.num_classes,
        f"WebDataset: {ending} files beside the images",
        (BY_NUMBER,) if any(label.by_number for label in labels) else (),
    )


def _beside(contents: Contents, ending: str) -> dict[str, TarMember]:
    """Labels of the samples that have an image."""
    keys = {_key(image.id) for image in contents.listing.images}
    beside = dict[str, TarMember]()
    for name, member in contents.texts.items():
        key = _key(name)
        if not name.endswith(ending) or key not in keys:
            continue
        if key in beside:
            raise UserError(
                f"{contents.listing.root}: {beside[key].id} and {member.id} are labels of one "
                f"sample, {key!r}, as its name ends at the first dot; pack it anew without other "
                "dots in names, or give --labels FILE"
            )
        beside[key] = member
    return beside


def without_neighbours(contents: Contents) -> Listing:
    """The listing without the files that say something of an image and are none."""
    keys = {_key(image.id) for image in contents.listing.images}
    others = tuple(item for item in contents.listing.others if _key(item.id) not in keys)
    return replace(contents.listing, others=others)


def _are_there(contents: Contents, ending: str) -> bool:
    keys = {_key(image.id) for image in contents.listing.images}
    members = [m for n, m in contents.texts.items() if n.endswith(ending) and _key(n) in keys]
    return bool(members) and (ending == CLASS or any(key in _facts(members[0]) for key in KEYS))


def _key(name: str) -> str:
    """What the files of one sample share: the name up to the first dot of its last part."""
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition('.')[0]}"


def _facts(member: TarMember) -> Mapping[str, Any]:
    text = _text(member)
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{member} is not JSON ({error})") from error
    return facts if isinstance(facts, dict) else {}


def _text(member: TarMember) -> str:
    if member.size > LARGEST_LABEL:
        raise UserError(f"{member} has {member.size:,} bytes; a label has few")
    try:
        return read(member).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{member} is not UTF-8 text") from error


def _label(member: TarMember, ending: str, classes: OwnClasses | None) -> Label[int]:
    if ending == CLASS:
        texts = [_text(member).strip()]
    else:
        facts = _facts(member)
        texts = [str(facts[key]) for key in KEYS if key in facts]
    known = {index for text in texts if (index := class_index(text, classes)) is not None}
    if len(known) != 1:
        listed = ", ".join(texts) or "nothing"
        raise UserError(
            f"{member} gives {'several classes' if known else 'no class'} ({listed[:80]}); right "
            f"is a class index or a wnid{f', or a name of {classes.source}' if classes else ''}"
        )
    by_number = classes is None and not any(WNID.fullmatch(text) for text in texts)
    return Label(1, member.id, known.pop(), by_number)
