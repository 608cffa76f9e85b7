"""The worst of several runs, image by image, and what more of them do to a number."""

from fractions import Fraction
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from attacks import ATTACKS
from attacks.restarts import worst_of
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import SIDE, Halfspace, greys, run, table


class Levels(nn.Module):
    """Logits (0, ten times the mean pixel): class 1 above 0, class 0 below."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        level = 10 * x.flatten(1).mean(1)
        return torch.stack([torch.zeros_like(level), level], 1)


def flat(*levels: float) -> Tensor:
    return torch.tensor(levels).view(-1, 1, 1, 1).expand(-1, 3, 2, 2).clone()


def batch(model: nn.Module | None = None, labels: tuple[int, ...] = (0, 0, 1)) -> AttackBatch:
    names = [str(number) for number in range(len(labels))]
    x = flat(*[0.0] * len(labels))
    return AttackBatch(model or Levels(), x, torch.tensor(labels), images=names)


def test_each_image_gets_its_own_worst() -> None:
    first, second = flat(0.3, -0.1, 0.5), flat(0.2, -0.2, -0.5)
    found = worst_of(batch(), [first, second])
    assert found[:, 0, 0, 0].tolist() == pytest.approx([0.3, -0.1, -0.5])
    assert torch.equal(worst_of(batch(), [second, first]), found)


def test_to_fool_counts_more_than_any_loss() -> None:
    """In three classes a wrong answer may cost less than a right one that is barely so."""

    class Table(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            nearly = torch.tensor([1.001, 1.0, 1.0, 1.0])
            wrong = torch.tensor([1.0, 1.2, -5.0, -5.0])
            return torch.where((x.flatten(1).amax(1) > 0.5)[:, None], wrong, nearly)

    right, fooled = flat(0.1), flat(0.9)
    made = batch(Table(), labels=(0,))
    assert torch.equal(worst_of(made, [right, fooled]), fooled)
    assert torch.equal(worst_of(made, [fooled, right]), fooled)


def test_a_single_run_is_not_scored() -> None:
    class Silent(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise AssertionError

    only = flat(0.1, 0.2, 0.3)
    assert worst_of(batch(Silent()), [only]) is only


def test_no_graph_is_kept() -> None:
    graphs = []

    class Watched(Levels):
        def forward(self, x: Tensor) -> Tensor:
            graphs.append(torch.is_grad_enabled())
            return super().forward(x)

    worst_of(batch(Watched()), [flat(0.1, 0.2, 0.3), flat(0.3, 0.2, 0.1)])
    assert graphs == [False, False]


def test_logits_that_are_no_numbers_are_not_passed_over() -> None:
    """The candidate is kept, so that the score refuses it."""
    model = Levels()
    nan = flat(0.1, float("nan"), 0.1)
    for candidates in ([flat(0.2, 0.2, 0.2), nan], [nan, flat(0.2, 0.2, 0.2)]):
        assert worst_of(batch(model), candidates)[1].isnan().all()


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["pixel", "paper"])
def test_more_restarts_are_never_more_accurate(protocol: str, tmp_path: Path) -> None:
    """Images half a grey level from the boundary, and steps so short that the start decides."""
    identity = Preprocessing(crop=SIDE, resize=None, mean=(0, 0, 0), std=(1, 1, 1))
    model = Classifier(Halfspace(), identity, ModelRecord("halfspace"))
    data = greys([127, 128] * 20, [0, 1] * 20)
    right: list[set[str]] = []
    for restarts in (1, 2, 5):
        settings = {"steps": 1, "rel_step": 0.01, "restarts": restarts}
        asked = ATTACKS["pgd"].condition(Fraction(16, 255), protocol, settings)
        out = tmp_path / f"{restarts}"
        done = run(model, data, [clean(protocol), asked], out, batch_size=16)
        rows = done.records()
        right.append(set(rows[(rows["condition"] != "clean") & (rows["rank"] == 0)]["image"]))
        row = table(done)["pgd@16/255"]
        assert row["n_forward"] == 40 * (restarts + (restarts if restarts > 1 else 0) + 1) + 5
        assert (f"restarts={restarts}" in row["flags"].split(";")) == (restarts > 1)
    assert right[2] < right[1] < right[0]


def test_the_passes_are_known_beforehand() -> None:
    for restarts, forward in ((1, 20 + 1), (3, 3 * 20 + 3 + 1)):
        asked = ATTACKS["pgd"].condition(Fraction(1, 255), overrides={"restarts": restarts})
        assert asked.passes == (forward, restarts * 20)


def test_restarts_that_would_all_be_the_same_run_are_refused() -> None:
    constants = {"restarts": 2, "random_start": False}
    with pytest.raises(UserError, match="attack pgd: restarts without a random start"):
        ATTACKS["pgd"].condition(Fraction(1, 255), "pixel", constants)
    alone = ATTACKS["pgd"].condition(Fraction(1, 255), "pixel", {"random_start": False})
    assert alone.settings["restarts"] == 1
