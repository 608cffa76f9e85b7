"""One function from pixels to logits."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from robustbench_twicing.classifiers.classifier import Classifier, Normalize, std_of
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import PREPROCESSING, ConvNet, Linear

X = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
RECORD = ModelRecord("a model")


def test_normalisation_is_the_first_layer() -> None:
    network = Linear(classes=4)
    model = Classifier(network, PREPROCESSING, RECORD)
    mean, std = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.25, 0.3])
    shifted = (X.movedim(1, -1) - mean) / std
    assert torch.allclose(model(X), network(shifted.movedim(-1, 1)), atol=1e-6)
    assert model.std.tolist() == pytest.approx([0.2, 0.25, 0.3])


def test_pixels_may_go_in_as_they_are() -> None:
    network = Linear(classes=4)
    model = Classifier(network, PREPROCESSING, RECORD, normalize=False)
    assert torch.equal(model(X), network(X))
    assert model.std.tolist() == [1, 1, 1]


def test_a_class_subset_is_the_last_layer_in_the_order_given() -> None:
    network = Linear(classes=6)
    model = Classifier(network, PREPROCESSING, RECORD, classes=[5, 0, 3], normalize=False)
    assert torch.equal(model(X), network(X)[:, [5, 0, 3]])


def test_it_is_frozen_and_in_eval_mode_even_in_train_mode_weights() -> None:
    model = Classifier(ConvNet().train(), PREPROCESSING, RECORD)
    assert not any(module.training for module in model.modules())
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert torch.equal(model(X), model(X))


def test_layers_move_with_the_model() -> None:
    model = Classifier(Linear(), PREPROCESSING, RECORD, classes=[1, 0])
    buffers = dict(model.named_buffers())
    assert {"normalize.mean", "normalize.std", "select.classes"} <= set(buffers)
    assert model.to("meta").device.type == "meta"
    assert all(buffer.device.type == "meta" for buffer in model.buffers())


def test_a_network_without_tensors_is_on_the_cpu() -> None:
    assert Classifier(nn.Flatten(), PREPROCESSING, RECORD).device == torch.device("cpu")


class Returns(nn.Module):
    """Returns what it was told to."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: Tensor) -> Any:
        """Pixels to anything."""
        return self.value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (torch.zeros(2, 3, 4), r"a tensor of shape \(2, 3, 4\)"),
        (torch.zeros(2), r"a tensor of shape \(2,\)"),
        (torch.zeros(1, 4), r"a tensor of shape \(1, 4\)"),
        ((torch.zeros(2, 4), torch.zeros(2, 4)), "a tuple of 2 things"),
        ([torch.zeros(2, 4)], "a list of 1 things"),
        ({"logits": torch.zeros(2, 4), "aux": 1}, "a dict with keys logits, aux"),
        (None, "a NoneType"),
    ],
)
def test_what_is_not_logits_is_described(value: Any, words: str) -> None:
    model = Classifier(Returns(value), PREPROCESSING, RECORD)
    with pytest.raises(UserError, match=rf"^a model returned {words}; .*\(2, classes\)$"):
        model(X)


def test_only_a_classifier_knows_its_std() -> None:
    assert std_of(Linear()) is None
    model = Classifier(Linear(), PREPROCESSING, RECORD)
    assert torch.equal(torch.as_tensor(std_of(model)), model.std)


def test_layers_by_hand() -> None:
    layer = Normalize((0.5, 0.25, 0.0), (0.5, 0.25, 1.0))
    assert layer(torch.ones(1, 3, 1, 1)).flatten().tolist() == [1, 3, 1]
