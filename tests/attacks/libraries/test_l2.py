"""Attacks of libraries under L2: closed forms of a linear network, and a bundled model."""

from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor

from attacks import find_attack
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.ball import check_adversarial
from robustbench_twicing.conditions.distances import distances
from robustbench_twicing.data.dataset import limit_dataset
from robustbench_twicing.data.loader import to_tensor
from robustbench_twicing.data.opening import open_dataset
from tests.tiny import Linear

from .fragile import BLACK_BOX, EVERY, ShortAutoAttack, small

WITHOUT_CONSTANTS = "torchattacks:AutoAttack"
"""Its 5000 queries cannot be cut down; it is tried on the small network alone."""
BLIND = BLACK_BOX - {"torchattacks:Square"}
"""Noise and less contrast may make an image right that was wrong."""
EPS = Fraction(1, 2)
COUNT = 4


class Scaled(Linear):
    """Two logits linear in the pixels, times a scale."""

    def __init__(self, scale: float = 1) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        return self.scale * super().forward(x)


def run(name: str, made: AttackBatch, eps: Fraction = EPS, **constants: Any) -> Tensor:
    """The adversarial images, checked against the ball."""
    asked = find_attack(name).condition(eps, "l2", constants)
    assert asked.sweep is not None
    (x_adv,) = asked.sweep(made, [eps], threat=asked.threat, settings=asked.settings)
    check_adversarial(made.x, x_adv, float(eps), asked.threat)
    return x_adv


def linear(scale: float = 1) -> tuple[AttackBatch, Tensor]:
    """Images far from the ends of the pixel range, and the direction in which class 1 loses."""
    model = Scaled(scale)
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(COUNT, 3, 8, 8, generator=generator) * 0.2 + 0.4
    images = [str(index) for index in range(COUNT)]
    batch = AttackBatch(model, x, torch.ones(COUNT, dtype=torch.long), images=images)
    weight = model.weight[0] - model.weight[1]
    return batch, weight


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("torchattacks:PGDL2", {"random_start": False, "steps": 10}),
        ("foolbox:L2PGD", {"random_start": False}),
        ("foolbox:L2BasicIterativeAttack", {}),
        ("foolbox:FGM", {}),
    ],
)
def test_it_ends_at_the_point_of_the_ball_that_is_worst(
    name: str, constants: dict[str, Any]
) -> None:
    scale = 0.02  # so small that no probability is nearly 1
    made, weight = linear(scale)
    x_adv = run(name, made, **constants)
    worst = made.x + float(EPS) * weight / weight.norm()
    assert (x_adv - worst).abs().max() < 3e-6  # fifty steps round
    margin = (made.model(x_adv) - made.model(made.x)) @ torch.tensor([1.0, -1.0])
    assert margin.tolist() == pytest.approx(
        [scale * float(EPS) * float(weight.norm())] * COUNT, rel=1e-5
    )


@pytest.mark.parametrize("name", ["foolbox:L2DeepFoolAttack", "foolbox:DDNAttack"])
def test_an_attack_that_looks_for_the_nearest_example_is_cut_to_the_budget(name: str) -> None:
    made, weight = linear()
    margin = (made.model(made.x) @ torch.tensor([-1.0, 1.0])).abs()
    eps = Fraction(float((margin / weight.norm()).max() / 2)).limit_denominator(1000)
    made.y = made.model(made.x).argmax(1)
    lengths = distances(made.x, run(name, made, eps, steps=200)).l2
    assert lengths.max() == pytest.approx(float(eps), rel=1e-5)


def test_the_note_on_torchattacks_is_true() -> None:
    """Where gradients are tiny its steps shrink; those of pgd do not."""
    shares = []
    for name in ("torchattacks:PGDL2", "pgd"):
        made, _ = linear(scale=1e-10)
        x_adv = run(name, made, random_start=False, steps=1, rel_step=0.2)
        shares.append(float(distances(made.x, x_adv).l2.max() / float(EPS)))
    assert shares[0] < 0.15
    assert shares[1] == pytest.approx(0.2, rel=1e-5)
    made, _ = linear()
    starts = run("torchattacks:PGDL2", made, steps=1, rel_step=0.0) - made.x
    assert (distances(made.x, made.x + starts).l2 < 0.95 * float(EPS)).any()
    assert "shrink where a network is confident" in find_attack("torchattacks:PGDL2").notes[-1]


@pytest.mark.parametrize(
    ("name", "is_moved"),
    [
        ("pgd", True),
        ("torchattacks:PGDL2", False),
        ("torchattacks:APGD", False),
        ("foolbox:L2PGD", False),
    ],
)
def test_where_a_network_is_sure_steps_of_libraries_on_the_cross_entropy_vanish(
    name: str, is_moved: bool
) -> None:
    """What docs/threats.md says of them; a version that is repaired should be said so there."""
    made, weight = linear()
    margins = made.model(made.x) @ torch.tensor([1.0, -1.0])
    made, _ = linear(scale=float(60 / margins.abs().min()))
    made.y = (margins < 0).long()
    eps = Fraction(float(2 * margins.abs().max() / weight.norm())).limit_denominator(100)
    right = made.model(run(name, made, eps)).argmax(1) == made.y
    assert right.tolist() == [not is_moved] * COUNT


@pytest.fixture(scope="module")
def bundled() -> AttackBatch:
    """Images of Fashion-MNIST with a bundled network."""
    model = load_model("fmnist_deit", "bundled")
    data = limit_dataset(open_dataset("fashion-mnist:test1000"), COUNT)
    pixels = [data.pixels(index, model.preprocessing) for index in range(COUNT)]
    x = torch.cat([to_tensor(image[None], torch.device("cpu")) for image in pixels])
    return AttackBatch(model, x, torch.tensor(data.labels), images=data.ids)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in EVERY["l2"] if name != WITHOUT_CONSTANTS])
def test_a_bundled_model_is_never_more_often_right_under_it(
    name: str, bundled: AttackBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyautoattack.AutoAttack", ShortAutoAttack)
    x_adv = run(name, bundled, EPS, **small(name))
    right = {
        condition: int((bundled.model(x).argmax(1) == bundled.y).sum())
        for condition, x in (("clean", bundled.x), ("attacked", x_adv))
    }
    assert right["attacked"] <= right["clean"] or name in BLIND
    assert right["clean"] > 0
