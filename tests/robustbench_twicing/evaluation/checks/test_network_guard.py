"""An attack that changes the network is an error row, and nothing else in the run notices."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.errors import ModelChangedError
from robustbench_twicing.evaluation import rows
from robustbench_twicing.evaluation.runner import Run
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import PREPROCESSING, ConvNet, noise, quick_conditions, run, table, text

SCALES = [1.0]
"""What the network's answer is multiplied by; a variable of its module."""


class Watched(ConvNet):
    """Reads its scale from a list, a plain tensor, a closure and a variable of the module."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = torch.ones(1)
        self.options: dict[str, Any] = {"scale": 1.0, "deep": [torch.ones(1)]}
        self.calls = 0
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Network input to logits; remembers what nobody asks for."""
        self.calls += 1
        self.last = super().forward(x) * self.plain * SCALES[0] * self.options["scale"]
        logits: Tensor = self.last * self.options["deep"][0]
        return logits


def classifier() -> Classifier:
    return Classifier(Watched(), PREPROCESSING, ModelRecord("watched"))


def weight(model: Classifier) -> nn.Parameter:
    return next(model.network.parameters())


def numpy_view(model: Classifier) -> None:
    weight(model).detach().numpy()[...] *= 3


def forward_hook(model: Classifier) -> None:
    model.network.register_forward_hook(lambda module, inputs, logits: -logits)


def patched_forward(model: Classifier) -> None:
    forward = model.network.forward
    model.network.forward = lambda x: forward(x).roll(1, 1)


def patched_class(model: Classifier) -> None:
    ConvNet.forward = lambda self, x: -self.head.weight[:, :3].sum(1).expand(len(x), 5)  # type: ignore[method-assign]


def global_hook(model: Classifier) -> None:
    nn.modules.module.register_module_forward_hook(lambda module, inputs, out: 2 * out)


def replaced_gelu(model: Classifier) -> None:
    F.gelu = F.relu  # type: ignore[assignment]


class Alike:
    """A stand-in that equals whatever it is compared with."""

    def __call__(self, x: Tensor) -> Tensor:
        """The input."""
        return x

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def stand_in(model: Classifier) -> None:
    F.silu = Alike()  # type: ignore[assignment]


def other_storage(model: Classifier) -> None:
    weight(model).data = torch.zeros_like(weight(model))


def replaced_parameter(model: Classifier) -> None:
    model.network.head.weight = nn.Parameter(torch.zeros(5, 8))  # type: ignore[union-attr]


def replaced_module(model: Classifier) -> None:
    model.network.bn = nn.Identity()


def batch_norm_learns(model: Classifier) -> None:
    model.train()
    model(torch.rand(4, 3, 8, 8))
    model.eval()


def mean(model: Classifier) -> None:
    assert model.normalize is not None
    model.normalize.mean.data.add_(0.2)


def scales(model: Classifier) -> None:
    SCALES[0] = -1.0


CHANGES: dict[str, Callable[[Classifier], Any]] = {
    "network.first.weight": lambda model: weight(model).data.mul_(2),
    "network.first.weight ": numpy_view,
    "network.first.weight  ": other_storage,
    "network.head.weight": replaced_parameter,
    "network.bn": replaced_module,
    "network.bn.running_mean": batch_norm_learns,
    "network._forward_hooks": forward_hook,
    "network.forward": patched_forward,
    "ConvNet.forward": patched_class,
    "torch's global_forward_hooks": global_hook,
    "torch.nn.functional.gelu": replaced_gelu,
    "torch.nn.functional.silu": stand_in,
    "robustbench_twicing.evaluation.rows.affected": lambda model: vars(rows).pop("affected"),
    "Tensor.fmod": lambda model: setattr(Tensor, "fmod", torch.add),
    "normalize.mean": mean,
    "training": lambda model: model.train(),
    "network.first.weight   ": lambda model: model.requires_grad_(True),
    "grad mode": lambda model: torch.set_grad_enabled(False),
    "default dtype": lambda model: torch.set_default_dtype(torch.float64),
    "determinism": lambda model: torch.use_deterministic_algorithms(True),
    "matmul precision": lambda model: torch.set_float32_matmul_precision("medium"),
    "random generator": lambda model: torch.rand(1),
    "network.plain": lambda model: model.network.plain.mul_(-1),  # type: ignore[operator]
    "network.options.scale": lambda model: vars(model.network)["options"].update(scale=-1.0),
    "network.options.deep": lambda model: vars(model.network)["options"]["deep"][0].mul_(-1),
    "SCALES": scales,
}
"""What an attack does, by what the error row names."""


def attacked(model: Classifier, change: Callable[[Classifier], Any] | None) -> Run:
    """A run in parts of three images, with an attack that does something to the model."""

    def evil(model: Classifier, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        if change is not None:
            change(model)
        return x.clone()

    fgsm, noisy = quick_conditions("fgsm", "noise")
    conditions: dict[str, Any] = {"clean": None, "evil@4/255": evil, fgsm.id: fgsm, noisy.id: noisy}
    return evaluate(model, noise(7), conditions, batch_size=3)


@pytest.fixture(scope="module")
def untouched() -> str:
    """The records of the other conditions where the attack does nothing."""
    done = attacked(classifier(), None)
    assert table(done)["evil@4/255"]["status"] == "ok"
    return text(done.records(), without="evil@4/255")


@pytest.mark.parametrize("name", CHANGES)
def test_the_guilty_attack_is_an_error_row_and_all_else_is_right(name: str, untouched: str) -> None:
    model = classifier()
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    records = attacked(model, CHANGES[name]).records()
    messages = records.loc[records["condition"] == "evil@4/255", "message"]
    assert messages.str.contains(f"changed .*{name.strip()}", regex=True).all(), set(messages)
    assert text(records, without="evil@4/255") == untouched
    assert all(torch.equal(tensor, before[key]) for key, tensor in model.state_dict().items())


def test_what_the_network_remembers_is_nobodys_fault(untouched: str) -> None:
    """`calls` and `last` of the network change whenever it computes."""

    def asks(model: Classifier) -> None:
        model(torch.full((2, 3, 8, 8), 0.5))

    done = attacked(classifier(), asks)
    assert table(done)["evil@4/255"]["status"] == "ok"


class Outside(ConvNet):
    """Its answer lies where nothing in Python refers to it."""

    def forward(self, x: Tensor) -> Tensor:
        """Network input to logits."""
        return super().forward(x) * hidden()


def hidden() -> float:
    return float(Path(__file__).stem in LIMIT.scales) or -1.0


class LIMIT:
    """No variable of a function, but an attribute of a class of no network."""

    scales: tuple[str, ...] = (Path(__file__).stem,)


def test_a_change_that_cannot_be_seen_ends_the_run() -> None:
    def elsewhere(model: Classifier) -> None:
        LIMIT.scales = ()

    with pytest.raises(ModelChangedError, match=r"after evil the network gives other logits"):
        attacked(Classifier(Outside(), PREPROCESSING, ModelRecord("outside")), elsewhere)
    LIMIT.scales = (Path(__file__).stem,)


def flips(batch: AttackBatch, budgets: Sequence[Fraction], **_: Any) -> Iterator[Tensor]:
    for _budget in budgets:
        batch.gradient(batch_threat).neg_()
        yield batch.x.clone()


batch_threat = clean().threat


def test_what_attacks_share_is_put_right_too(tmp_path: Path) -> None:
    (fgsm,) = quick_conditions("fgsm")
    evil = Condition("evil@4/255", "evil", Fraction(4, 255), sweep=flips, white_box=True)
    model = Classifier(ConvNet(), PREPROCESSING, ModelRecord("convnet"))
    spoiled = run(model, noise(4), [clean(), evil, fgsm], tmp_path / "spoiled").records()
    alone = run(model, noise(4), [clean(), fgsm], tmp_path / "alone").records()
    assert text(spoiled, without=evil.id) == text(alone)
    assert "changed the clean gradient in place" in spoiled["message"].dropna().iloc[0]


def closing(batch: AttackBatch, budgets: Sequence[Fraction], **_: Any) -> Iterator[Tensor]:
    try:
        for _budget in budgets:
            yield batch.x.clone()
    finally:
        torch.set_grad_enabled(False)


def test_what_a_sweep_does_at_its_end_changes_nothing(tmp_path: Path) -> None:
    (fgsm,) = quick_conditions("fgsm")
    evil = Condition("evil@4/255", "evil", Fraction(4, 255), sweep=closing)
    model = Classifier(ConvNet(), PREPROCESSING, ModelRecord("convnet"))
    rows = table(run(model, noise(4), [clean(), evil, fgsm], tmp_path / "run"))
    assert (rows["evil@4/255"]["status"], rows[fgsm.id]["status"]) == ("error", "ok")
