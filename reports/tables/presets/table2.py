"""Table 2 of the Twicing paper: other test sets, and the errors under corruption."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from robustbench_twicing.errors import UserError

from ...imagenet_c.corruption_rows import ATTACK
from ...imagenet_c.corruption_scores import corruption_scores, shortened
from ...merging.runs import Runs
from ...metrics.notes import notes, some
from ..cells import Need, about, fill, sheet_of
from ..sheet import Column, Sheet
from . import Choices, preset

OTHER_SETS = {"imagenet-r": "ImageNet-R", "imagenet-a": "ImageNet-A"}
SCORES = {
    "mCE": Column("mCE", "ImageNet-C", best="lowest"),
    "mean CE of the 4 extra corruptions": Column("mean CE", "ImageNet-C (extra)", best="lowest"),
}
"""Numbers of `corruption_scores` and the columns that show them."""


@preset("table2", by=("protocol",), on_page=True)
def table2(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Sheet]:
    """One table of the models that were shown any of these images; none where there is none.

    Raises:
        UserError: images of one column are from different sources or sets.
    """
    corrupted = rows[rows["attack"] == ATTACK]
    _check_one_source(corrupted)
    own = rows[rows["condition"].isin(list(OTHER_SETS)) | (rows["attack"] == ATTACK)]
    if own.empty:
        return
    needs = [
        Need(Column("top-1", title, best="highest", metric="top1"), condition)
        for condition, title in OTHER_SETS.items()
    ]
    cells = fill(runs, own, needs)
    scores = corruption_scores(rows, baseline=choices.baseline)
    scores = scores[scores["number"].isin(list(SCORES))]
    errors = scores.set_index(["label", "number"])["percent"].unstack("number")
    errors = errors.reindex(index=cells.frame.index, columns=list(SCORES))
    used = own.loc[[*cells.used.index, *corrupted.index]]
    said = [*cells.notes, *_about_scores(scores), *notes(runs, used)]
    shown = cells._replace(
        frame=pd.concat([cells.frame, errors], axis=1),
        entries=np.pad(cells.entries, ((0, 0), (0, len(SCORES))), constant_values=-1),
        columns=(*cells.columns, *SCORES.values()),
        about=about(used, list(cells.frame.index)),
        notes=tuple(dict.fromkeys(said)),
    )
    title = "Top-1 accuracy and corruption errors, percent"
    yield sheet_of("table2", title, shown, place=str(own["protocol"].iloc[0]))


def _check_one_source(corrupted: pd.DataFrame) -> None:
    places = corrupted.drop_duplicates(["dataset", "source"])
    if len(places) > 1:
        found = [
            f"{row['source']} on {row['dataset']} ({row['label']})" for _, row in places.iterrows()
        ]
        raise UserError(
            f"columns ImageNet-C would mix images of {' and '.join(found)}; report them separately"
        )


def _about_scores(scores: pd.DataFrame) -> Iterator[str]:
    """The unit and the source of the errors, and why some are not there."""
    made = scores[scores["status"] == "ok"]
    for source, normaliser in made[["source", "normaliser"]].drop_duplicates().to_numpy():
        yield (
            f"Corruption errors are in percent of those of {normaliser}; the corrupted images are "
            f"{source}."
        )
    lacking = scores[scores["status"] != "ok"]
    for (number, status, missing), rows in lacking.groupby(
        ["number", "status", "missing"], sort=False
    ):
        labels = some(list(dict.fromkeys(rows["label"])))
        yield f"No {number} of {labels}: {status} ({shortened(str(missing))})."
