"""Gradients that are the mean of several draws of a network: expectation over transformation."""

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attacks import ATTACKS, pgd
from attacks.fmn import fmn
from robustbench_twicing import evaluate
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.gradient import input_gradient, logits_and_gradient
from robustbench_twicing.cli.app import main
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.conditions.threat_model import PIXEL
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.family import ModelRecord
from tests.tiny import PREPROCESSING, Linear, convnet, network_for, noise, run, table

OWN = [name for name, spec in ATTACKS.items() if spec.white_box]


class NoisyWeights(Linear):
    """A linear network whose gradient is that of weights with noise, drawn anew for every image.

    Its answers have none, so that accuracies are exact.
    """

    def __init__(self, size: float) -> None:
        super().__init__(classes=2)
        self.size = size
        self.draws = torch.Generator().manual_seed(0)

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to logits (N, 2)."""
        noise = torch.randn(len(x), *self.weight.shape, generator=self.draws)
        drawn = torch.einsum("nchw,nkchw->nk", x, self.size * noise)
        return super().forward(x) + drawn - drawn.detach()


def noisy(size: float) -> Classifier:
    return Classifier(NoisyWeights(size), PREPROCESSING, ModelRecord("noisy"), normalize=False)


def images(count: int) -> Tensor:
    return torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(1))


def test_a_gradient_is_the_mean_of_its_draws() -> None:
    x, y = images(3), torch.tensor([0, 1, 0])
    model, single = noisy(1.0), noisy(1.0)
    draws = [logits_and_gradient(single, x, y) for _ in range(4)]
    with model.averaging(4):
        logits, gradient = logits_and_gradient(model, x, y)
    assert torch.allclose(gradient, torch.stack([draw.gradient for draw in draws]).mean(0))
    assert torch.allclose(logits, draws[0].logits)
    assert model.expectation == 1
    assert not torch.allclose(gradient, draws[0].gradient)


def test_the_gradient_of_the_clean_images_is_drawn_anew() -> None:
    """The one that diagnostics look at is of a single draw, and is not handed on."""
    x, y = images(3), torch.tensor([0, 1, 0])
    batch = AttackBatch(noisy(1.0), x, y, images=["a", "b", "c"], keep_graph=True)
    _ = batch.logits
    single = batch.gradient(PIXEL)
    with batch.attacking(3):
        mean = batch.gradient(PIXEL)
        assert batch.gradient(PIXEL) is mean
    assert batch.gradient(PIXEL) is single
    other = noisy(1.0)
    _ = other(x)
    with other.averaging(3):
        assert torch.equal(mean, input_gradient(other, x, y))


def test_of_a_network_that_does_not_draw_the_mean_is_the_gradient() -> None:
    x, y = images(3), torch.tensor([0, 1, 0])
    model = convnet()
    plain = fmn(model, x, y, steps=4)
    with model.averaging(2):
        assert torch.equal(fmn(model, x, y, steps=4), plain)


@pytest.mark.parametrize("name", OWN)
def test_every_attack_that_follows_gradients_takes_the_mean(name: str, tmp_path: Path) -> None:
    """As many passes more as gradients, and those at the clean images are shared no longer."""
    is_patch = "patch" in ATTACKS[name].protocols
    protocol, eps = ("patch", Fraction(4)) if is_patch else ("pixel", Fraction(4, 255))
    asked = ATTACKS[name].condition(eps, protocol, {"steps": 3})
    rows = [
        table(
            run(network_for(name), noise(4), [clean(protocol), condition], tmp_path / str(draws))
        )[asked.id]
        for draws, condition in ((1, asked), (3, asked.averaging(3)))
    ]
    forward, backward = asked.averaging(3).passes or (0, 0)
    scored_in_8_bits, at_the_clean_images = 1, 4
    counted = rows[1]["n_forward"] - scored_in_8_bits, rows[1]["n_backward"] - at_the_clean_images
    if ATTACKS[name].stops_early:  # the plan is what it costs at most
        assert counted <= (4 * forward, 4 * backward)
    else:
        assert counted == (4 * forward, 4 * backward)
    at_clean = 3 * 4 if name in ("fgsm", "patch-gradient") else 0
    more = 2 * (rows[0]["n_backward"] - at_the_clean_images) + at_clean
    assert rows[1]["n_backward"] == rows[0]["n_backward"] + more
    assert rows[1]["n_forward"] == rows[0]["n_forward"] + more
    assert "expectation=3" in rows[1]["flags"].split(";")
    assert "expectation" not in rows[0]["flags"]


@pytest.mark.parametrize("name", ["fgsm", "pgd"])
def test_accuracy_falls_towards_that_of_the_network_without_noise(name: str) -> None:
    """Every weight has noise four times as large as itself."""
    x = images(200)
    still = noisy(0.0)
    with torch.no_grad():
        y = still(x).argmax(1)
    right = []
    for model, draws in ((noisy(4.0), 1), (noisy(4.0), 8), (noisy(4.0), 64), (still, 1)):
        batch = AttackBatch(model, x, y, images=[str(number) for number in range(len(x))])
        asked = ATTACKS[name].condition(Fraction(8, 255), overrides={"steps": 8})
        assert asked.sweep is not None
        with batch.attacking(draws), torch.no_grad():
            (x_adv,) = asked.sweep(batch, [asked.eps], threat=PIXEL, settings=asked.settings)
        with torch.no_grad():
            right.append(int((still(x_adv).argmax(1) == y).sum()))
    assert right[0] > right[1] > right[2] >= right[3]
    assert right[2] - right[3] < 0.5 * (right[0] - right[3]), right


@pytest.fixture
def arguments() -> list[str]:
    model = ["--model", "fmnist_deit=bundled", "--data", "fashion-mnist:test1000"]
    return ["eval", *model, "--limit", "2", "--eps", "4/255"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--attacks", "pgd", "--expectation", "0"], "--expectation 0 is not a positive number"),
        (
            ["--attacks", "clean,spsa,noise", "--expectation", "4"],
            "--expectation 4: no attack that is asked for takes the mean of gradients; those that "
            "do are ",
        ),
    ],
)
def test_what_would_do_nothing_is_refused(
    options: list[str],
    message: str,
    arguments: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*arguments, *options, "--out", str(tmp_path / "run")]) == 1
    assert message in " ".join(capsys.readouterr().err.split())


def test_it_is_part_of_what_a_run_is(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command: Any = [*arguments, "--attacks", "clean,fgsm,noise", "--out", str(tmp_path / "run")]
    assert main([*command, "--expectation", "2"]) == 0
    assert "expectation=2" in (tmp_path / "run" / "results.csv").read_text()
    capsys.readouterr()
    assert main(command) == 1
    error = " ".join(capsys.readouterr().err.split())
    assert "settings.expectation is 2 there and nothing here; give the same --expectation" in error


def test_a_script_may_ask_for_it(tmp_path: Path) -> None:
    """Attacks of this suite under any name; not a function of the script."""
    x, y = (255 * images(2)).round() / 255, torch.tensor([0, 1])
    conditions: Any = {
        "pgd@4/255": None,
        "short@4/255": partial(pgd, steps=2),
        "still@4/255": lambda model, x, y: x,
    }
    done = evaluate(noisy(1.0), (x, y), conditions, expectation=3)
    flags = done.results().set_index("condition")["flags"]
    assert "expectation=3" in flags["pgd@4/255"]
    assert "expectation=3" in flags["short@4/255"]
    assert "expectation" not in flags["still@4/255"]
    with pytest.raises(UserError, match=r"^expectation=2: no attack that is asked for"):
        evaluate(noisy(1.0), (x, y), ["clean", "spsa@4/255"], expectation=2)
    with pytest.raises(UserError, match=r"^draws=40 is not a number of draws from 1 to 32"):
        evaluate(noisy(1.0), (x, y), draws=40)
    with pytest.raises(TypeError, match=r"expectation=1\.5 is not a whole number"):
        evaluate(noisy(1.0), (x, y), "pgd@4/255", expectation=1.5)  # type: ignore[arg-type]
