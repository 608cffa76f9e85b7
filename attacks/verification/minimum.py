"""FMN against foolbox: distances, since two searches for the nearest example end elsewhere."""

import torch
from torch import Tensor

from robustbench_twicing.conditions.distances import length

from ..fmn import fmn
from .agreement import CLOSE, Agreement, Setting

FMN_IMAGES = 2
ALIKE = 0.2
"""Share by which the mean distances may differ; those of single images differ by up to 0.15."""


def fmn_against_foolbox(setting: Setting) -> Agreement:
    """Mean L-infinity distance of the first images that foolbox fools the model with.

    Away from the model's own predictions, so that no image is at distance 0.
    """
    import foolbox
    from foolbox.models import PyTorchModel

    model, x = setting.model, setting.x[:FMN_IMAGES]
    with torch.no_grad():
        y = model(x).argmax(1)
    wrapped = PyTorchModel(model, bounds=(0, 1), device=x.device)
    criterion = foolbox.criteria.Misclassification(y)
    reference, _, _ = foolbox.attacks.LInfFMNAttack()(wrapped, x, criterion, epsilons=None)
    with torch.no_grad():
        # On failure foolbox gives back the clean image, at distance 0.
        fooled = model(reference).argmax(1) != y
    ours, theirs = (
        _distances(x, images)[fooled] for images in (fmn(model, x, y), reference.detach())
    )
    if not fooled.any():
        why = "foolbox fools no image"
        return Agreement("fmn, pixel", "foolbox.LInfFMNAttack", None, None, None, why)
    mean, reference_mean = float(ours.mean()), float(theirs.mean())
    # Images that lie next to the boundary are at distances of a few roundings of a pixel.
    agrees = abs(mean - reference_mean) <= max(ALIKE * reference_mean, CLOSE)
    remark = f"mean distances {255 * mean:.3g}/255 and {255 * reference_mean:.3g}/255"
    largest = float((ours - theirs).abs().max())
    return Agreement("fmn, pixel", "foolbox.LInfFMNAttack", largest, None, agrees, remark)


def _distances(x: Tensor, x_adv: Tensor) -> Tensor:
    return length(x_adv.double() - x.double(), "linf")
