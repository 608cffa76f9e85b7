"""This suite's attacks against those of other libraries, element by element."""

from collections.abc import Iterator

from .agreement import Agreement, Setting
from .linear import spsa_on_linear
from .minimum import fmn_against_foolbox
from .paper import against_cleverhans
from .pixel import against_torchattacks_and_foolbox

__all__ = ["Agreement", "Setting", "spsa_on_linear", "verify"]


def verify(setting: Setting) -> Iterator[Agreement]:
    """Compare FGSM, PGD, SPSA and FMN with torchattacks, foolbox and cleverhans.

    PGD is compared step by step: the start, the first step, then from every iterate of the library
    this suite's next step with the library's. (Two separate runs of 20 steps drift apart, because
    the rounding of one step turns signs in the next.) The libraries draw their start from the
    global generator, this suite from a generator with the same seed. SPSA is compared in float64,
    because Adam magnifies the rounding of small gradients. FMN is compared by its distances.
    """
    yield from against_torchattacks_and_foolbox(setting)
    yield from against_cleverhans(setting)
    yield spsa_on_linear(setting.seed)
    yield fmn_against_foolbox(setting)
