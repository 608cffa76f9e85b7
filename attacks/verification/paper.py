"""FGSM, PGD and SPSA of protocol paper against cleverhans."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from importlib.util import find_spec
from unittest import mock

import numpy as np
import torch
from torch import Tensor

from robustbench_twicing.classifiers.classifier import Classifier, Normalize
from robustbench_twicing.seeds import image_keys, random_signs, seeded_globally

from ..attacked_label import attacked_label
from ..fgsm import fgsm
from ..pgd import REL_STEP, STEPS
from ..spsa import DELTA, LEARNING_RATE, spsa
from .agreement import PAPER, Agreement, Setting, compare, iterates_beside

SPSA_IMAGES, SPSA_STEPS, SPSA_SAMPLES = 2, 3, 8


def against_cleverhans(setting: Setting) -> Iterator[Agreement]:
    """One row per attack of this suite; "not run" without cleverhans or a normalisation."""
    names = ("fast_gradient_method", "projected_gradient_descent", "spsa")
    layer = setting.model.normalize
    if layer is None or find_spec("cleverhans") is None:
        why = "cleverhans is not installed" if layer is not None else "the model takes pixels"
        for attack, name in zip(("fgsm", "pgd", "spsa"), names, strict=True):
            yield Agreement(f"{attack}, paper", f"cleverhans.{name}", None, None, None, why)
        return
    for row in (_fgsm_paper, _pgd_paper, _spsa_paper):
        yield row(setting, layer)


def _fgsm_paper(setting: Setting, layer: Normalize) -> Agreement:
    from cleverhans.torch.attacks.fast_gradient_method import fast_gradient_method

    model, x, y, eps, _ = setting
    adversarial = layer(fgsm(model, x, y, eps=eps, threat=PAPER))
    reference = fast_gradient_method(_after(model), layer(x), eps, np.inf)
    return compare("fgsm, paper", "cleverhans.fast_gradient_method", adversarial, reference)


def _pgd_paper(setting: Setting, layer: Normalize) -> Agreement:
    from cleverhans.torch.attacks.projected_gradient_descent import projected_gradient_descent

    model, x, _, eps, seed = setting
    queried: list[Tensor] = []

    def logits(z: Tensor) -> Tensor:
        queried.append(z.detach().clone())
        return _after(model)(z)

    with seeded_globally(seed):
        attack = projected_gradient_descent
        final = attack(logits, layer(x), eps, REL_STEP * eps, STEPS, np.inf)
    iterates = [*queried[1:], final.detach()]  # the first call predicts the label to attack
    pixels = [z * layer.std + layer.mean for z in iterates]
    adversarial, _ = iterates_beside(setting, pixels, PAPER)
    return compare(
        "pgd, paper",
        "cleverhans.projected_gradient_descent",
        layer(adversarial),
        torch.stack(iterates),
    )


def _spsa_paper(setting: Setting, layer: Normalize) -> Agreement:
    from cleverhans.torch.attacks.spsa import spsa as reference

    double = deepcopy(setting.model).double()
    x, y = setting.x[:SPSA_IMAGES].double(), setting.y[:SPSA_IMAGES]
    try:
        attacked_label(double, x, y, PAPER)
    except RuntimeError:
        why = "the network does not run in float64"
        return Agreement("spsa, paper", "cleverhans.spsa", None, None, None, why)
    z = (x - layer.mean.double()) / layer.std.double()
    adversarial = spsa(
        double,
        x,
        y,
        eps=setting.eps,
        threat=PAPER,
        steps=SPSA_STEPS,
        samples=SPSA_SAMPLES,
        estimate_at="twice-the-image",
        generator=_generators(setting.seed, len(x)),
    )
    with mock.patch("torch.rand_like", _SameDraws(_generators(setting.seed, len(x)))):
        reference_images = reference(
            _after(double),
            z,
            setting.eps,
            SPSA_STEPS,
            delta=DELTA,
            learning_rate=LEARNING_RATE,
            spsa_samples=SPSA_SAMPLES,
        )
    normalised = (adversarial - layer.mean.double()) / layer.std.double()
    return compare("spsa, paper", "cleverhans.spsa", normalised, reference_images)


def _generators(seed: int, images: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed + image) for image in range(images)]


class _SameDraws:
    """Stands in for `torch.rand_like`, so that cleverhans draws what this suite's SPSA draws.

    cleverhans takes one image after the other: a start for the image, then the probes of each
    step, of whose draws it uses the side of 1/2 only.
    """

    def __init__(self, generators: Sequence[torch.Generator]) -> None:
        self.generators = list(generators)
        self.calls = 0
        self.key = torch.empty(1, dtype=torch.int64)

    def __call__(self, like: Tensor) -> Tensor:
        image, step = divmod(self.calls, SPSA_STEPS + 1)
        self.calls += 1
        generator = self.generators[image]
        if step == 0:
            first = torch.rand(like.shape[1:], generator=generator, dtype=like.dtype)
            self.key = image_keys(1, [generator]).to(like.device)
            return first[None].to(like.device)
        numbers = (step - 1) * len(like) + torch.arange(len(like), device=like.device)
        return random_signs(self.key.expand(len(like)), numbers, like) * 0.25 + 0.5


def _after(model: Classifier) -> Callable[[Tensor], Tensor]:
    """The classifier from its normalised input on, as cleverhans is called."""
    select = model.select

    def logits(z: Tensor) -> Tensor:
        output: Tensor = model.network(z)
        return output if select is None else select(output)

    return logits
