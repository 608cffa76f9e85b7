"""Table 2 of the Twicing paper: other test sets, and the errors under corruption."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from robustbench_twicing.errors import UserError

from ...imagenet_c.corruption_rows import ATTACK
from ...imagenet_c.corruption_scores import scores_of, shortened
from ...merging.runs import Runs
from ...metrics.flags import explain_flag
from ...metrics.notes import notes, remarks, some
from ...text.file_names import file_name
from ..cells import CellSpec, about, fill, rows_of
from ..table import Column, Table
from . import Choices, preset

OTHER_SETS = {"imagenet-r": "ImageNet-R", "imagenet-a": "ImageNet-A"}
SCORES = {
    "mCE": Column("mCE", "ImageNet-C", best="lowest"),
    "mean CE of the 4 extra corruptions": Column("mean CE", "ImageNet-C (extra)", best="lowest"),
}
"""Numbers of `corruption_scores` and the columns that show them."""


@preset("table2", by=("protocol",), on_page=True)
def table2(runs: Runs, rows: pd.DataFrame, choices: Choices) -> Iterator[Table]:
    """One table of the models that were shown any of these images; none where there is none.

    Raises:
        UserError: images of one column are from different sources or sets.
    """
    corrupted = rows[rows["attack"] == ATTACK]
    _check_one_source(corrupted)
    shown = rows[rows["condition"].isin(list(OTHER_SETS)) | (rows["attack"] == ATTACK)]
    if shown.empty:
        return
    specs = [
        CellSpec(Column("top-1", title, best="highest", metric="top1"), condition)
        for condition, title in OTHER_SETS.items()
    ]
    title = "Top-1 accuracy and corruption errors, percent"
    table = fill("table2", title, runs, shown, specs)
    scores = scores_of(rows, choices.scores)
    scores = scores[scores["number"].isin(list(SCORES))]
    errors = scores.set_index(["label", "number"])["percent"].unstack("number")
    errors = errors.reindex(index=table.frame.index, columns=list(SCORES))
    used = shown.loc[[*rows_of(shown, table.entries).index, *corrupted.index]]
    yield replace(
        table.with_columns(list(SCORES.values()), errors, at=len(specs)),
        name=file_name("table2", str(shown["protocol"].iloc[0])),
        about=about(used, list(table.frame.index)),
        notes=tuple(dict.fromkeys([*table.notes, *_about_scores(scores), *notes(runs, used)])),
        remarks=remarks(runs, used),
    )


def _check_one_source(corrupted: pd.DataFrame) -> None:
    places = corrupted.drop_duplicates(["dataset", "source"])
    if len(places) > 1:
        images = [
            f"{row['source']} on {row['dataset']} ({row['label']})" for _, row in places.iterrows()
        ]
        raise UserError(
            f"columns ImageNet-C would mix images of {' and '.join(images)}; report them separately"
        )


def _about_scores(scores: pd.DataFrame) -> Iterator[str]:
    """The unit and the source of the errors, their flags, and why some are not there."""
    made = scores[scores["status"] == "ok"]
    for source, normaliser in made[["source", "normaliser"]].drop_duplicates().to_numpy():
        yield (
            f"Corruption errors are in percent of those of {normaliser}; the corrupted images are "
            f"{source}."
        )
    for flag in filter(None, made["flags"].unique()):
        yield f"{flag}: {explain_flag(flag)}"
    lacking = scores[scores["status"] != "ok"]
    for (number, status, missing), rows in lacking.groupby(
        ["number", "status", "missing"], sort=False
    ):
        labels = some(list(dict.fromkeys(rows["label"])))
        yield f"No {number} of {labels}: {status} ({shortened(str(missing))})."
