"""Memory that runs out: smaller batches, said so, and the same numbers."""

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from reports import results
from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.errors import UserError
from robustbench_twicing.evaluation import runner
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import (
    PREPROCESSING,
    ConvNet,
    column,
    convnet,
    flags,
    noise,
    quick_conditions,
    run,
    table,
    text,
)

pytestmark = pytest.mark.slow

CONDITIONS = quick_conditions("clean", "fgsm", "pgd")
CPU = "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried"
ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory."),
    RuntimeError("CUDA out of memory."),  # as libraries raise it anew
    RuntimeError(CPU),
    MemoryError(),
]


class Hungry(ConvNet):
    """Runs out of memory above some number of images, in the forward or the backward pass."""

    def __init__(self, most: int, error: Exception, *, backward: bool = False) -> None:
        super().__init__()
        self.most, self.error, self.backward = most, error, backward

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits."""
        logits = super().forward(x)
        if len(x) <= self.most:
            return logits
        if not self.backward:
            raise self.error
        if logits.requires_grad:
            logits.register_hook(self._fail)  # type: ignore[no-untyped-call]
        return logits

    def _fail(self, gradient: Tensor) -> None:
        raise self.error


def model(network: ConvNet) -> Classifier:
    return Classifier(network, PREPROCESSING, ModelRecord("hungry"))


class Outcome(NamedTuple):
    """results.csv and the records of a run, read once."""

    rows: pd.DataFrame
    records: pd.DataFrame

    @property
    def flags(self) -> set[str]:
        """Flags of any row."""
        return {flag for cell in self.rows["flags"] for flag in cell.split(";") if flag}


def outcome(network: ConvNet, out: Path) -> Outcome:
    done = run(model(network), noise(7), CONDITIONS, out, batch_size=6)
    return Outcome(results(done.folder), done.records())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The run in which everything fits."""
    return outcome(ConvNet(), tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("error", ERRORS, ids=["cuda", "plain", "cpu", "python"])
@pytest.mark.parametrize("most", [1, 3])
def test_batches_are_halved_until_they_fit(
    most: int, error: Exception, backward: bool, whole: Outcome, tmp_path: Path
) -> None:
    done = outcome(Hungry(most, error, backward=backward), tmp_path / "run")
    assert all("batch-halved" in cell.split(";") for cell in done.rows["flags"])
    assert done.flags - whole.flags == {"batch-halved"}
    assert set(done.rows["status"]) == {"ok"}
    for name in ("index", "image", "condition", "prediction", "clean_rank"):
        assert done.records[name].tolist() == whole.records[name].tolist()
    losses = [each.records["loss"].tolist() for each in (done, whole)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    for name in ("top1", "robust_top1", "n_images"):
        assert done.rows[name].tolist() == whole.rows[name].tolist()


def test_memory_that_runs_out_inside_an_attack_halves_the_batch(tmp_path: Path) -> None:
    """Also where the attack leaves the images changed, which would be an error by itself."""

    def hungry(model: nn.Module, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        if len(x) > 2:
            x.zero_()
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return x

    conditions = {"clean": None, "it@4/255": hungry}
    done = evaluate(model(ConvNet()), noise(7), conditions, out=tmp_path / "run", batch_size=6)
    assert table(done)["it@4/255"]["status"] == "ok"
    assert "batch-halved" in flags(done)


@pytest.mark.parametrize("rows", [2, 5])
def test_spsa_halves_the_probes_that_it_evaluates_at_a_time(
    rows: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Sixteen at a time, whatever the size of the batch; the second time none is too large."""
    conditions = quick_conditions("spsa")
    runs = [
        run(model(network), noise(3), conditions, tmp_path / name, batch_size=2)
        for name, network in (("whole", ConvNet()), ("halved", Hungry(rows, MemoryError())))
    ]
    whole, halved = (done.records() for done in runs)
    assert halved["prediction"].tolist() == whole["prediction"].tolist()
    assert halved["loss"].tolist() == pytest.approx(whole["loss"].tolist(), rel=1e-4)
    assert "batch-halved" not in flags(runs[1])
    assert any(
        f"trying {2 if rows == 2 else 4} images at a time" in line for line in caplog.messages
    )


def test_halves_are_as_large_as_fits(tmp_path: Path) -> None:
    """Seven images with room for three become four and three, the four two and two.

    Before them a grey image tells how many logits there are.
    """
    seen: list[int] = []

    class Watching(Hungry):
        """Notes what fits."""

        def forward(self, x: Tensor) -> Tensor:
            """Pixels to logits."""
            logits = super().forward(x)
            seen.append(len(x))
            return logits

    network = Watching(3, MemoryError())
    run(model(network), noise(7), CONDITIONS[:1], tmp_path / "run", batch_size=7)
    assert seen[:4] == [1, 2, 2, 3]
    assert max(seen[4:]) == 2, "the checks show no more images at once than fitted first"


def test_an_image_that_never_fits_is_said_in_one_line(tmp_path: Path) -> None:
    hungry = model(Hungry(0, MemoryError()))
    with pytest.raises(
        UserError, match=r"^hungry: memory ran out on a single image; use a smaller"
    ):
        run(hungry, noise(5), CONDITIONS, tmp_path / "run", batch_size=4)
    assert not (tmp_path / "run").exists()


def test_only_the_part_that_did_not_fit_is_halved(tmp_path: Path) -> None:
    class Once(ConvNet):
        """Runs out of memory at its first pass of several images."""

        failed = False

        def forward(self, x: Tensor) -> Tensor:
            """Pixels to logits."""
            if len(x) > 1 and not self.failed:
                self.failed = True
                raise MemoryError
            return super().forward(x)

    done = run(model(Once()), noise(8), CONDITIONS, tmp_path / "run", batch_size=4)
    (evaluation,) = done.folder.manifest.evaluations
    done.folder.part_path(evaluation, 0).unlink()
    assert done.folder.records(evaluation).flags == ()
    assert "batch-halved" not in flags(done)


def test_memory_that_runs_out_inside_an_attack_is_no_broken_attack(tmp_path: Path) -> None:
    def greedy(model: Any, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        if len(x) > 2:
            raise torch.OutOfMemoryError
        return x

    done = evaluate(model(ConvNet()), noise(5), {"it@1/255": greedy}, out=tmp_path / "run")
    assert column(done, "status") == ["ok"]
    assert "batch-halved" in flags(done)


def test_a_model_that_fails_is_one_line_with_its_place_and_cause(tmp_path: Path) -> None:
    hungry = model(Hungry(2, RuntimeError("a bug")))
    wanted = r"^hungry: the network fails on images of \(4, 3, 8, 8\): RuntimeError: a bug \("
    with pytest.raises(UserError, match=wanted + r"test_runner_memory\.py:\d+\)") as found:
        run(hungry, noise(5), CONDITIONS, tmp_path / "run", batch_size=4)
    assert isinstance(found.value.__cause__, RuntimeError)


def test_a_model_without_a_backward_pass_is_scored_and_its_gradient_attacks_are_errors(
    tmp_path: Path,
) -> None:
    hungry = model(Hungry(0, RuntimeError("no backward"), backward=True))
    done = run(hungry, noise(5), CONDITIONS, tmp_path / "run", batch_size=4)
    whole = run(model(ConvNet()), noise(5), CONDITIONS, tmp_path / "whole", batch_size=4)
    for name, row in table(done).items():
        white_box = name.startswith(("fgsm", "pgd"))
        assert row["status"] == ("error" if white_box else "ok"), name
        if not white_box:
            assert row["top1"] == table(whole)[name]["top1"], name


def test_a_model_that_only_runs_without_a_graph_is_scored_too(tmp_path: Path) -> None:
    class NoGraph(ConvNet):
        """Refuses to be differentiated from its first layer on."""

        def forward(self, x: Tensor) -> Tensor:
            """Pixels to logits."""
            if torch.is_grad_enabled():
                raise RuntimeError("inference only")
            return super().forward(x)

    done = run(model(NoGraph()), noise(5), CONDITIONS, tmp_path / "run", batch_size=4)
    statuses = {name: row["status"] for name, row in table(done).items()}
    assert statuses["clean"] == "ok"
    assert {each for name, each in statuses.items() if name.startswith(("fgsm", "pgd"))} == {
        "error"
    }


def test_a_run_without_shortage_is_bit_for_bit_the_same_again(tmp_path: Path) -> None:
    runs = [run(model(ConvNet()), noise(5), CONDITIONS, tmp_path / name) for name in ("a", "b")]
    assert text(runs[0].records()) == text(runs[1].records())


def test_a_batch_of_what_fits_gives_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever size is taken; and parts do not depend on it."""
    sizes = iter([32, 64])
    monkeypatch.setattr(runner, "fitting_batch", lambda model, most: min(next(sizes), most))
    data = noise(70)
    runs = [
        run(convnet(), data, CONDITIONS, tmp_path / str(size), batch_size=size, part_size=part)
        for size, part in ((None, 0), (None, 0), (70, 512))
    ]
    assert [one.folder.manifest.part_size for one in runs] == [512] * 3
    for one in runs[:2]:
        pd.testing.assert_frame_equal(one.records(), runs[2].records(), rtol=1e-6)


def test_a_finished_run_does_not_look_for_a_batch_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "fitting_batch", lambda model, most: most)
    first = run(convnet(), noise(5), CONDITIONS, tmp_path / "run", batch_size=None)
    monkeypatch.delattr(runner, "fitting_batch")
    again = run(convnet(), noise(5), CONDITIONS, tmp_path / "run", batch_size=None)
    pd.testing.assert_frame_equal(again.records(), first.records())
