"""The images that a network is shown: those of a data set, and what conditions make of them."""

import sys
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..classifiers.classifier import Classifier
from ..classifiers.efficiency import fitting_batch
from ..classifiers.network_state import NetworkState
from ..conditions.condition import Condition
from ..data.dataset import Dataset
from ..data.image_maker import Maker
from ..data.loader import LoadedBatch, load_batches, to_tensor
from ..evaluation.corruption_step import with_clean_image
from ..evaluation.options import PART_OF_AUTO, Options
from ..evaluation.part import evaluate_part
from ..evaluation.progress import Report, Step, silent
from ..evaluation.tasks import Context
from ..records.adversarial import Pixels
from ..records.cost import CostMeter
from ..records.schema import Status


class Shown(NamedTuple):
    """The images of one batch, as they are or under one condition.

    Attributes:
        under: id of the condition; empty for the images as they are.
        images: their ids.
        pixels: (N, 3, H, W), clean ones in [0, 1], on the device of the network.
        left_out: id of an image of the batch that is not here -> why.
        flags: what was noticed while the network was attacked (``not-deterministic``).
    """

    under: str
    images: Sequence[str]
    pixels: Tensor
    left_out: Mapping[str, str]
    flags: Sequence[str] = ()


def shown_images(
    label: str,
    model: Classifier,
    data: Dataset,
    conditions: Sequence[Condition],
    options: Options,
    *,
    report: Report = silent,
) -> Generator[Shown]:
    """Batch by batch the images as they are, then under each condition.

    They are those of an evaluation with the same options, bit for bit: attacks are run, checked and
    scored by the code of its run loop. Of each batch all attacks have ended before the first of
    their images is given.

    Args:
        label: for the report.
        model: on its device, in eval mode.
        data: images, with labels where a condition is an attack.
        conditions: attacks, and corruptions.
        options: ``seed``, ``batch_size``, ``workers``, ``on_bad_image``.
        report: told of every condition and batch.

    Raises:
        BadImageError: an image that cannot be decoded, unless such images are left out.
        UserError: memory does not hold a single image.
    """
    sources = {item.id: item.images for item in conditions if item.images is not None}
    attacks = [item for item in conditions if item.images is None]
    size = options.batch_size or fitting_batch(model, min(PART_OF_AUTO, len(data)))
    context = _context(label, model, data, options, report, size) if attacks else None
    batches = load_batches(
        Maker(data, model.preprocessing, sources, options.seed, size),
        range(-(-len(data) // size)),
        batch_size=size,
        skip_bad=options.on_bad_image == "skip",
        workers=options.workers,
    )
    with closing(batches):
        for clean in batches:
            yield _as_made(data, clean, model.device)
            if context is not None:
                for shown in _attacked(context, clean, attacks):
                    yield shown
                    report(Step(label, shown.under, 0, len(clean.indices)))
            for batch in islice(batches, len(sources)):
                shown = _as_made(
                    data, with_clean_image(batch, {"index": np.array(clean.indices)}), model.device
                )
                yield shown
                report(Step(label, shown.under, 0, len(clean.indices)))
            images = len(clean.indices) + len(clean.absent)
            report(Step(label, "", images, images))


def _as_made(data: Dataset, batch: LoadedBatch, device: torch.device) -> Shown:
    left_out = {data.ids[absent.position]: absent.reason for absent in batch.absent}
    images = [data.ids[index] for index in batch.indices]
    return Shown(batch.source or "", images, to_tensor(batch.pixels, device), left_out)


def _context(
    label: str, model: Classifier, data: Dataset, options: Options, report: Report, size: int
) -> Context:
    """As the run loop makes it."""
    answering = model if data.space is None else model.answering_in(data.space).to(model.device)
    return Context(
        label,
        answering,
        data,
        options.seed,
        report,
        batch_size=size,
        state=NetworkState(answering),
    )


class _Memory:
    """Keeps the adversarial images of one batch, by condition."""

    limit = sys.maxsize

    def __init__(self) -> None:
        self.images: dict[str, list[str]] = defaultdict(list)
        self.pixels: dict[str, list[Pixels]] = defaultdict(list)

    def save(
        self,
        place: Sequence[str],
        indices: Sequence[int],
        images: Sequence[str],
        x: Pixels,
        x_adv: Pixels,
    ) -> None:
        """Keep some images of the batch; those of a halved batch come in pieces."""
        self.images[place[-1]] += images
        self.pixels[place[-1]].append(x_adv)


def _attacked(
    context: Context, clean: LoadedBatch, attacks: Sequence[Condition]
) -> Iterator[Shown]:
    """What each attack makes of a batch; an attack that fails leaves its images out."""
    device = context.classifier.device
    memory = _Memory()
    records = evaluate_part(context._replace(store=memory), clean, (), attacks, device, CostMeter())
    failed: dict[str, dict[str, str]] = defaultdict(dict)
    for row in records.table.select(["condition", "image", "status", "message"]).to_pylist():
        if row["status"] == Status.ERROR:
            failed[row["condition"]][row["image"]] = row["message"]
    for attack in attacks:
        pixels = [torch.from_numpy(piece) for piece in memory.pixels[attack.id]]
        yield Shown(
            attack.id,
            memory.images[attack.id],
            torch.cat(pixels).to(device) if pixels else torch.empty(0),
            failed[attack.id],
            records.flags,
        )
