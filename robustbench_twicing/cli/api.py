"""What a script calls; loaded on first use by ``robustbench_twicing.evaluate`` and ``results``."""

import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from reports import merge, with_worst, write_results
from reports import results as results_of

from ..data.crop_cache import cache_crops
from ..data.preprocessing import RGB
from ..errors import BrokenAttackError, UserError
from ..evaluation.progress import Report
from ..evaluation.runner import Options, Run, evaluate_models, units
from ..evaluation.tasks import Task, make_task
from ..records.manifest import SETTINGS
from ..records.run_folder import RunFolder
from .api_conditions import Conditions, read_conditions
from .api_functions import is_anonymous, usual_state
from .api_inputs import Data, open_data
from .api_messages import arguments_named
from .api_models import Model, lent, open_model
from .progress import computed, show_progress
from .request.constants import averaged, check_expectation, suite_attack

SHOWN = ("condition", "n_images", "top1", "top1_ci_low", "top1_ci_high", "status", "flags")
"""Columns of results.csv in the short view of a run."""


class EvaluatedRun(Run):
    """What `evaluate` returns: a run folder with its results.

    In a notebook it shows its results as a table.
    """

    def results(self) -> pd.DataFrame:
        """One row per condition, and the worst case where attacks are several (docs/results.md)."""
        return results_of(self.folder)

    def images(self) -> pd.DataFrame:
        """One row per condition and image: what was answered, and whether that is right."""
        records = self.records()
        scored = records["status"] == "ok"
        return records.assign(right=(records["rank"] == 0).where(scored))

    def __repr__(self) -> str:
        table = self.results()[list(SHOWN)].to_string(index=False, float_format="{:.1f}".format)
        return f"{self.folder.path}\n{table}"

    def _repr_html_(self) -> str:
        styled = (
            self.results()[list(SHOWN)].style.hide(axis="index").format(precision=1, escape="html")
        )
        return str(styled.to_html())


@arguments_named()
def evaluate(
    model: Model,
    data: Data,
    conditions: Conditions = "clean",
    *,
    out: str | Path | None = None,
    limit: int | None = None,
    limit_seed: int = 0,
    mean: RGB | None = None,
    std: RGB | None = None,
    num_classes: int | None = None,
    progress: bool | Report = False,
    strict: bool = False,
    seed: int = 0,
    batch_size: int = 32,
    label: str | None = None,
    device: str = "auto",
    on_bad_image: str = "stop",
    workers: int = 1,
    cache: str | Path | None = None,
    score_8bit: str | None = None,
    survivors: bool = False,
    expectation: int = 1,
    draws: int = 1,
) -> EvaluatedRun:
    """Evaluate one model on one data set under some conditions, and write results.csv.

    Args:
        model: a `Classifier` of `load_model`, a name like ``fmnist_deit=bundled``, or a module that
            takes pixels (N, 3, H, W) in [0, 1], or with ``mean`` and ``std`` normalised input.
        data: a folder, a name, a `Dataset`, a pair of images and labels (tensors or arrays; uint8,
            or float32 multiples of 1/255), or a `Dataset` or `DataLoader` of torch.
        conditions: names as on the command line (``"pgd@4/255"``, ``"imagenet-c/fog/3"``), one or
            a list; or a mapping from id to function, ``{"clean": None, "mine@4/255": mine}``. A
            function is called as ``(model, x, y)``, with ``eps`` and ``generator`` (one per image)
            where it takes them; an object with a model of its own, like an attack of torchattacks,
            as ``(x, y)``. The budget in the id is the one that its result is checked against. A
            function of this package draws the random numbers of the command line.
        out: run folder; one that exists is continued. None: a temporary one.
        limit: evaluate this many images, spread over the classes.
        limit_seed: of the choice of these images.
        mean: of the normalisation that a plain module expects, per channel.
        std: likewise.
        num_classes: length of the label space, where the data do not say it.
        progress: show it on standard error; or a function that is told of every `Step`.
        strict: raise where an attack failed, in place of an error row.
        seed: base seed of every random stream.
        batch_size: images per batch.
        label: name in tables; default the model's name.
        device: ``auto``, ``cpu`` or ``cuda``.
        on_bad_image: ``stop`` at an image that cannot be decoded, or ``skip`` and list it.
        workers: processes that read and corrupt images. With more than 1 the calling script needs
            ``if __name__ == "__main__":``, as for all of `multiprocessing`.
        cache: folder in which decoded crops are kept; None keeps none.
        score_8bit: adversarial images that are scored rounded to 8 bits, too: ``sample`` or
            ``all``; None: a sample, or as the run began.
        survivors: attack only images that no attack before has fooled, the cheapest attack first;
            single attacks then have no accuracy, and their worst case has.
        expectation: of a model that draws random numbers, attacks of this suite follow the mean
            gradient of so many draws.
        draws: of such a model, in each of which every image is scored, 1 to 32; results have the
            mean and the standard deviation of top-1 over them.

    Raises:
        TypeError: a model, data, conditions or number of a kind that is not accepted; it names
            what is.
        UserError: a condition without a budget, a folder of another run, labels that do not fit,
            or a run folder to be continued with a function that has no name.
        BadImageError: an image that cannot be decoded, with its path.
        BrokenAttackError: an attack failed, and ``strict``.
    """
    whole = {"limit_seed": limit_seed, "seed": seed, "batch_size": batch_size, "workers": workers}
    whole |= {"expectation": expectation, "draws": draws}
    _check_whole(whole, optional={"limit": limit, "num_classes": num_classes})
    options = Options(
        seed=seed,
        batch_size=batch_size,
        on_bad_image=on_bad_image,
        device=device,
        workers=workers,
        score_8bit=score_8bit,
        survivors=survivors,
        draws=draws,
    )
    dataset = open_data(data, limit=limit, seed=limit_seed, num_classes=num_classes)
    if cache is not None:
        dataset = cache_crops(dataset, Path(cache))
    temporary = tempfile.TemporaryDirectory() if out is None else None
    path = Path(temporary.name, "run") if temporary is not None else Path(out or "").expanduser()
    with usual_state(), lent(model), _removed_on_failure(temporary):
        classifier = open_model(model, dataset, mean, std)
        asked = read_conditions(conditions, classifier)
        check_expectation(expectation, map(suite_attack, asked))
        task = make_task(dataset, averaged(asked, expectation), draws)
        _check_named(path, conditions)
        models = {label or classifier.record.model: classifier}
        with _progress(progress, task) as report:
            done = evaluate_models(models, [task], out=path, options=options, report=report)
        run = EvaluatedRun(done.folder)
        write_results(run.folder)
        if strict:
            _raise_failures(run)
    if temporary is not None:
        weakref.finalize(run.folder, temporary.cleanup)
    return run


@arguments_named()
def results(*folders: str | Path) -> pd.DataFrame:
    """The results of run folders, merged: one row per label, data set, protocol and condition.

    Where a label has several attacks, rows ``worst@e`` are the worst case over all of them.

    Raises:
        UserError: not a run folder, a damaged part, or runs that contradict each other.
    """
    return results_of(with_worst(merge([RunFolder.open(Path(folder)) for folder in folders])))


@contextmanager
def _removed_on_failure(temporary: "tempfile.TemporaryDirectory[str] | None") -> Iterator[None]:
    try:
        yield
    except BaseException:
        if temporary is not None:
            temporary.cleanup()
        raise


def _check_whole(whole: Mapping[str, object], optional: Mapping[str, object]) -> None:
    given = {name: value for name, value in optional.items() if value is not None}
    for name, value in {**whole, **given}.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name}={value!r} is not a whole number")


def _check_named(path: Path, conditions: Conditions) -> None:
    functions = conditions.values() if isinstance(conditions, Mapping) else ()
    if (path / SETTINGS).exists() and any(map(is_anonymous, functions)):
        raise UserError(
            f"{path} would be continued with a function that has no name (a lambda, or one made "
            "inside another function), so that nothing tells whether it is the same; define it at "
            "the top of a module, or use another out="
        )


@contextmanager
def _progress(progress: bool | Report, task: Task) -> Iterator[Report]:
    if callable(progress):
        yield progress
        return
    images, conditions = len(task.data), task.conditions
    passes = images * units(conditions)
    keys = computed(conditions)
    with show_progress(images, passes, conditions=keys, hidden=not progress) as report:
        yield report


def _raise_failures(run: EvaluatedRun) -> None:
    records = run.records()
    failed = records[records["status"] == "error"]
    if len(failed):
        first = failed.iloc[0]
        raise BrokenAttackError(
            f"{failed['condition'].nunique()} of the conditions failed, the first "
            f"{first['condition']} at {first['image']}: {first['message']}"
        )
