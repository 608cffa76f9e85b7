"""Logits of a data set's labels: 200 of 1000, and many classes to one label."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.label_layers import BestFirst, Select, label_layer
from robustbench_twicing.data.imagenet import (
    LabelSpace,
    subset_indices,
    subset_space,
)
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation.rows import score
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import PREPROCESSING, SIDE, Linear

GROUPS = ((3,), (9, 0, 4), (7, 1))


def logits(seed: int, classes: int = 1000, images: int = 40) -> torch.Tensor:
    return torch.randn(images, classes, generator=torch.Generator().manual_seed(seed))


def test_select_by_hand() -> None:
    assert Select([2, 0])(torch.tensor([[1.0, 2.0, 3.0]])).tolist() == [[3, 1]]


@pytest.mark.parametrize("which", ["imagenet-a", "imagenet-r"])
def test_200_way_equals_masking_the_others(which: str) -> None:
    everything, indices = logits(1), list(subset_indices(which))
    labels = torch.arange(40) * 5 % 200
    masked = torch.full_like(everything, -torch.inf)
    masked[:, indices] = everything[:, indices]
    own = label_layer(subset_space(which))(everything)
    true = torch.tensor(indices)[labels]
    scores = score(own, labels)
    assert torch.tensor(indices)[scores.prediction].equal(masked.argmax(1))
    assert scores.rank.equal((masked > masked.gather(1, true[:, None])).sum(1))
    wanted = torch.nn.functional.cross_entropy(masked.double(), true, reduction="none")
    assert torch.allclose(scores.loss, wanted)


def test_best_first_by_hand() -> None:
    layer = BestFirst(GROUPS, 10)
    made = layer(torch.tensor([[5.0, 1, 2, 0, 6, 3, 4, 8, 7, -1]]))
    assert made.tolist() == [[0, 6, 8, 5, -1, 1, 2, 3, 4, 7]]


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_many_to_one_is_the_rule_of_the_largest_logit(seed: int) -> None:
    everything = logits(seed, 10, 6).round(decimals=1)  # equal logits happen
    made = BestFirst(GROUPS, 10)(everything)
    assert made.sort(1).values.equal(everything.sort(1).values), "a logit was lost or doubled"
    for label, classes in enumerate(GROUPS):
        right = score(made, torch.full((6,), label)).rank
        best = everything[:, list(classes)].amax(1, keepdim=True)
        before = (everything > best).sum(1)
        assert (right >= before).all()
        assert (right <= (everything >= best).sum(1) - 1).all()


def test_an_answer_that_no_label_means_is_wrong() -> None:
    everything = torch.zeros(1, 10)
    everything[0, 2] = 5
    made = BestFirst(GROUPS, 10)(everything)
    assert all(score(made, torch.tensor([label])).rank > 0 for label in range(3))


def test_gradients_reach_the_best_class_of_a_label() -> None:
    everything = torch.tensor([[0.0, 0, 0, 0, 3, 0, 0, 0, 0, 1]], requires_grad=True)
    (gradient,) = torch.autograd.grad(BestFirst(GROUPS, 10)(everything)[0, 1], everything)
    assert gradient.nonzero().tolist() == [[0, 4]]


def linear(classes: int) -> Classifier:
    return Classifier(Linear(classes), PREPROCESSING, ModelRecord("linear"))


def test_a_classifier_answers_in_the_labels_and_shares_its_network() -> None:
    whole = linear(1000)
    own = whole.answering_in(subset_space("imagenet-r"))
    x = torch.rand(3, 3, SIDE, SIDE)
    assert own(x).equal(whole(x)[:, list(subset_indices("imagenet-r"))])
    assert own.network is whole.network
    assert whole.select is None
    assert not own.channels_last


def test_a_classifier_of_labels_keeps_the_memory_format() -> None:
    whole = Classifier(Linear(1000), PREPROCESSING, ModelRecord("linear"), channels_last=True)
    assert whole.answering_in(subset_space("imagenet-r")).channels_last


def test_an_attack_sees_the_labels_alone() -> None:
    own = linear(1000).answering_in(subset_space("imagenet-a"))
    x = torch.rand(1, 3, SIDE, SIDE, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(own(x), torch.tensor([5]))
    (gradient,) = torch.autograd.grad(loss, x)
    weight = own.network.weight[list(subset_indices("imagenet-a"))]  # type: ignore[index]
    share = own(x).detach().softmax(1)[0]
    share[5] -= 1
    std = torch.tensor(PREPROCESSING.std).view(3, 1, 1)
    assert torch.allclose(gradient[0], torch.einsum("k,kchw->chw", share, weight) / std, atol=1e-5)


@pytest.mark.parametrize("space", [subset_space("imagenet-a"), "grouped"])
def test_other_models_are_refused(space: LabelSpace | str) -> None:
    if isinstance(space, str):
        space = LabelSpace("objectnet", ((1, 2), (5,)), others_count=True, convention="mapped-2")
    own = linear(10).answering_in(space)
    with pytest.raises(
        UserError, match=rf"linear has 10 classes; {space.name} .* 1000 of ImageNet"
    ):
        own(torch.rand(1, 3, SIDE, SIDE))
    kept = Classifier(Linear(1000), PREPROCESSING, ModelRecord("linear"), classes=[1, 2])
    with pytest.raises(UserError, match="keeps some classes only"):
        kept.answering_in(space)
