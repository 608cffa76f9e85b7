"""Random noise of the whole budget: what an attack must beat to deserve its name."""

from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import std_of
from robustbench_twicing.conditions.recorded import About
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.seeds import Generators, normal_like, uniform_like

from .declaration import ALL_PROTOCOLS, attack
from .fgsm import step
from .squares import centre, random_pixels, square


@attack(
    "noise",
    knowledge="none, random signs",
    source="a control, not an attack",
    passes=lambda settings: (0, 0),
    about=About(control=True),
    protocols=(*ALL_PROTOCOLS, "patch"),
)
def noise(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    eps: float,
    threat: ThreatModel = PIXEL,
    generator: Generators | None = None,
) -> Tensor:
    """Every pixel moved by plus or minus eps, the sign drawn at random; in L2 a random direction.

    As a patch, random pixels in the square in the middle of the image.

    Args:
        model: only asked for its normalisation's std, where the budget is a normalised one.
        x: clean pixels (N, 3, H, W) in [0, 1]; not changed.
        y: not used.
        eps: budget in the threat model's space.
        threat: norm and space of the budget, and clipping.
        generator: one per image, or one for all; needed.

    Returns:
        Noisy pixels, shaped like x.

    Raises:
        ValueError: no generator.
    """
    if generator is None:
        raise ValueError("noise needs a generator; the global one is never used")
    if threat.norm == "l2":
        return step(x, normal_like(x, generator), eps, threat, None)
    if threat.norm == "patch":
        side = int(eps)
        return random_pixels(x, square(x, centre(x, side), side), generator)
    return step(x, uniform_like(x, generator) - 0.5, eps, threat, std_of(model))
