"""Table 2 of the Twicing paper: other test sets, and the errors under corruption."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from robustbench_twicing.errors import UserError

from ..corruption_error import CorruptionScore, extra_mean_ce, mean_ce
from ..corruption_rows import ATTACK, corruption_errors, corruption_rows
from ..merging import Runs
from ..notes import notes
from .cells import Need, about, fill, sheet_of
from .sheet import Column, Sheet

OTHER_SETS = {"imagenet-r": "ImageNet-R", "imagenet-a": "ImageNet-A"}
SCORES = (mean_ce, extra_mean_ce)
NAMES = (("mCE", "ImageNet-C"), ("mean CE", "ImageNet-C (extra)"))
MOST_MISSING = 6
"""Cells that a note names one by one."""


def shifts_table(runs: Runs, rows: pd.DataFrame) -> Iterator[Sheet]:
    """One table of the models that were shown any of these images; none where there is none.

    Args:
        runs: merged runs.
        rows: of their `results`, of one protocol.

    Raises:
        UserError: images of one column are from different sources or sets.
    """
    corrupted = rows[rows["attack"] == ATTACK]
    own = rows[rows["condition"].isin(list(OTHER_SETS)) | (rows["attack"] == ATTACK)]
    if own.empty:
        return
    needs = [
        Need(Column("top-1", title, best="highest", metric="top1"), condition)
        for condition, title in OTHER_SETS.items()
    ]
    cells = fill(runs, own, needs)
    scores = {str(label): _scores(corrupted, str(label)) for label in cells.frame.index}
    _check_one_source(corrupted)
    values = [[score.percent for score in scores[str(label)]] for label in cells.frame.index]
    frame = pd.concat(
        [cells.frame, pd.DataFrame(values, index=cells.frame.index, dtype=float)], axis=1
    )
    used = own.loc[[*cells.used.index, *corrupted.index]]
    said = [*_missing(scores), *_unit(corrupted, scores), *cells.notes, *notes(runs, used)]
    entries = np.pad(cells.entries, ((0, 0), (0, len(SCORES))), constant_values=-1)
    shown = cells._replace(
        frame=frame,
        entries=entries,
        columns=(*cells.columns, *(Column(*name, best="lowest") for name in NAMES)),
        about=about(used, list(cells.frame.index)),
        notes=tuple(dict.fromkeys(said)),
    )
    sheet = sheet_of("table2", "Top-1 accuracy and corruption errors, percent", shown)
    yield replace(sheet, name=sheet_name(used))


def sheet_name(used: pd.DataFrame) -> str:
    """Data sets are columns here, so the protocol alone tells two tables apart."""
    return f"table2-{used['protocol'].iloc[0]}"


def _scores(corrupted: pd.DataFrame, label: str) -> list[CorruptionScore]:
    errors = corruption_errors(corruption_rows(corrupted[corrupted["label"] == label]))
    return [score(errors) for score in SCORES]


def _check_one_source(corrupted: pd.DataFrame) -> None:
    places = corrupted.drop_duplicates(["dataset", "source"])
    if len(places) > 1:
        found = [
            f"{row['source']} on {row['dataset']} ({row['label']})" for _, row in places.iterrows()
        ]
        raise UserError(
            f"columns ImageNet-C would mix images of {' and '.join(found)}; report them separately"
        )


def _missing(scores: Mapping[str, list[CorruptionScore]]) -> Iterator[str]:
    for label, own in scores.items():
        for score in own:
            if score.incomplete:
                names = [f"{corruption}/{severity}" for corruption, severity in score.missing]
                more = f" and {len(names) - MOST_MISSING} more" if len(names) > MOST_MISSING else ""
                yield (
                    f"{label} has no {score.name}: not scored are "
                    f"{', '.join(names[:MOST_MISSING])}{more}."
                )


def _unit(corrupted: pd.DataFrame, scores: Mapping[str, list[CorruptionScore]]) -> Iterator[str]:
    units = {score.baseline for own in scores.values() for score in own if score.baseline}
    for source in corrupted["source"].unique():
        yield (
            f"Corruption errors are in percent of those of {', '.join(sorted(units))}; the "
            f"corrupted images are {source}."
        )
