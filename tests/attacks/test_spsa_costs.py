"""What SPSA costs, and what must not change its numbers: chunks, batches, sweeps, an early exit."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attacks import ATTACKS, spsa
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from tests import tiny
from tests.tiny import convnet, images, noise, run

from .spsa_inputs import EPS, PAPER, THREATS, generators, linear

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("chunk", [1, 3, 10, 1000])
@pytest.mark.parametrize("estimate_at", ["iterate", "twice-the-image"])
def test_chunks_and_batches_change_nothing_but_rounding(chunk: int, estimate_at: Any) -> None:
    model, x, y = convnet().double(), images().double(), torch.tensor([0, 1, 2, 3])
    constants: Any = {"eps": EPS, "steps": 4, "samples": 5, "estimate_at": estimate_at}
    whole = spsa(model, x, y, generator=generators(), **constants)
    chunked = spsa(model, x, y, generator=generators(), chunk=chunk, **constants)
    assert torch.allclose(chunked, whole, atol=1e-9)
    for index in (0, 3):
        part = slice(index, index + 1)
        alone = spsa(model, x[part], y[part], generator=generators()[part], **constants)
        assert torch.allclose(alone, whole[part], atol=1e-9)


def test_no_more_images_than_the_chunk_are_evaluated_at_a_time() -> None:
    model, x, y = convnet(), images(), torch.tensor([0, 1, 2, 3])
    sizes = []
    model.register_forward_hook(lambda module, inputs, output: sizes.append(len(output)))
    spsa(model, x, y, eps=EPS, steps=2, samples=7, chunk=10, generator=generators())
    assert max(sizes) == 10
    assert sum(sizes) == 2 * 2 * 7 * 4


@THREATS
def test_an_early_exit_keeps_the_first_iterate_that_fools(threat: ThreatModel) -> None:
    model = linear(scale=0.05)
    x = 0.5 + 0.05 * torch.randn(32, 3, 8, 8, generator=torch.Generator().manual_seed(3)).double()
    y = model(x).argmax(1)
    scale = 1 if threat is PIXEL else 5  # the stds are a quarter, and less
    constants: Any = {
        "eps": 0.04 * scale,
        "samples": 4,
        "learning_rate": 0.004 * scale,
        "threat": threat,
    }

    def after(steps: int, early_exit: bool) -> Tensor:
        return spsa(
            model, x, y, steps=steps, early_exit=early_exit, generator=generators(32), **constants
        )

    iterates = torch.stack([after(steps, False) for steps in range(9)])
    fooled = torch.stack([model(each).argmax(1) != y for each in iterates])
    first = torch.where(fooled.any(0), fooled.int().argmax(0), 8)
    assert len(set(first.tolist())) > 2, "all leave at once, which tests nothing"
    assert 8 in first.tolist()
    found = after(8, True)
    assert torch.allclose(found, iterates[first, torch.arange(32)], atol=1e-12)


def test_it_follows_no_gradient_and_keeps_no_graph() -> None:
    model = convnet()
    model.requires_grad_(True)
    graphs = []
    model.register_forward_hook(lambda module, inputs, out: graphs.append(out.requires_grad))
    x_adv = spsa(
        model,
        images(),
        torch.tensor([0, 1, 2, 3]),
        eps=EPS,
        steps=2,
        samples=4,
        early_exit=True,
        generator=generators(),
    )
    assert graphs
    assert not any(graphs)
    assert not x_adv.requires_grad
    assert all(each.grad is None for each in model.parameters())


@pytest.mark.parametrize("protocol", ["pixel", "paper"])
def test_its_passes_are_counted_and_known_beforehand(protocol: str, tmp_path: Path) -> None:
    steps, samples, count = 3, 8, 5
    asked = ATTACKS["spsa"].condition(
        Fraction(4, 255), protocol, {"steps": steps, "samples": samples}
    )
    forward = 2 * samples * steps + 1
    assert asked.passes == (forward, 0)
    done = tiny.run(convnet(), tiny.noise(count), [clean(protocol), asked], tmp_path / "run")
    row = tiny.table(done)["spsa@4/255"]
    assert row["n_forward"] == count * forward + 1  # one image in eight is scored in 8 bits
    assert row["n_backward"] == 0


@THREATS
def test_a_sweep_is_each_budget_alone_with_streams_of_its_own(threat: ThreatModel) -> None:
    model, x, y = convnet(), images(), torch.tensor([0, 1, 2, 3])
    settings = {"steps": 3, "samples": 4}
    budgets = [Fraction(4, 255), Fraction(0), Fraction(1, 255)]
    batch = AttackBatch(model, x, y, images=list("abcd"), seed=7)
    swept = list(ATTACKS["spsa"].sweep(batch, budgets, threat=threat, settings=settings))
    assert torch.equal(swept[1], x)
    for eps, found in zip(budgets, swept, strict=True):
        streams = batch.generators("spsa", settings, eps)
        alone: Any = spsa(
            model, x, y, eps=float(eps), threat=threat, steps=3, samples=4, generator=streams
        )
        assert torch.equal(found, alone)


@pytest.mark.parametrize("protocol", ["pixel", "paper"])
def test_spsa_any_is_right_only_where_spsa_is_and_an_image_stays_as_it_was_when_first_fooled(
    protocol: str, tmp_path: Path
) -> None:
    """Both follow the same path until an image is fooled."""
    small = {"steps": 6, "samples": 4}
    conditions = [
        ATTACKS[name].condition(Fraction(32, 255), protocol, small) for name in ("spsa", "spsa-any")
    ]
    done = run(convnet(), noise(40), conditions, tmp_path / "run", batch_size=40)
    rows = done.records().set_index("condition")
    last, any_step = (rows.loc[each.id]["rank"].to_numpy() == 0 for each in conditions)
    assert (last | ~any_step).all()
    unfooled = rows.loc[conditions[1].id]["loss"].to_numpy()[any_step]
    assert unfooled.tolist() == rows.loc[conditions[0].id]["loss"].to_numpy()[any_step].tolist()
    assert 0 < any_step.sum() < 40


def test_under_paper_spsa_any_leaves_images_wrong_that_are_wrong_already() -> None:
    """Away from its wrong prediction an image would become right, and count as never fooled."""
    model, x = linear(), images().double()
    right = model(x).argmax(1)
    batch = AttackBatch(model, x, 1 - right, images=list("abcd"))
    settings = {"steps": 20, "samples": 64, "learning_rate": 0.05, "estimate_at": "iterate"}
    assert batch.target(PAPER).tolist() == right.tolist()
    found: dict[bool, Tensor] = {}
    for exits in (False, True):
        name = "spsa-any" if exits else "spsa"
        sweep = ATTACKS[name].sweep(batch, [Fraction(1, 2)], threat=PAPER, settings=settings)
        found[exits] = model(next(sweep)).argmax(1)
    assert (found[False] != right).all()
    assert (found[True] == right).all()
