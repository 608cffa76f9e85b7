"""What a plan measures on a few images: passes, the making of images, and what attacks leave."""

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from ..classifiers.classifier import Classifier
    from ..conditions.condition import Condition
    from ..evaluation.tasks import Task

SAMPLE = 4
"""Images of the measured batch."""
SURVEYED = 16
"""Images of the data set that are attacked to see how many others are left."""


class Speed(NamedTuple):
    """Seconds per image of a forward pass, and of a backward pass to the input."""

    forward: float
    backward: float


def measure_making(classifier: "Classifier", task: "Task", seed: int) -> dict[str, float]:
    """Seconds that one image of every condition takes to make, by its key; one that fails has 0."""
    from ..data.image_maker import ImageRequest, Maker

    sourced = {
        condition.key: condition.images
        for condition in task.conditions
        if condition.images is not None
    }
    maker = Maker(task.data, classifier.preprocessing, sourced, seed)
    seconds = {}
    for key in sourced:
        start = time.perf_counter()
        (made,) = maker.make(ImageRequest(key, [0]))
        seconds[key] = 0.0 if isinstance(made, Exception) else time.perf_counter() - start
    return seconds


def measure_speed(classifier: "Classifier", count: int, device: "torch.device") -> Speed:
    """Time one small grey batch forward and backward, the faster of two tries.

    A backward pass is what it adds to a forward pass, and at least what it takes by itself: of a
    small network the difference may be less than the first pass of all took longer.
    """
    import torch
    from torch.nn.functional import cross_entropy

    from ..classifiers.gradient import eval_mode, gradient_or_zero

    crop = classifier.preprocessing.crop
    x = torch.full((count, 3, crop, crop), 0.5, device=device)
    y = torch.zeros(count, dtype=torch.long, device=device)
    home = classifier.device
    classifier.to(device)
    forward, backward, both = [], [], []
    with eval_mode(classifier):
        for _ in range(2):
            start = time.perf_counter()
            with torch.no_grad():
                classifier(x).sum().item()
            forward.append(time.perf_counter() - start)
            leaf = x.clone().requires_grad_()
            start = time.perf_counter()
            loss = cross_entropy(classifier(leaf), y, reduction="sum")
            loss.item()
            middle = time.perf_counter()
            gradient_or_zero(loss, leaf).sum().item()
            end = time.perf_counter()
            backward.append(end - middle)
            both.append(end - start)
    classifier.to(home)
    return Speed(min(forward) / count, max(min(both) - min(forward), *backward[1:]) / count)


def surviving(
    classifier: "Classifier", task: "Task", device: "torch.device"
) -> "Mapping[str, float]":
    """The share of images that ``--survivors`` leaves to each attack, as far as FGSM shows it.

    FGSM attacks the first images of the data set at every budget. An attack meets at most those
    that are right and that FGSM has not fooled at its budget or a smaller one; FGSM itself, and
    noise, which come first, those that it has not fooled at a smaller one.

    Args:
        classifier: the model.
        task: data set and conditions.
        device: where to.

    Returns:
        By key of the conditions that attack; empty where no image can be read.
    """
    import torch

    from ..classifiers.gradient import eval_mode

    x, y = _first_images(classifier, task, device)
    if not len(x):
        return {}
    space, home = task.data.space, classifier.device
    network = (classifier if space is None else classifier.answering_in(space)).to(device)
    attacked = [condition for condition in task.conditions if condition.is_attacked]
    shares = {}
    with eval_mode(network):
        with torch.no_grad():
            right = network(x).argmax(1) == y
        broken = {
            (item.protocol, item.eps): _broken(network, x, y, item)
            for item in attacked
            if item.eps and item.threat.norm != "patch"
        }
    for item in attacked:
        left = right.clone()
        comes_first = item.about.control or item.about.one_step
        for (protocol, eps), wrong in broken.items():
            before = eps < item.eps or (eps == item.eps and not comes_first)
            if before and protocol == item.protocol:
                left &= ~wrong
        shares[item.key] = left.float().mean().item()
    classifier.to(home)
    return shares


def _first_images(
    classifier: "Classifier", task: "Task", device: "torch.device"
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Pixels (N, 3, H, W) and labels (N,) of those of the first images that can be read."""
    import numpy as np
    import torch

    from ..data.image_maker import ImageRequest, Maker
    from ..data.loader import to_tensor

    positions = list(range(min(SURVEYED, len(task.data))))
    made = Maker(task.data, classifier.preprocessing).make(ImageRequest(None, positions))
    images = {at: image for at, image in enumerate(made) if not isinstance(image, Exception)}
    labels = torch.tensor([task.data.labels[at] for at in images], dtype=torch.long, device=device)
    side = classifier.preprocessing.crop
    pixels = np.stack(list(images.values())) if images else np.empty((0, side, side, 3), np.uint8)
    return to_tensor(pixels, device), labels


def _broken(
    network: "Classifier", x: "torch.Tensor", y: "torch.Tensor", condition: "Condition"
) -> "torch.Tensor":
    """Which images FGSM fools at a condition's budget, (N,) bool."""
    import torch

    from attacks import fgsm

    x_adv = fgsm(network, x, y, eps=float(condition.eps), threat=condition.threat)
    with torch.no_grad():
        logits: torch.Tensor = network(x_adv)
    return logits.argmax(1) != y
