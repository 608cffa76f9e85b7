"""Images that one attack breaks and no other: what it adds to the worst case."""

from collections.abc import Sequence

from robustbench_twicing.conditions.threat_model import TOLERANCE
from robustbench_twicing.records.schema import Status

from ..merging.ensembles import ensembles
from ..merging.runs import Runs

_SQL = f"""
WITH members AS (
    SELECT unnest(?) AS entry, unnest(?) AS ensemble, unnest(?) AS attack, unnest(?) AS eps
), attacks AS (
    SELECT ensemble, attack, "index", min(coalesce(radius - {TOLERANCE}, eps)) AS broken_at
    FROM records JOIN members USING (entry)
    WHERE status = '{Status.OK}' AND rank > 0 AND clean_rank = 0
    GROUP BY ensemble, attack, "index"
), images AS (
    SELECT ensemble, arg_min(attack, broken_at) AS attack, list_sort(list(broken_at)) AS broken_at
    FROM attacks GROUP BY ensemble, "index"
)
SELECT ensemble, attack, broken_at[1] AS first, coalesce(broken_at[2], 'inf') AS second,
    count(*) AS images
FROM images GROUP BY ALL
"""
"""By attack that is the first to break an image, at which budget, and where a second one does."""


def broken_alone(runs: Runs, rows: Sequence[int]) -> list[dict[str, int]]:
    """By attack, the images that it alone breaks, at a budget or a smaller one.

    Images that are wrong on clean pixels are none of them. Where an attack was not scored on all
    images, it may have broken some that count for another.

    Args:
        runs: merged runs with the worst case.
        rows: positions of entries of the worst case.

    Returns:
        One number for every attack of each of them, with those of larger budgets alone as 0.
    """
    groups = ensembles(runs)
    places = list(groups)
    members = [
        (position, number, entry)
        for number, place in enumerate(places)
        for position, entry in groups[place].items()
    ]
    attacks = list(dict.fromkeys(entry.condition.attack for _, _, entry in members))
    positions = [position for position, _, _ in members]
    parameters = [
        positions,
        [number for _, number, _ in members],
        [attacks.index(entry.condition.attack) for _, _, entry in members],
        [float(entry.condition.eps) for _, _, entry in members],
    ]
    counts = runs.arrow_of(_SQL, positions, parameters).to_pandas()
    alone_by_row = []
    for row in rows:
        worst = runs.entries[row]
        eps = float(worst.condition.eps)
        place = worst.key[:3]
        here = counts[counts["ensemble"] == places.index(place)]
        here = here[(here["first"] <= eps) & (here["second"] > eps)]
        alone = here.groupby("attack")["images"].sum()
        names = dict.fromkeys(entry.condition.attack for entry in groups[place].values())
        alone_by_row.append({name: int(alone.get(attacks.index(name), 0)) for name in names})
    return alone_by_row
