"""Of networks that deceive every one is flagged, and of honest ones none is."""

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import interpolate

from attacks import ATTACKS
from robustbench_twicing import load_model
from robustbench_twicing.cli.api_inputs import open_data
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.evaluation.checks.first_part import network_flags
from tests.tiny import flags, run

from .faults import NETWORKS, honest
from .networks import classifier, images, pictures, trained

pytestmark = pytest.mark.slow  # each is an evaluation; the checks have quick tests beside them


def quick(*, steps: int = 5) -> list[Condition]:
    """The quick suite with fewer budgets and steps."""
    four, large = Fraction(4, 255), Fraction(64, 255)
    fgsm, pgd, noise = (ATTACKS[name] for name in ("fgsm", "pgd", "noise"))
    attacked = [fgsm.condition(four), fgsm.condition(large), noise.condition(four)]
    return [clean(), *attacked, pgd.condition(four, overrides={"steps": steps, "rel_step": 0.5})]


def flags_of(network: nn.Module, out: Path, *, shift: int = 0) -> set[str]:
    with torch.random.fork_rng([]):
        torch.manual_seed(0)  # for networks that draw
        done = run(classifier(network), images(shift), quick(), out, batch_size=16)
    return {flag for flag in flags(done) if "=" not in flag}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_that_deceives_is_flagged(name: str, tmp_path: Path) -> None:
    make, pattern = NETWORKS[name]
    found = flags_of(make(), tmp_path / "run")
    assert any(matches(pattern, flag) for flag in found), found


def matches(pattern: str, flag: str) -> bool:
    return re.fullmatch(pattern, flag) is not None


@pytest.mark.parametrize("name", honest())
def test_an_honest_network_is_not(name: str, tmp_path: Path) -> None:
    make: Callable[[], nn.Module] = honest()[name]
    assert flags_of(make(), tmp_path / "run") == set()


@pytest.mark.parametrize(("shift", "flag"), [(1, "labels-plus-1"), (-1, "labels-minus-1")])
def test_labels_off_by_one_are_recognised(shift: int, flag: str, tmp_path: Path) -> None:
    if shift < 0:  # the network has a class more
        network: nn.Module = nn.Sequential(trained(), nn.ConstantPad1d((1, 0), -9.0))
        assert f"looks-like-{flag}" in flags_of(network, tmp_path / "run")
    else:
        network = nn.Sequential(trained(), nn.ConstantPad1d((0, 1), -9.0))
        assert f"looks-like-{flag}" in flags_of(network, tmp_path / "run", shift=1)


FAMILIES = (
    *("deit", "neutreno", "featscale", "attnscale"),
    *("twicing", "twicing[3-4]", "fan", "fan_twicing"),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_bundled_network_is_not_flagged(family: str, tmp_path: Path) -> None:
    model = load_model(f"fmnist_{family}", checkpoint="bundled")
    data = open_data("fashion-mnist:test1000", limit=32, seed=0, num_classes=None)
    done = run(model, data, quick(steps=3), tmp_path / "run", batch_size=16)
    found = {flag for flag in flags(done) if "=" not in flag}
    assert found == {"limit-32-of-1000"}


@pytest.mark.parametrize(
    "name", ["test_vit", "test_resnet", "test_efficientnet", "test_convnext", "test_byobnet"]
)
def test_an_architecture_of_timm_is_not_flagged(name: str) -> None:
    """Untrained, so that only its answers and gradients are looked at."""
    model = load_model(f"timm:{name}", checkpoint="random:0")
    arrays, _ = pictures(8, 2)
    x = torch.from_numpy(arrays).permute(0, 3, 1, 2) / 255
    x = interpolate(x, model.preprocessing.crop, mode="bicubic").clamp(0, 1)
    with torch.no_grad():
        logits = model(x)
    assert list(network_flags(model, x, logits.argmax(1), logits, gradients=True)) == []
