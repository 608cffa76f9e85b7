"""From --data, --data-root and --without to the data sets of a run; none is left out silently."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...data.dataset import Dataset
from ...data.imagenet_c import PREFIX
from ...data.known_sets.table import IMAGENET, KNOWN_SETS, KnownSet, known_set, plain_name
from ...data.opening import open_dataset, split_name
from ...errors import UserError
from ..options.evaluation import OF_LABELS, EvalOptions

if TYPE_CHECKING:  # attacks need torch, which what images are does not
    from .conditions import ConditionRequest

NO_DATA = (
    "no --data is given; name an image folder, an archive of images, an .npz file, "
    "samples:imagenet or fashion-mnist:test1000"
)


class Sources(NamedTuple):
    """Where the images of a run are; each written as `open_dataset` takes it.

    Attributes:
        clean: of the data sets that the suite's own conditions are about.
        shifted: of the others, by name, in order.
        imagenet_c: the folder of ImageNet-C below --data-root.
        left_out: names that the suite has and --without takes away.
        summary: what --data-root holds, in a sentence; empty without it.
    """

    clean: tuple[str, ...]
    shifted: dict[str, str]
    imagenet_c: str | None = None
    left_out: tuple[str, ...] = ()
    summary: str = ""


def open_images(
    options: EvalOptions, spec: str, *, labels: bool = True, needs_labels: bool = True
) -> Dataset:
    """A data set, by all options that say what its images are.

    Args:
        options: as typed.
        spec: one of --data.
        labels: whether the options about labels are for this one.
        needs_labels: see `open_dataset`.

    Raises:
        UserError: as `open_dataset`.
    """
    return open_dataset(
        spec,
        limit=options.limit,
        seed=options.limit_seed,
        max_pixels=options.max_pixels,
        needs_labels=needs_labels,
        **({name: getattr(options, name) for name in OF_LABELS} if labels else {}),
    )


def one_data(options: EvalOptions, command: str) -> str:
    """The one --data of a command that takes no more.

    Raises:
        UserError: none, or several.
    """
    if not options.data:
        raise UserError(NO_DATA)
    if len(options.data) > 1:
        raise UserError(
            f"{command} takes the images of one --data, not of {len(options.data)}; give each a "
            "command, and an --out, of its own"
        )
    return options.data[0]


def find_sources(request: "ConditionRequest") -> Sources:
    """Find every data set that is asked for.

    Data sets named by --data are used as they are. The suite's others are looked for below
    --data-root. One that is nowhere is refused, unless --without leaves it out.

    Raises:
        UserError: a data set that is missing, unknown, given twice or contradictory.
    """
    options = request.options
    given = _given(options.data)
    if not options.data and options.data_root is None and request.clean:
        raise UserError(NO_DATA)
    root = Path(options.data_root).expanduser() if options.data_root is not None else None
    folders = find_below(root) if root is not None else {}
    left_out = _left_out(request, given, folders)
    names = dict.fromkeys((*request.shifted, *given.shifted))
    below = {name: f"{name}={path}" for name, path in folders.items()}
    shifted = {
        name: given.shifted.get(name) or below.get(name, "")
        for name in names
        if name not in left_out
    }
    clean = given.clean
    if not clean and IMAGENET not in left_out:
        clean = (below[IMAGENET],) if IMAGENET in below else ()
        if not clean and _needs_clean(request, given):
            shifted = {IMAGENET: "", **shifted}
    missing = [name for name, spec in shifted.items() if not spec]
    if missing:
        raise UserError(_missing(request.name, missing, root, folders))
    if not clean and not shifted:
        raise UserError(NO_DATA)
    used = {*shifted, *([IMAGENET] if clean else []), *([PREFIX] if request.corrupted else [])}
    return Sources(
        clean,
        shifted,
        str(folders[PREFIX]) if PREFIX in folders else None,
        left_out,
        _summary(root, folders, used) if root else "",
    )


class _Given(NamedTuple):
    clean: tuple[str, ...]
    shifted: dict[str, str]


def _given(specs: Sequence[str]) -> _Given:
    """The --data options: which are shifted sets by name, which are clean."""
    clean: list[str] = []
    shifted: dict[str, str] = {}
    for spec in specs:
        known, _ = split_name(spec)
        if known is None or not known.shifted:
            clean.append(spec)
        elif known.name in shifted:
            raise UserError(f"--data {known.name} is given twice; give one folder")
        else:
            shifted[known.name] = spec
    return _Given(tuple(clean), shifted)


def _left_out(
    request: "ConditionRequest", given: _Given, folders: dict[str, Path]
) -> tuple[str, ...]:
    """Names of --without, each of which something asks for and nothing gives."""
    texts = (request.options.without or "").split(",")
    names = tuple(dict.fromkeys(known_set(text.strip()).name for text in texts if text.strip()))
    clean = request.clean or IMAGENET in folders
    for name in names:
        if name in given.shifted or (name == IMAGENET and given.clean):
            raise UserError(
                f"--without {name} leaves out a data set that --data names; remove {name} from "
                "one of the two options"
            )
        if not (clean if name == IMAGENET else name in request.shifted):
            raise UserError(
                f"--without {name}: no data set of that name is part of this run; remove it from "
                "--without"
            )
    return names


def _needs_clean(request: "ConditionRequest", given: _Given) -> bool:
    """A suite that nobody named is not missed where another data set is given by name."""
    asked = request.options.suite is not None or request.corrupted
    return request.clean and (asked or not given.shifted)


def _missing(suite: str, names: Sequence[str], root: Path | None, folders: dict[str, Path]) -> str:
    where = "no --data names them" if len(names) > 1 else "no --data names it"
    if root is not None:
        holds = ", ".join(folders) if folders else "no data set known by name"
        where += f" and {root} holds {holds}"
    return (
        f"suite {suite} asks for {', '.join(names)}, but {where}; give --data {names[0]}=DIR, or "
        f"leave them out with --without {','.join(names)}"
    )


def find_below(root: Path) -> dict[str, Path]:
    """The known data sets below a folder by the usual names of their folders, and ImageNet-C.

    Raises:
        UserError: no such folder, or two folders for one data set.
    """
    try:
        folders = sorted(path for path in root.iterdir() if path.is_dir())
    except OSError as error:
        raise UserError(f"--data-root {root} cannot be read: {error.strerror}") from error
    by_name: dict[str, Path] = {}
    for known in KNOWN_SETS.values():
        usual = [path for path in folders if known.is_usual_folder(path.name)]
        if usual:
            by_name[known.name] = _one(known, usual)
    corrupted = [path for path in folders if plain_name(path.name) == PREFIX]
    if corrupted:
        by_name[PREFIX] = corrupted[0]
    return by_name


def _one(known: KnownSet, folders: Sequence[Path]) -> Path:
    """The one folder; of several variants the one that papers mean."""
    meant = [path for path in folders if known.is_main_variant(path.name)]
    if len(folders) > 1 and len(meant) == 1:
        return meant[0]
    if len(folders) > 1:
        names = " and ".join(path.name for path in folders)
        raise UserError(
            f"{folders[0].parent} has {names} for {known.name}; "
            f"say which by --data {known.name}=DIR"
        )
    return folders[0]


def _summary(root: Path, folders: dict[str, Path], used: set[str]) -> str:
    present = [
        f"{name} ({path.name}{'' if name in used else ', not used'})"
        for name, path in folders.items()
    ]
    absent = [name for name in (*KNOWN_SETS, PREFIX) if name not in folders]
    parts = [f"found {', '.join(present)}" if present else "found nothing known by name"]
    if absent:
        parts.append(f"not found {', '.join(absent)}")
    return f"{root}: {'; '.join(parts)}"
