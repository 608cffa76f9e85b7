"""Clean accuracy of one file under each model it could be: a wrong variant shows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..checkpoints.candidates import Candidate
from ..classifiers.label_layers import best_placed
from ..classifiers.loading import load_model
from ..data.dataset import Dataset
from ..data.image_maker import Maker
from ..data.loader import load_batches, to_tensor
from ..models.resolve import resolve_model


@dataclass(frozen=True)
class Probe:
    """One row of the probe.

    Attributes:
        model: name, with layer placement.
        weights: ``plain`` or ``ema``.
        correct: images classified right.
        images: images that could be decoded.
    """

    model: str
    weights: str
    correct: int
    images: int


def variants(candidates: Sequence[Candidate]) -> Iterator[str]:
    """Names to try: every candidate, and twicing ones also in the last three layers alone."""
    for candidate in candidates:
        yield candidate.name
        spec = resolve_model(candidate.name)
        depth = spec.sizes["depth"]
        if spec.twicing and depth > 3:
            yield f"{candidate.name}[{depth - 2}-{depth}]"


def probe(
    path: str,
    name: str,
    weights: str,
    data: Dataset,
    *,
    num_classes: int | None = None,
    batch_size: int = 32,
    device: str = "auto",
    advance: Callable[[int], object] = lambda images: None,
    **how: Any,
) -> Probe:
    """Measure clean accuracy.

    Args:
        path: the checkpoint.
        name: model to load it as, whatever the file says it is.
        weights: ``plain`` or ``ema``.
        data: labelled images; those that cannot be decoded are left out.
        num_classes: of the file's head.
        batch_size: images a batch.
        device: as in `load_model`.
        advance: called with the number of images after each batch.
        how: what else `load_model` is asked for: an adapter, mean and std, ....

    Raises:
        UserError: the file does not fit the model, or the model not the images' classes.
    """
    classifier = load_model(
        name,
        path,
        weights="ema" if weights == "ema" else "plain",
        num_classes=num_classes,
        device=device,
        arch_override=True,
        **how,
    )
    target = next(classifier.parameters()).device
    if data.space is not None:
        classifier = classifier.answering_in(data.space).to(target)
    correct = images = 0
    parts = range(-(-len(data) // batch_size))
    with torch.inference_mode():
        maker = Maker(data, classifier.preprocessing)
        for batch in load_batches(maker, parts, batch_size=batch_size, skip_bad=True):
            if batch.indices:
                logits = classifier(to_tensor(batch.pixels, target)).cpu()
                y = torch.from_numpy(data.right_labels(batch.indices))
                right = logits.argmax(1) == best_placed(logits, y)
                correct, images = correct + int(right.sum()), images + len(right)
            advance(len(batch.indices) + len(batch.absent))
    return Probe(classifier.record.model, classifier.record.weights, correct, images)
