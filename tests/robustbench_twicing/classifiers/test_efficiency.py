"""What a forward pass costs, where the answer is known."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from reports.tables.efficiency import COLUMNS
from robustbench_twicing.classifiers import efficiency
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.device import device_name
from robustbench_twicing.classifiers.efficiency import (
    Efficiency,
    fitting_batch,
    free_mib,
    measure_efficiency,
)
from robustbench_twicing.data.preprocessing import Preprocessing
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.build import build_model
from robustbench_twicing.models.facts import count_gmacs
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import PREPROCESSING, SIDE

CPU = torch.device("cpu")


class Mixer(nn.Module):
    """A convolution, a linear layer, and counts of what was asked of it."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 2, stride=2, bias=False)
        self.head = nn.Linear(4, classes)
        self.batches: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, 3, H, W) to logits (N, classes)."""
        self.batches.append(len(x))
        logits: Tensor = self.head(self.conv(x).mean((2, 3)))
        return logits


def mixer(classes: int = 10, preprocessing: Preprocessing = PREPROCESSING) -> Classifier:
    return Classifier(Mixer(classes), preprocessing, ModelRecord("mixer"))


def measured(
    monkeypatch: pytest.MonkeyPatch, seconds: Mapping[str, list[float]], *, batch_size: int = 1
) -> list[Efficiency]:
    """Efficiency of mixers that take these times."""
    monkeypatch.setattr(efficiency, "alternate", lambda *args, **kwargs: seconds)
    models = {label: mixer() for label in seconds}
    return measure_efficiency(models, batch_size=batch_size, rounds=5, device=CPU)


def test_times_are_median_and_quartiles_per_image(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"a": [0.5, 0.1, 0.3, 0.2, 0.4], "b": [1.0, 0.2, 0.6, 0.4, 7.0]}
    first, second = measured(monkeypatch, seconds, batch_size=10)
    assert first.label == "a"
    times = (first.ms_p25, first.ms_per_image_median, first.ms_p75)
    assert times == pytest.approx((20, 30, 40))
    assert second.ms_per_image_median == pytest.approx(60)
    assert (first.ratio, second.ratio) == (1, 2)
    assert first.batch_size == 10


def test_each_model_is_run_in_warm_up_and_rounds_with_whole_batches() -> None:
    models = {"a": mixer(), "b": mixer()}
    measure_efficiency(models, batch_size=3, rounds=4, device=CPU)
    for model in models.values():
        timed, peak, counted = 4 + efficiency.WARM_UP, 1, 1
        assert model.network.batches == [3] * (timed + peak) + [1] * counted


def test_products_and_parameters_are_counted() -> None:
    found = measure_efficiency({"a": mixer(7)}, batch_size=2, rounds=1, device=CPU)[0]
    pixels = (SIDE // 2) ** 2
    assert found.gmacs == pytest.approx((pixels * 4 * 3 * 4 + 4 * 7) / 1e9)
    assert found.params_million == pytest.approx((3 * 4 * 4 + 4 * 7 + 7) / 1e6)
    assert found.threads == torch.get_num_threads()
    assert found.device == device_name(CPU)


def test_memory_holds_weights_and_input_and_what_the_pass_allocates() -> None:
    """Doubling the batch doubles all but the weights."""
    small, large = (
        measure_efficiency({"a": mixer()}, batch_size=size, rounds=1, device=CPU)[0].peak_mib
        for size in (512, 1024)
    )
    normalised_and_input = 2 * 512 * 3 * SIDE**2 * 4 / 2**20
    assert large - small > normalised_and_input
    assert small > normalised_and_input
    weights = 2 * small - large
    network = (3 * 4 * 4 + 4 * 10 + 10 + 6) * 4 / 2**20
    assert network <= weights < network + 0.01


def test_the_network_is_given_its_native_size() -> None:
    sizes: list[int] = []
    model = mixer(preprocessing=Preprocessing(crop=12, resize=None))
    model.network.register_forward_pre_hook(lambda module, inputs: sizes.append(inputs[0].shape[2]))
    measure_efficiency({"a": model}, rounds=1, device=CPU)
    assert set(sizes) == {12}


def test_rows_have_the_columns_of_the_file() -> None:
    found = measure_efficiency({"a": mixer()}, rounds=1, device=CPU)[0]
    assert tuple(found.row()) == COLUMNS
    assert found.row()["gmacs"] == found.gmacs


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("no"), MemoryError()])
def test_too_little_memory_is_the_users_to_mend(error: BaseException) -> None:
    model = mixer()

    def full(*arguments: object) -> None:
        raise error

    model.network.register_forward_pre_hook(full)
    with pytest.raises(UserError, match="does not hold 1 models and 4 images; take a smaller"):
        measure_efficiency({"a": model}, batch_size=4, rounds=1, device=CPU)


def test_other_errors_are_bugs() -> None:
    with pytest.raises(RuntimeError, match="Kernel size"):
        measure_efficiency(
            {"a": mixer(preprocessing=Preprocessing(crop=1, resize=None))}, rounds=1, device=CPU
        )


def test_other_kernels_are_refused_because_they_leave_products_out() -> None:
    record = ModelRecord("mixer", details={"kernels": "onednn"})
    model = Classifier(Mixer(), PREPROCESSING, record)
    with pytest.raises(ValueError, match="measured with kernels='plain'"):
        measure_efficiency({"a": model}, device=CPU)


@pytest.mark.parametrize("family", ["deit", "twicing"])
def test_fused_attention_is_counted_as_explicit(family: str) -> None:
    sizes = {"depth": 2, "embed_dim": 24, "num_heads": 2, "img_size": 32}
    x = torch.zeros(1, 3, 32, 32)
    counts = []
    for form in ("explicit", "fused"):
        network = build_model(family, **sizes, attention=form)
        counts.append(count_gmacs(network, x))
        choices = [each.fused_attn for each in network.modules() if hasattr(each, "fused_attn")]
        assert choices == [form == "fused"] * 2
    assert counts[0] == counts[1]


def test_attention_of_ones_own_is_counted() -> None:
    class Own(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            tokens = x.flatten(2)
            return nn.functional.scaled_dot_product_attention(tokens, tokens, tokens).mean(2)

    assert count_gmacs(Own(), torch.rand(1, 3, 4, 4)) == pytest.approx(2 * 3 * 3 * 16 / 1e9)


OUT_OF_MEMORY = torch.OutOfMemoryError("CUDA out of memory")


@pytest.mark.parametrize(
    ("milliseconds", "most", "free", "wanted"),
    [
        ({32: 4.0, 64: 2.0, 128: 1.0, 256: 0.99}, 512, 1e6, 128),  # no longer faster
        ({32: 4.0, 64: 4.0}, 512, 1e6, 32),
        ({32: 4.0, 64: 2.0, 128: 1.0}, 128, 1e6, 128),  # no more images in a part
        ({32: 4.0, 64: 2.0}, 100, 1e6, 64),
        ({20: 4.0}, 20, 1e6, 20),
        ({32: 4.0, 64: 2.0}, 512, 2 * 128, 64),  # 128 images would take half of what is free
        ({32: 4.0, 64: 2.0, 128: OUT_OF_MEMORY}, 512, 1e6, 64),
    ],
)
def test_a_batch_doubles_while_it_is_faster_and_fits(
    monkeypatch: pytest.MonkeyPatch,
    milliseconds: Mapping[int, float | Exception],
    most: int,
    free: float,
    wanted: int,
) -> None:
    def costs(model: Classifier, size: int) -> tuple[float, float]:
        time = milliseconds[size]
        if isinstance(time, Exception):
            raise time
        return time / 1000, size  # a MiB an image

    monkeypatch.setattr(efficiency, "_gradient_costs", costs)
    monkeypatch.setattr(efficiency, "free_mib", lambda device: free)
    assert fitting_batch(mixer(), most) == wanted


def test_memory_of_a_gradient_and_what_is_free_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seconds, needed = efficiency._gradient_costs(mixer(), 64)
    assert seconds > 0
    images = 64 * 3 * SIDE**2 * 4 / efficiency.MIB
    assert needed > images  # the gradient is as large as they are
    everything = free_mib(CPU)
    assert everything > 1
    (tmp_path / "memory.max").write_text(f"{3 * efficiency.MIB}\n")
    (tmp_path / "memory.current").write_text(f"{efficiency.MIB}\n")
    monkeypatch.setattr(efficiency, "CGROUP", tmp_path)
    assert free_mib(CPU) == 2
    (tmp_path / "memory.max").write_text("max\n")
    assert free_mib(CPU) > 2
