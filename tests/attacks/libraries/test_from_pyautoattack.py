"""AutoAttack: the images of its authors' code, at a cost that is known, with few classes too."""

import logging
import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyautoattack
import pytest
import torch
from torch import Tensor, nn

from attacks import find_attack
from attacks.libraries import PRESETS
from attacks.spec import AttackSpec
from robustbench_twicing.classifiers.classifier import Classifier
from robustbench_twicing.classifiers.loading import load_model
from robustbench_twicing.conditions.attack_batch import AttackBatch
from robustbench_twicing.conditions.ball import check_adversarial
from robustbench_twicing.conditions.condition import clean
from robustbench_twicing.conditions.threat_model import PROTOCOLS
from robustbench_twicing.data.dataset import limit_dataset
from robustbench_twicing.data.loader import to_tensor
from robustbench_twicing.data.opening import open_dataset
from robustbench_twicing.errors import UserError
from robustbench_twicing.models.family import ModelRecord
from robustbench_twicing.records.cost import CostMeter
from robustbench_twicing.seeds import derive_seed
from tests import tiny

from .fragile import EPS, ShortAutoAttack, batch, classifier

STANDARD = {
    "block": 32,
    "version": "standard",
    "n_classes": 10,
    "package": f"pyautoattack {pyautoattack.__version__}",
    "parts": "apgd-ce+apgd-t+fab-t+square",
    "steps": 100,
    "n_restarts": 1,
    "eot_iter": 1,
    "n_queries": 5000,
}
RAND = {"version": "rand", "parts": "apgd-ce+apgd-dlr", "eot_iter": 20}
IMAGES = int(os.environ.get("AUTOATTACK", "0"))
"""Of the comparison with all steps and queries; 0: a short one."""


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyautoattack.AutoAttack", ShortAutoAttack)


def autoattack() -> AttackSpec:
    return PRESETS["autoattack"]()


def swept(made: AttackBatch, eps: Fraction, protocol: str = "pixel", **constants: Any) -> Tensor:
    spec = autoattack()
    asked = spec.condition(eps, protocol, constants)
    (x_adv,) = spec.sweep(made, [eps], threat=asked.threat, settings=asked.settings)
    return x_adv


NORMS: Any = {"pixel": "Linf", "l2": "L2"}


def direct(
    made: AttackBatch, eps: Fraction, protocol: str, budget: str, block: int, **constants: Any
) -> Tensor:
    """The authors' code as its users call it, on the same blocks with each block's seed."""
    settings = dict(autoattack().condition(eps, overrides={"block": block, **constants}).settings)
    images = []
    for start in range(0, len(made.x), block):
        part = slice(start, start + block)
        seed = derive_seed(made.seed, list(made.images[part]), "autoattack", settings, budget)
        version: Any = settings["version"]
        attack = pyautoattack.AutoAttack(
            made.model, norm=NORMS[protocol], eps=float(eps), seed=seed, version=version
        )
        images.append(attack.run_standard_evaluation(made.x[part], made.y[part])[0])
    return torch.cat(images)


def test_its_constants_are_the_authors_read_off_the_object() -> None:
    assert autoattack().settings == STANDARD
    for norm in NORMS.values():
        attack = pyautoattack.AutoAttack(nn.Identity(), norm=norm)
        assert "+".join(attack.attacks_to_run) == STANDARD["parts"]
        for part in (attack.apgd, attack.apgd_targeted, attack.fab):
            assert (part.n_iter, part.n_restarts) == (100, 1)
        assert attack.apgd_targeted.n_target_classes == attack.fab.n_target_classes == 9
        assert attack.square.n_queries == 5000
        assert not attack.square.rescale_schedule


def test_rand_is_for_networks_that_draw() -> None:
    made = autoattack().condition(EPS, overrides={"version": "rand", "block": 8})
    assert made.settings == {**STANDARD, **RAND, "block": 8}
    assert made.changed == {"version": "standard", "block": 32}
    assert not made.about.gradient_free
    assert made.passes == (4 + 2 * (2 + 101 * 20) + 1, 2 * 101 * 20)


def test_plus_has_a_cost_that_no_one_knows_beforehand() -> None:
    made = autoattack().condition(EPS, overrides={"version": "plus"})
    assert made.settings["parts"] == "apgd-ce+apgd-dlr+fab+square+apgd-t+fab-t"
    assert made.settings["n_restarts"] == 5
    assert made.passes is None


@pytest.mark.parametrize(("name", "value"), [("steps", 10), ("n_queries", 1), ("parts", "square")])
def test_its_constants_are_fixed(name: str, value: object) -> None:
    with pytest.raises(UserError, match=f"attack autoattack: {name}={value} is another attack"):
        autoattack().condition(EPS, overrides={name: value})


@pytest.mark.slow
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("version", ["standard", "plus", "rand"])
@pytest.mark.parametrize(
    ("protocol", "eps", "budget"),
    [("pixel", EPS / 4, "2/255"), ("l2", Fraction(1, 8), "l2:0.125")],
)
def test_its_images_are_those_of_the_authors_code(
    protocol: str, eps: Fraction, budget: str, version: str
) -> None:
    model = classifier()
    made = batch(model)
    ours = swept(made, eps, protocol, block=3, version=version)
    assert torch.equal(ours, direct(made, eps, protocol, budget, 3, version=version))
    check_adversarial(made.x, ours, float(eps), PROTOCOLS[protocol].threat)
    right = model(ours).argmax(1) == made.y
    assert 0 < right.sum() < len(right) - 1


def bundled(count: int) -> AttackBatch:
    """Images of Fashion-MNIST with a bundled network."""
    model = load_model("fmnist_deit", "bundled")
    data = limit_dataset(open_dataset("fashion-mnist:test1000"), count)
    pixels = [data.pixels(index, model.preprocessing) for index in range(count)]
    x = torch.cat([to_tensor(image[None], torch.device("cpu")) for image in pixels])
    return AttackBatch(model, x, torch.tensor(data.labels), images=data.ids)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "eps", "budget"),
    [("pixel", Fraction(7, 255), "7/255"), ("l2", Fraction(1, 2), "l2:0.5")],
)
def test_a_bundled_model_under_it_is_as_under_the_authors_code(
    protocol: str, eps: Fraction, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, and with all steps never more right than under PGD or APGD."""
    if not IMAGES:
        monkeypatch.setattr("pyautoattack.AutoAttack", ShortAutoAttack)
    made, block = bundled(IMAGES or 6), 32 if IMAGES else 3
    ours = swept(made, eps, protocol, block=block)
    assert torch.equal(ours, direct(made, eps, protocol, budget, block))
    right = {"autoattack": int((made.model(ours).argmax(1) == made.y).sum())}
    for name in ("pgd", "apgd") if IMAGES else ():
        spec = find_attack(name)
        asked = spec.condition(eps, protocol)
        (x_adv,) = spec.sweep(made, [eps], threat=asked.threat, settings=asked.settings)
        right[name] = int((made.model(x_adv).argmax(1) == made.y).sum())
    assert min(right.values()) == right["autoattack"]
    assert 0.2 * len(made.x) <= right.get("apgd", 2) <= 0.8 * len(made.x)


class Steep(nn.Module):
    """Class 0 whatever the pixels are, with gradients everywhere."""

    def forward(self, x: Tensor) -> Tensor:
        """Pixels to 12 logits."""
        weights = torch.sin(torch.arange(12 * 3072.0)).view(12, -1)
        return x.flatten(1) @ weights.T + 1e4 * torch.eye(12)[0]


@pytest.mark.slow
@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("protocol", NORMS)
def test_an_image_that_stands_costs_what_the_plan_says(protocol: str) -> None:
    """The number of classes is asked of the first image of each block alone."""
    model = classifier(Steep())
    made, meter = batch(model, wrong=()), CostMeter()
    with meter.watch(model), meter.measure("autoattack"):
        swept(made, EPS, protocol, block=3)
    passes = autoattack().passes(autoattack().settings)
    assert passes is not None
    forward, backward = passes
    cost, images = meter.costs["autoattack"], len(made.x)
    assert cost.n_forward == (forward - 1) * images + 2
    assert cost.n_backward == backward * images


@pytest.mark.parametrize(
    ("version", "classes", "parts", "targets"),
    [
        ("standard", 2, ["apgd-ce", "fab-t", "square"], 1),
        ("standard", 3, ["apgd-ce", "fab-t", "square"], 2),
        ("standard", 4, ["apgd-ce", "apgd-t", "fab-t", "square"], 3),
        ("standard", 12, ["apgd-ce", "apgd-t", "fab-t", "square"], 9),
        ("rand", 2, ["apgd-ce"], 1),
        ("rand", 3, ["apgd-ce", "apgd-dlr"], 2),
    ],
)
@pytest.mark.parametrize("protocol", NORMS)
def test_parts_that_need_more_classes_are_left_out(
    protocol: str,
    version: str,
    classes: int,
    parts: list[str],
    targets: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[list[str], int, int]] = []
    large = {"pixel": EPS, "l2": Fraction(3)}[protocol]

    class Noted(ShortAutoAttack):
        def run_standard_evaluation(self, *images: Tensor, **options: Any) -> Any:
            aims = self.apgd_targeted.n_target_classes, self.fab.n_target_classes
            ran.append((list(self.attacks_to_run), *aims))
            return super().run_standard_evaluation(*images, **options)

    monkeypatch.setattr("pyautoattack.AutoAttack", Noted)
    network = tiny.Linear(classes, side=32)
    network.weight *= 0.01  # else the squares of its gradients are 0 in float32
    model = classifier(network)
    made = batch(model, wrong=())
    for eps in (large, large / 10000):  # all fall, and none does
        x_adv = swept(made, eps, protocol, version=version)
        assert ((model(x_adv).argmax(1) == made.y) == (eps != large)).all()
    assert ran == [(parts, targets, targets)] * 2


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_only_its_rows_say_what_was_left_out(classes: int, tmp_path: Path) -> None:
    model = Classifier(
        tiny.Linear(classes), tiny.PREPROCESSING, ModelRecord("linear"), normalize=False
    )
    asked = [clean(), find_attack("fgsm").condition(EPS), autoattack().condition(EPS)]
    rows = tiny.table(tiny.run(model, tiny.noise(3, classes=2), asked, tmp_path / "run"))
    assert rows["autoattack@8/255"]["status"] == "ok"
    flagged = {name for name, row in rows.items() if "no-targeted-dlr" in row["flags"].split(";")}
    assert flagged == ({"autoattack@8/255"} if classes < 4 else set())
    assert not any("no-dlr" in row["flags"].split(";") for row in rows.values())


@pytest.mark.usefixtures("short")
def test_a_debugger_and_its_logger_are_as_they_were(caplog: pytest.LogCaptureFixture) -> None:
    def trace(*event: object) -> None:
        pass

    logger, before = logging.getLogger("auto-attack"), sys.gettrace()
    sys.settrace(trace)
    try:
        swept(batch(classifier()), EPS)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
    assert not logger.disabled
    assert not caplog.records


@pytest.mark.usefixtures("short")
def test_a_run_of_before_is_not_continued(tmp_path: Path) -> None:
    model = Classifier(tiny.Linear(5), tiny.PREPROCESSING, ModelRecord("linear"), normalize=False)
    now = autoattack().condition(EPS)
    former = {"block": 32, "version": "standard", "n_classes": 10}
    vars(now)["settings"], settings = former, now.settings
    tiny.run(model, tiny.noise(2), [now], tmp_path / "run")
    vars(now)["settings"] = settings
    words = r"autoattack@8/255.settings.package is nothing there and pyautoattack .* here"
    with pytest.raises(UserError, match=words):
        tiny.run(model, tiny.noise(2), [now], tmp_path / "run")
