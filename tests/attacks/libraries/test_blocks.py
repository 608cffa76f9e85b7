"""Foreign attacks see blocks of images, each with a seed of its own."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor, nn

from attacks.libraries.blocks import BLOCK, BlockSweep
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.budgets import Norm
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from tests.tiny import Linear

EPS = Fraction(4, 255)
COUNT = 7
NAMES = [f"{number}.png" for number in range(COUNT)]


class Noise:
    """Moves images by global noise, and remembers how it was called."""

    def __init__(self) -> None:
        self.calls: list[tuple[Tensor, Tensor, float, dict[str, Any]]] = []
        self.norms: set[Norm] = set()

    def __call__(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        *,
        eps: float,
        norm: Norm,
        settings: Mapping[str, Any],
    ) -> Tensor:
        self.norms.add(norm)
        self.calls.append((x.clone(), y.clone(), eps, dict(settings)))
        y.zero_()
        return x.add_(eps * torch.rand(x.shape))


def images() -> Tensor:
    return torch.linspace(0, 0.9, COUNT * 192).view(COUNT, 3, 8, 8)


def batch(part: slice = slice(None), seed: int = 0) -> AttackBatch:
    y = torch.arange(COUNT) % 2
    return AttackBatch(Linear(), images()[part], y[part], images=NAMES[part], seed=seed)


def sweep(
    made: AttackBatch,
    *budgets: Fraction,
    attack: Any = None,
    threat: ThreatModel = PIXEL,
    name: str = "noise",
    **settings: Any,
) -> list[Tensor]:
    settings = {"block": 3, "steps": 1, **settings}
    made_of = BlockSweep(name, attack or Noise())
    return list(made_of(made, budgets, threat=threat, settings=settings))


def test_blocks_come_in_order_with_the_constants_and_without_the_block() -> None:
    attack = Noise()
    sweep(batch(), EPS, attack=attack)
    assert [len(x) for x, *_ in attack.calls] == [3, 3, 1]
    assert torch.equal(torch.cat([x for x, *_ in attack.calls]), images())
    assert torch.cat([y for _, y, *_ in attack.calls]).tolist() == [0, 1, 0, 1, 0, 1, 0]
    assert {eps for _, _, eps, _ in attack.calls} == {float(EPS)}
    assert all(settings == {"steps": 1} for *_, settings in attack.calls)


def test_what_it_does_to_its_images_and_labels_stays_with_it() -> None:
    made = batch()
    sweep(made, EPS)
    assert torch.equal(made.x, images())
    assert made.y.tolist() == [0, 1, 0, 1, 0, 1, 0]


def test_no_budget_calls_nothing() -> None:
    attack = Noise()
    zero, some = sweep(batch(), Fraction(0), EPS, attack=attack)
    assert torch.equal(zero, images())
    assert not torch.equal(some, images())
    assert {eps for _, _, eps, _ in attack.calls} == {float(EPS)}


def test_batches_of_whole_blocks_give_the_same_as_one() -> None:
    (whole,) = sweep(batch(), EPS)
    parts = [sweep(batch(part), EPS)[0] for part in (slice(3), slice(3, 6), slice(6, 7))]
    assert torch.equal(torch.cat(parts), whole)


def test_every_block_budget_seed_name_and_constant_draws_for_itself() -> None:
    def drawn(made: AttackBatch, eps: Fraction = EPS, **more: Any) -> Tensor:
        return (sweep(made, eps, **more)[0] - made.x) / float(eps)

    first = drawn(batch())
    assert not torch.allclose(first[:3], first[3:6], atol=1e-3)
    for other in (
        drawn(batch(), 2 * EPS),
        drawn(batch(seed=1)),
        drawn(batch(), name="other"),
        drawn(batch(), steps=2),
        drawn(batch(), block=4),
    ):
        assert not torch.allclose(other[:3], first[:3], atol=1e-3)
    assert torch.equal(drawn(batch()), first)


def test_the_label_is_the_threat_models() -> None:
    model = Linear()
    wrong = 1 - model(images()).argmax(1)
    made = AttackBatch(model, images(), wrong, images=NAMES)
    for label, wanted in (("true", wrong), ("predicted", 1 - wrong)):
        attack = Noise()
        threat: Any = ThreatModel(label=label)  # type: ignore[arg-type]
        sweep(made, EPS, attack=attack, threat=threat)
        assert torch.equal(torch.cat([y for _, y, *_ in attack.calls]), wanted)


def test_the_norm_is_the_threat_models_and_draws_for_itself() -> None:
    drawn = []
    norms: tuple[Norm, ...] = ("linf", "l2")
    for norm in norms:
        attack = Noise()
        threat = ThreatModel(norm=norm)
        drawn += sweep(batch(), EPS, attack=attack, threat=threat)
        assert attack.norms == {norm}
    assert not torch.equal(*drawn)


def test_a_graph_is_cut_off() -> None:
    def attack(model: nn.Module, x: Tensor, y: Tensor, **_: Any) -> Tensor:
        return x.requires_grad_() * 1

    (x_adv,) = sweep(batch(), EPS, attack=attack)
    assert not x_adv.requires_grad


def test_32_images_are_a_block() -> None:
    assert BLOCK == 32
