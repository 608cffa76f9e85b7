"""What is counted of the records of every entry, in one pass over all of them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from robustbench_twicing.records.schema import Status

SATURATED_LOSS = 1e-7
"""Below it float32 takes the true class's probability for 1 and gradients vanish."""
FEWEST_ANSWERS = 20
"""Images that can tell whether a network is no better than guessing."""
NAN = float("nan")
Query = Callable[[str], pa.Table]
Answers = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Labels (N,) and predictions (N,)."""


class Counts(NamedTuple):
    """Of one entry. All but the first five are of the scored images alone.

    Attributes:
        skipped: images that could not be read.
        failed: images on which the attack failed.
        missing: images that are not there.
        inherited: images that were not attacked, since another attack has fooled them.
        scored: images that have a rank.
        right: top-1.
        top5: top-5.
        before: right before the attack.
        robust: right before and under the attack.
        linf: largest pixel change in [0, 1]; NaN where there is none.
        l2: likewise, largest Euclidean length of a change.
        l0: likewise, most pixel positions that were changed.
        linf_right: likewise of the images that stayed right.
        gradients: images whose gradient was computed.
        zero_gradients: those among them where it is 0 everywhere.
        saturated: images with a clean loss below `SATURATED_LOSS`.
        loss_change: loss minus clean loss, summed over the images that were right before.
        lowest_loss: of both losses of these images; NaN where there is none.
        highest_loss: likewise.
        rounded: images that were scored in 8 bits, too.
        rounded_right: those among them that are right in 8 bits.
        unrounded_right: those among them that are right as they are.
        answered: images with a clean prediction.
        first_index: smallest position in the data set; 0 where there is none.
        last_index: largest position; -1 where there is none.
        answers: of position, label and clean prediction of all images a hash without order.
        images: likewise of position and image id.
        targets: likewise of position and label; None where a label is lacking.
        pixels: likewise of position and pixels; None where a hash of them is lacking.
    """

    skipped: int = 0
    failed: int = 0
    missing: int = 0
    inherited: int = 0
    scored: int = 0
    right: int = 0
    top5: int = 0
    before: int = 0
    robust: int = 0
    linf: float = NAN
    l2: float = NAN
    l0: float = NAN
    linf_right: float = NAN
    gradients: int = 0
    zero_gradients: int = 0
    saturated: int = 0
    loss_change: float = 0.0
    lowest_loss: float = NAN
    highest_loss: float = NAN
    rounded: int = 0
    rounded_right: int = 0
    unrounded_right: int = 0
    answered: int = 0
    first_index: int = 0
    last_index: int = -1
    answers: int = 0
    images: int = 0
    targets: int | None = 0
    pixels: int | None = 0

    @property
    def rows(self) -> int:
        """All records."""
        return self.scored + self.skipped + self.failed + self.missing + self.inherited


# The sum of finite losses is Kahan's, which hardly depends on the order in which threads add.
_SQL = f"""
SELECT entry, status, count(*) AS scored,
    count(*) FILTER (rank = 0) AS "right",
    count(*) FILTER (rank < 5) AS top5,
    count(*) FILTER (clean_rank = 0) AS "before",
    count(*) FILTER (rank = 0 AND clean_rank = 0) AS robust,
    max(linf) AS linf, max(l2) AS l2, max(l0) AS l0,
    max(linf) FILTER (rank = 0) AS linf_right,
    count(gradient) AS gradients,
    count(*) FILTER (gradient = 0) AS zero_gradients,
    count(*) FILTER (clean_loss < {SATURATED_LOSS}) AS saturated,
    coalesce(if(isfinite(sum(change)), fsum(change), sum(change)), 0) AS loss_change,
    min(least(loss, clean_loss)) FILTER (clean_rank = 0) AS lowest_loss,
    max(greatest(loss, clean_loss)) FILTER (clean_rank = 0) AS highest_loss,
    count(rank_8bit) AS rounded,
    count(*) FILTER (rank_8bit = 0) AS rounded_right,
    count(*) FILTER (rank = 0 AND rank_8bit IS NOT NULL) AS unrounded_right,
    count(clean_prediction) AS answered,
    min("index") AS first_index,
    max("index") AS last_index,
    bit_xor(hash("index", target, clean_prediction)) AS answers,
    bit_xor(hash("index", image)) AS images,
    if(count(target) = count(*), bit_xor(hash("index", target)), NULL) AS targets,
    if(count(pixels_sha256) = count(*), bit_xor(hash("index", pixels_sha256)), NULL) AS pixels
FROM (
    SELECT *, nullif(CASE WHEN clean_rank = 0 THEN loss - clean_loss END, 'nan'::DOUBLE) AS change
    FROM records
) GROUP BY entry, status
"""
_ABSENT = {
    Status.SKIPPED: "skipped",
    Status.ERROR: "failed",
    Status.MISSING: "missing",
    Status.INHERITED: "inherited",
}


def count_records(query: Query, entries: int) -> tuple[Counts, ...]:
    """Counts of every entry, in order.

    Args:
        query: `Runs.arrow`.
        entries: how many there are.
    """
    counts: list[dict[str, Any]] = [{} for _ in range(entries)]
    for row in query(_SQL).to_pylist():
        of_entry, status = counts[row.pop("entry")], row.pop("status")
        if status in _ABSENT:
            of_entry[_ABSENT[status]] = row["scored"]
        elif status == Status.OK:
            linf = {name: NAN for name, value in row.items() if value is None and name in _MAY_LACK}
            of_entry |= row | linf
    return tuple(Counts(**of_entry) for of_entry in counts)


_MAY_LACK = ("linf", "l2", "l0", "linf_right", "lowest_loss", "highest_loss")


def clean_answers(query: Query, entries: Sequence[Counts]) -> dict[int, Answers]:
    """Labels and clean predictions by `Counts.answers`; most conditions of a model share them.

    Args:
        query: `Runs.arrow`.
        entries: counts of all entries; few answers are left out.
    """
    first: dict[int, int] = {}
    for position, counts in enumerate(entries):
        if counts.answered >= FEWEST_ANSWERS:
            first.setdefault(counts.answers, position)
    if not first:
        return {}
    pairs: pd.DataFrame = query(
        f"""SELECT entry, target, clean_prediction, count(*) AS images FROM records
        WHERE status = '{Status.OK}' AND clean_prediction IS NOT NULL
        AND entry IN ({", ".join(map(str, first.values()))}) GROUP BY ALL"""
    ).to_pandas()
    repeated = pairs.loc[pairs.index.repeat(pairs["images"])].groupby("entry")
    answers = {
        entry: (rows["target"].to_numpy(np.int64), rows["clean_prediction"].to_numpy(np.int64))
        for entry, rows in repeated
    }
    return {content: answers[position] for content, position in first.items()}
