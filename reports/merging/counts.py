"""What is counted of the records of every entry, in one pass over all of them."""

from collections.abc import Callable, Collection, Sequence
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
MOST_BITS = 2**32
"""One per entry and image, while all are counted."""
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


# The hash of several values is an xor of theirs, so that only its own hash keeps them together.
# Of counts, FILTER takes twice as long as nullif.
# The sum of finite losses is Kahan's, which hardly depends on the order in which threads add.
_SQL = f"""
SELECT entry, status, count(*) AS scored,
    count(nullif(rank = 0, false)) AS "right",
    count(nullif(rank < 5, false)) AS top5,
    count(nullif(clean_rank = 0, false)) AS "before",
    count(nullif(rank = 0 AND clean_rank = 0, false)) AS robust,
    max(linf) AS linf, max(l2) AS l2, max(l0) AS l0,
    max(CASE WHEN rank = 0 THEN linf END) AS linf_right,
    count(gradient) AS gradients,
    count(nullif(gradient = 0, false)) AS zero_gradients,
    count(nullif(clean_loss < {SATURATED_LOSS}, false)) AS saturated,
    coalesce(if(isfinite(sum(change)), fsum(change), sum(change)), 0) AS loss_change,
    min(CASE WHEN clean_rank = 0 THEN least(loss, clean_loss) END) AS lowest_loss,
    max(CASE WHEN clean_rank = 0 THEN greatest(loss, clean_loss) END) AS highest_loss,
    count(rank_8bit) AS rounded,
    count(nullif(rank_8bit = 0, false)) AS rounded_right,
    count(nullif(rank = 0 AND rank_8bit IS NOT NULL, false)) AS unrounded_right,
    count(clean_prediction) AS answered,
    min("index") AS first_index,
    max("index") AS last_index,
    bit_xor(hash(hash("index", target, clean_prediction))) AS answers,
    bit_xor(hash(hash("index", image))) AS images,
    if(count(target) = count(*), bit_xor(hash(hash("index", target))), NULL) AS targets,
    if(count(pixels_sha256) = count(*), bit_xor(hash(hash("index", pixels_sha256))), NULL) AS pixels
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


class RightBits(NamedTuple):
    """Which images of an entry are right: bit N from the left is the N-th position.

    Attributes:
        top1: those with rank 0.
        top5: those with a rank below 5.
    """

    top1: int
    top5: int


def which_are_right(query: Query, entries: Sequence[Counts]) -> dict[int, RightBits]:
    """Of entries with scored images; without those in which two images have one position.

    Args:
        query: `Runs.arrow`.
        entries: counts of all entries.
    """
    scored = [counts for counts in entries if counts.scored]
    first = min((counts.first_index for counts in scored), default=0)
    last = max((counts.last_index for counts in scored), default=0)
    if len(scored) * (last - first) > MOST_BITS:
        return {}
    rows = query(
        f"""SELECT entry,
            bitstring_agg("index", {first}, {last}) FILTER (rank = 0)::VARCHAR AS top1,
            bitstring_agg("index", {first}, {last}) FILTER (rank < 5)::VARCHAR AS top5
        FROM records WHERE status = '{Status.OK}' GROUP BY entry"""
    ).to_pylist()
    rights = {
        row["entry"]: RightBits(*(int(row[name] or "0", 2) for name in RightBits._fields))
        for row in rows
    }
    return {
        entry: right
        for entry, right in rights.items()
        if [bits.bit_count() for bits in right] == [entries[entry].right, entries[entry].top5]
    }


def clean_answers(
    query: Callable[[str, Collection[int]], pa.Table], entries: Sequence[Counts]
) -> dict[int, Answers]:
    """Labels and clean predictions by `Counts.answers`; most conditions of a model share them.

    Args:
        query: `Runs.arrow`, of the records of some entries.
        entries: counts of all entries; few answers are left out.
    """
    first: dict[int, int] = {}
    for position, counts in enumerate(entries):
        if counts.answered >= FEWEST_ANSWERS:
            first.setdefault(counts.answers, position)
    if not first:
        return {}
    sql = f"""SELECT entry, target, clean_prediction, count(*) AS images FROM records
        WHERE status = '{Status.OK}' AND clean_prediction IS NOT NULL GROUP BY ALL"""
    pairs: pd.DataFrame = query(sql, first.values()).to_pandas()
    repeated = pairs.loc[pairs.index.repeat(pairs["images"])].groupby("entry")
    answers = {
        entry: (rows["target"].to_numpy(np.int64), rows["clean_prediction"].to_numpy(np.int64))
        for entry, rows in repeated
    }
    return {content: answers[position] for content, position in first.items()}
