"""Prediction, rank, loss and distance of each image."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.errors import BrokenAttackError
from robustbench_twicing.evaluation.rows import linf, score

LOGITS = torch.tensor([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [0.0, 5.0, 5.0]])


def test_scores_by_hand() -> None:
    scores = score(LOGITS, torch.tensor([0, 1, 2, 2]))
    assert scores.prediction.tolist() == [0, 0, 0, 1]
    assert scores.rank.tolist() == [0, 2, 1, 1]
    total = math.log(math.exp(3) + math.exp(1) + math.exp(2))
    tie = math.log(1 + 2 * math.exp(5)) - 5
    assert scores.loss.tolist() == pytest.approx([total - 3, total - 1, total - 2, tie], abs=1e-12)
    assert scores.loss.dtype == torch.float64


def test_among_equal_logits_the_lower_class_comes_first() -> None:
    logits = torch.zeros(7, 7)
    scores = score(logits, torch.arange(7))
    assert scores.prediction.tolist() == [0] * 7
    assert scores.rank.tolist() == list(range(7))


@pytest.mark.slow
@given(st.lists(st.integers(-2, 2), min_size=2, max_size=9), st.data())
def test_the_rank_is_the_place_in_the_sorted_classes(row: list[int], data: st.DataObject) -> None:
    y = data.draw(st.integers(0, len(row) - 1))
    order = sorted(range(len(row)), key=lambda index: (-row[index], index))
    scores = score(torch.tensor([row], dtype=torch.float32), torch.tensor([y]))
    assert scores.rank.item() == order.index(y)
    assert scores.prediction.item() == order[0]
    assert (scores.rank.item() == 0) == (scores.prediction.item() == y)


def test_loss_is_computed_in_double_precision() -> None:
    scores = score(torch.tensor([[40.0, 0.0]]), torch.tensor([0]))
    assert scores.loss.item() == pytest.approx(math.exp(-40), rel=1e-3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_logits_that_cannot_be_ranked_are_refused(value: float) -> None:
    logits = LOGITS.clone()
    logits[2, 1] = value
    with pytest.raises(BrokenAttackError, match="logits are not finite"):
        score(logits, torch.tensor([0, 0, 0, 0]))


def test_scores_carry_no_graph() -> None:
    scores = score(LOGITS.clone().requires_grad_(), torch.tensor([0, 1, 2, 2]))
    assert not scores.loss.requires_grad


def test_the_distance_is_the_largest_change_of_any_pixel() -> None:
    x = torch.full((2, 3, 4, 4), 0.5)
    x_adv = x.clone()
    x_adv[0, 2, 3, 1] -= 0.25
    x_adv[0, 1, 0, 0] += 0.125
    x_adv[1] += 0.0625
    assert linf(x, x_adv).tolist() == [0.25, 0.0625]
    assert linf(x, x_adv).dtype == torch.float64
