"""One part, a range of images, under all conditions: from images to rows of the record."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from ..classifiers.classifier import label_count
from ..conditions.condition import Condition
from ..data.loader import LoadedBatch, to_tensor
from ..records.cost import Cost, CostMeter
from ..records.failures import Positions, failed_rows, keys_and_positions
from ..records.parts import PartRecords
from ..records.schema import RECORD_SCHEMA
from ..seeds import network_draws, states_kept
from .attack_step import attack_rows
from .checks.agreement import ROUNDING, agree
from .checks.first_part import network_flags
from .checks.logits import TIES, has_ties
from .checks.network_guard import CHANGES_ITSELF
from .class_subsets import is_counted
from .clean_step import class_subset_rows, score_clean
from .corruption_step import score_corrupted, with_clean_image
from .out_of_memory import in_pieces_that_fit
from .progress import Step
from .rows import FIELDS, Columns, absent_rows, joined
from .survivors import survivor_rows
from .tasks import Context

EQUAL_DRAWS = "draws-equal"


class _Piece(NamedTuple):
    """A piece of the clean images: what is known of each, their rows, logits, and flags."""

    fields: Columns
    rows: list[pa.Table]
    logits: Tensor
    flags: tuple[str, ...]


@states_kept()
def evaluate_part(
    context: Context,
    clean: LoadedBatch,
    corrupted: Iterable[LoadedBatch],
    conditions: Sequence[Condition],
    device: torch.device,
    meter: CostMeter,
    old: PartRecords | None = None,
) -> PartRecords:
    """All conditions on one range of images; halved and tried again when memory runs out.

    Args:
        context: see `Context`.
        clean: the images.
        corrupted: the same range from the source of every condition that shows other images; each
            batch names its condition.
        conditions: in the order of the record.
        device: of the model.
        meter: watches the classifier; what it counted before is forgotten.
        old: the part as it was, where its error rows alone are to be computed again.

    Returns:
        One row per condition and image, unreadable and missing images included.

    Raises:
        UserError: memory runs out for a single image.
    """
    meter.costs = {}
    again = None if old is None else failed_rows(old.table)
    size = context.batch_size
    fit = partial(in_pieces_that_fit, batch_size=size, label=context.label, device=device)
    work = partial(_clean_and_attacked, context, conditions, device, meter, again)
    done = fit(clean, work)
    pieces = [piece for piece in done if piece is not None]
    fields = joined([piece.fields for piece in pieces])
    rows = [table for piece in pieces for table in piece.rows]
    halved = len(done) > _batches(clean, size)
    by_key = {condition.key: condition for condition in conditions}
    for batch in corrupted:
        condition = by_key[batch.source or ""]
        batch = with_clean_image(batch, fields)
        with meter.measure(condition.key, waited=batch.waited):
            step = partial(score_corrupted, context, condition, fields, device)
            tables = fit(batch, step)
        halved |= len(tables) > _batches(batch, size)
        rows += [*tables, *_absent_rows(context, batch, [condition])]
        units = len(batch.indices) * condition.units
        context.report(Step(context.label, condition.id, 0, units, key=condition.key))
    rows += _absent_rows(context, clean, conditions)
    flags = ["batch-halved"] if halved else []
    flags += [flag for piece in pieces for flag in piece.flags]
    if clean.part == 0 and pieces and again is None:
        with meter.uncharged():
            flags += _network_flags(context, clean, pieces[0].logits, conditions, device)
    new = PartRecords(in_order(rows, conditions), meter.costs, tuple(dict.fromkeys(flags)))
    return new if old is None else _with_second_attempt(old, new, conditions)


def _batches(part: LoadedBatch, batch_size: int) -> int:
    """Into how many batches the images of a part go."""
    return -(-len(part.indices) // batch_size)


def _clean_and_attacked(
    context: Context,
    conditions: Sequence[Condition],
    device: torch.device,
    meter: CostMeter,
    again: Positions | None,
    batch: LoadedBatch,
) -> _Piece | None:
    """Score the clean images, and attack them under every condition that does not show others."""
    if again is not None:
        again = _of_batch(again, batch)
        if not again:
            return None
    clean = score_clean(context, batch, conditions, device, meter)
    rows = list(class_subset_rows(context, clean, conditions))
    on_clean = [one for one in conditions if one.images is None and one.class_subset is None]
    attack = survivor_rows if context.survivors else attack_rows
    rows += attack(context, clean, on_clean, meter, again)
    logits = clean.attacked.logits
    flags: tuple[str, ...] = (TIES,) if has_ties(logits) else ()
    first, *others = clean.logits
    if batch.part == 0 and others and all(agree(first, draw, ROUNDING) for draw in others):
        flags += (EQUAL_DRAWS,)
    if clean.guard is not None and clean.guard.changed_by_itself:
        flags += (CHANGES_ITSELF,)
    return _Piece(clean.fields, rows, logits, flags)


def _of_batch(positions: Positions, batch: LoadedBatch) -> Positions:
    """Those images that are in a batch; without the conditions of none of them."""
    here = {key: images.intersection(batch.indices) for key, images in positions.items()}
    return {key: images for key, images in here.items() if images}


def _absent_rows(
    context: Context, batch: LoadedBatch, conditions: Iterable[Condition]
) -> Iterator[pa.Table]:
    """Rows of the images that are not there, as far as a condition is about them."""
    data = context.data
    for condition in conditions:
        absent = [image for image in batch.absent if is_counted(data, condition, image.position)]
        if absent:
            yield absent_rows(context.label, data, absent, condition)


def _network_flags(
    context: Context,
    batch: LoadedBatch,
    logits: Tensor,
    conditions: Sequence[Condition],
    device: torch.device,
) -> Iterator[str]:
    """Whether the network's answers mislead, from the images that were scored first."""
    x = to_tensor(batch.pixels[: len(logits)], device)
    y = torch.from_numpy(context.data.right_labels(batch.indices[: len(logits)])).to(device)
    gradients = any(condition.white_box for condition in conditions)
    few = {
        flag: least
        for condition in conditions
        for flag, least in condition.about.few_classes.items()
    }
    classes = label_count(context.classifier, logits)
    yield from (flag for flag, least in few.items() if classes < least)
    images = [context.data.ids[index] for index in batch.indices]
    with network_draws(context.seed, images, "checks"):
        yield from network_flags(context.classifier, x, y, logits, gradients=gradients)


def in_order(tables: Sequence[pa.Table], conditions: Sequence[Condition]) -> pa.Table:
    """All rows of a part, by image and then in the order of the conditions."""
    whole = pa.concat_tables([RECORD_SCHEMA.empty_table(), *tables]).combine_chunks()
    position = {(one.protocol, one.id): place for place, one in enumerate(conditions)}
    protocols, names = (_only_chunk(whole[name]) for name in ("protocol", "condition"))
    places = np.array(
        [
            [position.get((protocol, name), -1) for name in names.dictionary.to_pylist()]
            for protocol in protocols.dictionary.to_pylist()
        ],
        np.int64,
    )
    place = places[protocols.indices, names.indices] if len(whole) else []
    order = pa.array(np.lexsort((place, whole["index"].to_numpy())))
    columns = [_sorted(_only_chunk(whole[name]), kind, order) for name, kind in FIELDS]
    return pa.table(columns, schema=RECORD_SCHEMA)


def _only_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else column.combine_chunks()


def _sorted(column: pa.Array, kind: pa.DataType, order: pa.Array) -> pa.Array:
    """The values in order; names are encoded anew, so that their dictionary has that order, too."""
    if not pa.types.is_dictionary(kind):
        return column.take(order)
    return column.dictionary.take(column.indices.take(order)).dictionary_encode()


def _with_second_attempt(
    old: PartRecords, new: PartRecords, conditions: Sequence[Condition]
) -> PartRecords:
    """A part with the second attempt's rows in place of its error rows.

    Args:
        old: the part as it was.
        new: rows of the second attempt, of the images that had failed among others.
        conditions: all, in the order of the record.

    Returns:
        Costs of both attempts: what the second one took is charged to the conditions that failed,
        with the clean pass and the budgets that are computed beside them.
    """
    failed = failed_rows(old.table)
    replaced = {
        (key, position)
        for key, position in keys_and_positions(new.table)
        if position in failed.get(key, ())
    }
    kept = [place not in replaced for place in keys_and_positions(old.table)]
    again = [place in replaced for place in keys_and_positions(new.table)]
    table = in_order([old.table.filter(kept), new.table.filter(again)], conditions)
    costs = {key: Cost(**vars(cost)) for key, cost in old.costs.items()}
    first = next(condition.key for condition in conditions if condition.key in failed)
    for key, cost in new.costs.items():
        costs.setdefault(key if key in failed else first, Cost()).add(cost)
    flags = tuple(dict.fromkeys([*old.flags, *new.flags]))
    return PartRecords(table, costs, flags)
