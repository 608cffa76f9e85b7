"""How far a run folder is: opened as the one of a request, its files looked after."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ...classifiers.device import choose_device
from ...classifiers.precision import check_precision
from ...conditions.condition import Condition
from ...data.image_maker import Maker
from ...data.preprocessing import Preprocessing
from ...errors import UserError
from ...files.atomic import is_there
from ...files.printable import count, name_some
from ...records.compaction import compact
from ...records.failures import Attempted, Work, quarantine_damaged_parts
from ...records.manifest import SETTINGS, Evaluation
from ...records.run_folder import RunFolder
from ..manifest import make_manifest
from ..options import PART_OF_AUTO, Options
from ..tasks import RunRequest, Task
from ..validation import check_request, check_survivors, needs_networks
from .same_images import check_same_images

Advance = Callable[[int, int], None]
"""Told how many of how many are done."""
MOST_NAMES = 4
"""Evaluations that one line names."""


def unseen(done: int, total: int) -> None:
    """Tells nobody."""


class Standing(NamedTuple):
    """How far the work of one process on a run folder is.

    Attributes:
        folder: of the run.
        works: what is to be done for each evaluation, in the order in which the run was begun.
        attempted: counts the error rows that are computed again.
        begun: whether the run was there before.
    """

    folder: RunFolder
    works: tuple[Work, ...]
    attempted: Attempted
    begun: bool

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return not any(unfinished(work) for work in self.works)

    def __str__(self) -> str:
        total = sum(_images(work, work.parts) for work in self.works)
        left = [part for work in self.works for part in _left(work)]
        words = "the 1 image is" if total == 1 else f"all {total:,} images are"
        words += " evaluated"
        if left:
            images = sum(part.images for part in left)
            are = "is" if images == 1 else "are"
            words = f"{images:,} of {count(total, 'image')} {are} left: "
            words += name_some(map(str, left), MOST_NAMES)
        failed = {key.partition(":")[2] for part in left for key in part.failed}
        if failed:
            words += f"; error rows under {name_some(sorted(failed))} are computed again"
        return f"{self.folder.path}: {words}"


class _Left(NamedTuple):
    """Images of an evaluation that are to be computed: all of it, or their error rows alone.

    Attributes:
        images: how many.
        evaluation: as in the manifest.
        failed: keys of the conditions with error rows; none where all of it is computed.
    """

    images: int
    evaluation: Evaluation
    failed: frozenset[str] = frozenset()

    def __str__(self) -> str:
        of = self.evaluation
        conditions = count(len(self.failed or of.conditions), "condition")
        return f"{self.images:,} of {of.label} on {of.dataset.name} under {conditions}"


def unfinished(work: Work) -> list[int]:
    """The parts that are still to be computed, in order, by one look into the folder."""
    missing = set(work.folder.missing(work.evaluation))
    again = {part for part in work.failed if not work.is_finished(part)}
    return [part for part in work.parts if part in missing or part in again]


def _images(work: Work, parts: Sequence[int]) -> int:
    size, images = work.folder.manifest.part_size, work.evaluation.dataset.n_images
    return sum(min(size, images - part * size) for part in parts)


def _left(work: Work) -> Iterator[_Left]:
    parts = unfinished(work)
    missing = [part for part in parts if part not in work.failed]
    if missing:
        yield _Left(_images(work, missing), work.evaluation)
    failed = [
        of for part in parts if part in work.failed for of in work.failed[part].failed.items()
    ]
    if failed:
        images = frozenset[int]().union(*(positions for _, positions in failed))
        yield _Left(len(images), work.evaluation, frozenset(key for key, _ in failed))


def open_run(request: RunRequest, advance: Advance = unseen) -> Standing:
    """Refuse what could not be evaluated, open or begin the run, and see what is there.

    Damaged files are set aside. A run that is there needs no networks for that.

    Args:
        request: what is asked for.
        advance: told of every evaluation that was looked at, and how many there are.

    Raises:
        UserError: as `evaluate_models`.
    """
    options, out = request.options, request.out
    classes = check_request(request.models, request.tasks)
    if options.survivors:
        check_survivors(request.tasks)
    device = choose_device(options.device)
    check_precision(options.attack_precision, device)
    before = RunFolder.open(out) if is_there(out / SETTINGS) else None
    size = options.part_size or options.batch_size or PART_OF_AUTO
    manifest = make_manifest(
        request,
        classes=classes,
        part_size=size if before is None else before.manifest.part_size,
        device=device.type,
        remarks=before is None,
    )
    if before is None:
        folder = RunFolder.create_or_continue(out, manifest)
    else:
        folder = before.continued_by(manifest)
    _check_score_8bit(folder, options)
    attempted, works = Attempted(), list[Work]()
    for evaluation in folder.manifest.evaluations:
        works.append(_work(folder, evaluation, options, attempted))
        advance(len(works), len(folder.manifest.evaluations))
    return Standing(folder, tuple(works), attempted, before is not None)


def look(request: RunRequest, advance: Advance = unseen) -> Standing | None:
    """How far a run is that was begun, by what is known of its models; as `open_run`.

    Nothing is finished here that would not be for `evaluate_models`: of a run with nothing left,
    small files become large ones, and images of its parts are compared with what they were.

    Returns:
        None where there is no run, or where only networks can tell.

    Raises:
        UserError: as `evaluate_models`.
    """
    if not is_there(request.out / SETTINGS) or needs_networks(request.tasks):
        return None
    standing = open_run(request, advance)
    if standing.finished:
        by_name = {task.data.name: task for task in request.tasks}
        for work in standing.works:
            of = work.evaluation
            compact(standing.folder, of, lambda: False, request.options.shard.count)
            seen_as = request.models[of.label].preprocessing
            prepare(work, by_name[of.dataset.name], seen_as, request.options)
    return standing


class Prepared(NamedTuple):
    """What makes the images of an evaluation, and its conditions in the order of the run."""

    maker: Maker
    conditions: list[Condition]


def prepare(work: Work, task: Task, preprocessing: Preprocessing, options: Options) -> Prepared:
    """What an evaluation is computed from, once its images are those of the parts that are there.

    Raises:
        UserError: as `check_same_images`.
    """
    by_key = {condition.key: condition for condition in task.conditions}
    conditions = [by_key[key] for key in work.evaluation.conditions]
    sources = {one.key: one.images for one in conditions if one.images is not None}
    size = work.folder.manifest.part_size
    maker = Maker(task.data, preprocessing, sources, options.seed, size)
    check_same_images(work.folder, work.evaluation, maker, conditions)
    return Prepared(maker, conditions)


def _check_score_8bit(folder: RunFolder, options: Options) -> None:
    score_8bit = folder.manifest.score_8bit
    if options.score_8bit not in (None, score_8bit):
        raise UserError(
            f"{folder.path} was begun with --score-8bit {score_8bit}, not {options.score_8bit}; "
            "leave the option out, or use another --out"
        )


def _work(
    folder: RunFolder, evaluation: Evaluation, options: Options, attempted: Attempted
) -> Work:
    parts = options.shard.parts(range(folder.part_count(evaluation)))
    # Before a finished run is taken for one that needs no note of who worked on it.
    quarantine_damaged_parts(folder, evaluation, parts, options.shard.first_parts(parts))
    return Work(folder, evaluation, parts, attempted)
