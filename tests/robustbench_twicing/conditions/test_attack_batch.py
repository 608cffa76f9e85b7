"""Clean logits and gradient of a batch, computed once."""

from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.gradient import input_gradient
from robustbench_twicing.classifiers.snapshots import same_bits
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.threat_model import PIXEL, ThreatModel
from robustbench_twicing.errors import BrokenAttackError
from robustbench_twicing.seeds import image_generators
from tests.tiny import Linear

PREDICTED = ThreatModel(label="predicted")
X = torch.rand(3, 3, 8, 8, generator=torch.Generator().manual_seed(1))
Y = torch.tensor([0, 1, 2])
IMAGES = ["a", "b", "c"]


class Counting(nn.Module):
    """A linear model that counts its forward passes."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Linear(classes=3)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        self.calls += 1
        logits: Tensor = self.inner(x)
        return logits


def test_logits_and_gradient_come_from_one_forward_pass() -> None:
    model = Counting()
    batch = AttackBatch(model, X, Y, images=IMAGES, keep_graph=True)
    assert torch.equal(batch.logits, model.inner(X))
    assert not batch.logits.requires_grad
    wanted = input_gradient(model.inner, X, Y)
    for _ in range(3):
        assert torch.equal(batch.gradient(PIXEL), wanted)
    assert torch.equal(batch.logits, model.inner(X))
    assert model.calls == 1


def test_the_gradient_may_be_asked_for_first() -> None:
    model = Counting()
    batch = AttackBatch(model, X, Y, images=IMAGES, keep_graph=True)
    assert torch.equal(batch.gradient(PIXEL), input_gradient(model.inner, X, Y))
    assert torch.equal(batch.logits, model.inner(X))


def test_a_gradient_that_is_no_number_is_said_to_be_so_every_time() -> None:
    class Rooted(nn.Module):
        """The gradient of the square root of a negative number is none."""

        def forward(self, x: Tensor) -> Tensor:
            return (x * 0).flatten(1)[:, :3].sqrt()

    batch = AttackBatch(Rooted(), X, Y, images=IMAGES, keep_graph=True)
    for _ in range(2):
        with pytest.raises(BrokenAttackError, match="not a number"):
            batch.gradient(PIXEL)
    assert torch.isfinite(batch.logits).all()


def test_without_a_graph_the_gradient_costs_a_pass_of_its_own() -> None:
    model = Counting()
    batch = AttackBatch(model, X, Y, images=IMAGES)
    assert not batch.logits.requires_grad
    assert torch.equal(batch.gradient(PIXEL), input_gradient(model.inner, X, Y))
    assert model.calls == 2


def test_each_attacked_label_has_its_own_gradient() -> None:
    model = Linear(classes=3)
    predicted = model(X).argmax(1)
    labels = (predicted + 1) % 3
    batch = AttackBatch(model, X, labels, images=IMAGES, keep_graph=True)
    assert torch.equal(batch.target(PIXEL), labels)
    assert torch.equal(batch.target(PREDICTED), predicted)
    for _ in range(2):
        assert torch.equal(batch.gradient(PIXEL), input_gradient(model, X, labels))
        assert torch.equal(batch.gradient(PREDICTED), input_gradient(model, X, predicted))


def test_the_images_are_not_changed_and_keep_no_graph() -> None:
    before = X.clone()
    batch = AttackBatch(Linear(classes=3), X, Y, images=IMAGES, keep_graph=True)
    gradient = batch.gradient(PIXEL)
    assert torch.equal(X, before)
    assert not batch.x.requires_grad
    assert not gradient.requires_grad


def test_generators_are_fresh_and_keyed_by_the_run() -> None:
    batch = AttackBatch(Linear(), X, Y, images=IMAGES, seed=5)
    for _ in range(2):
        made = batch.generators("pgd", {"steps": 3}, Fraction(8, 510), restart=2)
        wanted = image_generators(5, IMAGES, "pgd", {"steps": 3}, "4/255", 2)
        assert [each.initial_seed() for each in made] == [each.initial_seed() for each in wanted]
        torch.rand(1, generator=made[0])


class Lying(Tensor):
    """Equals everything."""

    @classmethod
    def __torch_function__(cls, func: Any, *_: Any, **__: Any) -> Any:
        return True


class Failing(Tensor):
    """Answers nothing."""

    @classmethod
    def __torch_function__(cls, func: Any, *_: Any, **__: Any) -> Any:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "spoil", ["value", "sign of zero", "type", "a type that fails", "another tensor", "gone"]
)
def test_whatever_is_done_to_the_clean_images_is_seen(spoil: str) -> None:
    x = X.clone()
    x[0, 0, 0, 0] = 0
    batch = AttackBatch(Linear(classes=3), x.clone(), Y, images=IMAGES)
    assert batch.put_back() == []
    if spoil == "value":
        batch.x.data[-1, -1, -1, -1] += 1e-7
    elif spoil == "sign of zero":
        batch.x[0, 0, 0, 0] = -0.0
    elif spoil == "type":
        batch.x.__class__ = Lying
    elif spoil == "a type that fails":
        batch.x.__class__ = Failing
    elif spoil == "gone":
        del batch.x
    else:
        batch.x = (x + 1).as_subclass(Lying)
    assert batch.put_back() == ["the clean images in place"]
    assert batch.put_back() == []
    assert torch.equal(batch.x, x)


def test_all_that_was_changed_is_put_back_at_once() -> None:
    batch = AttackBatch(Linear(classes=3), X.clone(), Y.clone(), images=IMAGES)
    logits, gradient = batch.logits.clone(), batch.gradient(PIXEL).clone()
    batch.x.zero_()
    batch.y.zero_()
    batch.logits.zero_()
    batch._gradients.clear()
    batch.seed = 1
    assert batch.put_back() == [
        *(f"the clean {name} in place" for name in ("images", "labels", "logits", "gradient")),
        "the model, the image ids or the seed of its batch",
    ]
    assert torch.equal(batch.x, X)
    assert torch.equal(batch.y, Y)
    assert torch.equal(batch.logits, logits)
    assert torch.equal(batch.gradient(PIXEL), gradient)
    assert batch.seed == 0
    assert batch.put_back() == []


def test_image_ids_cannot_be_changed_in_place() -> None:
    ids = list(IMAGES)
    batch = AttackBatch(Linear(classes=3), X, Y, images=ids)
    ids.reverse()
    assert list(batch.images) == IMAGES


def test_images_that_were_made_to_follow_gradients_do_so_no_longer() -> None:
    batch = AttackBatch(Linear(classes=3), X.clone(), Y, images=IMAGES)
    batch.x.requires_grad_()
    assert batch.put_back() == []
    assert not batch.x.requires_grad
    assert torch.equal(batch.x, X)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bfloat16])
def test_tensors_of_the_same_bits_are_told_from_others(dtype: torch.dtype) -> None:
    numbers = torch.arange(24).reshape(2, 3, 4).to(dtype)
    assert same_bits(numbers, numbers.clone())
    assert same_bits(numbers.mT, numbers.mT.contiguous())
    other = numbers.clone()
    other[1, 2, 3] = 0
    assert not same_bits(numbers, other)
    assert not same_bits(numbers, numbers[:1])
    assert not same_bits(numbers, numbers.to(torch.float16))


def test_a_tensor_that_was_compared_can_still_be_made_larger() -> None:
    buffer = torch.rand(3)
    assert same_bits(buffer, buffer.clone())
    assert torch.add(torch.zeros(5), 1, out=buffer.resize_(0)).tolist() == [1.0] * 5


def test_values_that_are_no_numbers_have_the_same_bits() -> None:
    nothing = torch.full((3,), float("nan"))
    assert same_bits(nothing, nothing.clone())
