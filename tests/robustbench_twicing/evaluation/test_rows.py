"""Prediction, rank, loss and distance of each image."""

import math

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.data.loader import LoadedBatch
from robustbench_twicing.errors import BrokenAttackError
from robustbench_twicing.evaluation.part import in_order
from robustbench_twicing.evaluation.rows import (
    Columns,
    Outcome,
    as_clean,
    clean_fields,
    joined,
    score,
    score_rows,
)
from robustbench_twicing.records.schema import RECORD_SCHEMA
from tests.tiny import noise

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
    with pytest.raises(BrokenAttackError, match=r"infinity\) in 1 of 4 images, first c.png$"):
        score(logits, torch.tensor([0, 0, 0, 0]), ["a.png", "b.png", "c.png", "d.png"])


def test_scores_carry_no_graph() -> None:
    scores = score(LOGITS.clone().requires_grad_(), torch.tensor([0, 1, 2, 2]))
    assert not scores.loss.requires_grad


def fields(*indices: int, label: str = "m") -> Columns:
    """What is known of some images that a network answers with equal logits."""
    data = noise(4)
    pixels = np.stack([data.images.pixels(index, None) for index in indices])  # type: ignore[arg-type]
    scores = score(torch.zeros(len(indices), 5), torch.zeros(len(indices), dtype=torch.long))
    return clean_fields(label, data, LoadedBatch(0, indices, pixels)) | as_clean(scores)


def rows(columns: Columns, condition: Condition) -> pa.Table:
    count = len(columns["index"])
    scores = score(torch.zeros(count, 5), torch.zeros(count, dtype=torch.long))
    return score_rows(columns, condition, Outcome(scores))


def test_a_part_is_in_the_order_of_images_and_conditions_and_so_are_its_names() -> None:
    first, second = clean(), Condition("b@1/255", attack="b")
    tables = [rows(fields(2, 1), second), rows(fields(2, 1), first)]
    table = in_order(tables, [first, second])
    assert table.schema.equals(RECORD_SCHEMA)
    places = list(zip(table["index"].to_pylist(), table["condition"].to_pylist(), strict=True))
    assert places == [(1, "clean"), (1, "b@1/255"), (2, "clean"), (2, "b@1/255")]
    assert table["condition"].chunk(0).dictionary.to_pylist() == ["clean", "b@1/255"]
    assert in_order([], [first]).num_rows == 0


def test_a_value_that_one_half_of_a_batch_has_stays_with_it() -> None:
    with_gradient = fields(0) | {"gradient": np.array([2.5])}
    table = rows(joined([with_gradient, fields(1)]), clean())
    assert table["gradient"].to_pylist() == [2.5, None]
    assert table["image"].to_pylist() == ["image0.png", "image1.png"]
    assert joined([]) == {}


def test_names_are_recorded_to_their_last_character() -> None:
    table = rows(fields(0, label="odd \x00"), clean())
    assert table["label"].to_pylist() == ["odd \x00"]
