"""Protocol paper is cleverhans on normalised images; protocol pixel is what its name says."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from attacks import ATTACKS, fgsm, pgd
from robustbench_twicing import evaluate
from robustbench_twicing.conditions.condition import Condition, clean
from robustbench_twicing.conditions.suites import load_suite
from robustbench_twicing.conditions.threat_model import PIXEL, PROTOCOLS, ThreatModel
from robustbench_twicing.errors import UserError
from tests.tiny import PREPROCESSING, SIDE, column, convnet, noise, run, table

PAPER = PROTOCOLS["paper"].threat
STD = torch.tensor(PREPROCESSING.std).view(3, 1, 1)
EPS = 4 / 255


def images(count: int = 8) -> Tensor:
    """Random 8-bit images, black and white pixels among them."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randint(0, 256, (count, 3, SIDE, SIDE), generator=generator) / 255
    x[0, 0, 0] = 0
    x[0, 0, 1] = 1
    return x


def test_the_two_threat_models() -> None:
    assert PROTOCOLS["pixel"].threat == PIXEL == ThreatModel("pixel", True, "true")
    assert ThreatModel("normalized", False, "predicted") == PAPER
    assert list(PROTOCOLS) == ["pixel", "paper", "l2", "patch"]
    for words in ("normalised units", "own prediction", "twice the image", "not comparable"):
        assert words in PROTOCOLS["paper"].meaning
    for words in ("clipped", "true label"):
        assert words in PROTOCOLS["pixel"].meaning
    with pytest.raises(UserError, match="no protocol is called 'papers'"):
        PROTOCOLS["papers"]


@pytest.mark.parametrize("eps", [1 / 255, 6 / 255])
def test_fgsm_is_cleverhans_on_the_normalised_images(eps: float) -> None:
    reference = pytest.importorskip(
        "cleverhans.torch.attacks.fast_gradient_method", reason="needs cleverhans"
    )
    model, x = convnet(), images()
    layer = model.normalize
    assert layer is not None
    wanted = reference.fast_gradient_method(model.network, layer(x), eps, float("inf"))
    wrong = (model(x).argmax(1) + 1) % 5
    found = layer(fgsm(model, x, wrong, eps=eps, threat=PAPER))
    assert ((found - wanted).abs() > 1e-6).double().mean() <= 1e-4
    moved = (found - layer(x)).abs()
    assert torch.allclose(moved, torch.full_like(moved, eps), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("eps", [1 / 255, 6 / 255])
def test_pgd_is_cleverhans_from_its_start_to_its_end(eps: float) -> None:
    reference = pytest.importorskip(
        "cleverhans.torch.attacks.projected_gradient_descent", reason="needs cleverhans"
    )
    model, x = convnet(), images()
    layer = model.normalize
    assert layer is not None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        attack = reference.projected_gradient_descent
        wanted = attack(model.network, layer(x), eps, 0.15 * eps, 20, float("inf"))
    wrong = (model(x).argmax(1) + 1) % 5
    generator = torch.Generator().manual_seed(3)
    found = layer(pgd(model, x, wrong, eps=eps, threat=PAPER, generator=generator))
    assert ((found - wanted).abs() > 1e-5).double().mean() <= 1e-4
    other = torch.Generator().manual_seed(4)
    again = layer(pgd(model, x, wrong, eps=eps, threat=PAPER, generator=other))
    assert ((again - wanted).abs() > 1e-5).double().mean() > 1e-3


def swept(name: str, protocol: str, labels: Tensor) -> Tensor:
    from robustbench_twicing.conditions.attack_batch import AttackBatch

    asked = ATTACKS[name].condition(Fraction(4, 255), protocol, {"steps": 3, "samples": 8})
    batch = AttackBatch(convnet(), images(), labels, images=[str(n) for n in range(8)])
    assert asked.sweep is not None
    (x_adv,) = asked.sweep(batch, [asked.eps], threat=asked.threat, settings=asked.settings)
    return x_adv


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fgsm", "pgd", "spsa"])
def test_the_labels_enter_under_protocol_pixel_only(name: str) -> None:
    """pgd-any is another matter: it stops where the true label is lost."""
    predicted = convnet()(images()).argmax(1)
    wrong = (predicted + 1) % 5
    same = {
        protocol: torch.equal(swept(name, protocol, predicted), swept(name, protocol, wrong))
        for protocol in ATTACKS[name].protocols
    }
    assert same == {"pixel": False, "paper": True, "l2": False}


@pytest.mark.parametrize(
    "name", [name for name, spec in ATTACKS.items() if "paper" in spec.protocols]
)
def test_nothing_is_clipped_under_protocol_paper(name: str) -> None:
    y = convnet()(images()).argmax(1)
    x_adv = swept(name, "paper", y)
    assert x_adv.min() < 0
    assert x_adv.max() > 1
    clipped = swept(name, "pixel", y)
    assert clipped.min() >= 0
    assert clipped.max() <= 1


def test_spsa_has_its_fault_under_protocol_paper_and_that_is_no_change() -> None:
    eps = Fraction(1, 255)
    conditions = {name: ATTACKS["spsa"].condition(eps, name) for name in ATTACKS["spsa"].protocols}
    assert {name: made.settings["estimate_at"] for name, made in conditions.items()} == {
        "pixel": "iterate",
        "paper": "twice-the-image",
        "l2": "iterate",
    }
    assert all(made.changed == {} for made in conditions.values())
    correct = ATTACKS["spsa"].condition(eps, "paper", {"estimate_at": "iterate"})
    assert correct.changed == {"estimate_at": "twice-the-image"}


def conditions(*names: str) -> list[Condition]:
    """Under both protocols of L-infinity."""
    eps = Fraction(4, 255)
    return [
        condition
        for protocol in ("pixel", "paper")
        for condition in (
            clean(protocol),
            *(ATTACKS[name].condition(eps, protocol, {"steps": 3, "samples": 4}) for name in names),
        )
    ]


@pytest.mark.slow
def test_both_protocols_in_one_run_are_rows_of_their_own(tmp_path: Path) -> None:
    done = run(convnet(), noise(8), conditions("fgsm", "pgd", "spsa"), tmp_path / "run")
    names = ["clean", "fgsm@4/255", "pgd@4/255", "spsa@4/255"]
    assert column(done, "protocol") == ["pixel"] * 4 + ["paper"] * 4
    assert column(done, "condition") == names * 2
    assert set(column(done, "status")) == {"ok"}
    top1 = column(done, "top1")
    assert top1[0] == top1[4]
    largest = max(PREPROCESSING.std)
    budgets = column(done, "eps_pixel_255_max")
    assert column(done, "eps_255") == [0, 4, 4, 4] * 2
    assert budgets == pytest.approx([0, 4, 4, 4, 0, 4 * largest, 4 * largest, 4 * largest])
    reached = column(done, "linf_255_max")
    assert reached == pytest.approx([0, 4, 4, 4, 0, 4 * largest, 4 * largest, 4 * largest], abs=0.1)
    assert all(one <= other + 1e-3 for one, other in zip(reached, budgets, strict=True))
    steps = column(done, "step_size_255")
    assert steps[1:3] == steps[5:7] == pytest.approx([4, 0.6])


@pytest.mark.slow
def test_the_rows_of_one_protocol_do_not_depend_on_the_other(tmp_path: Path) -> None:
    both = run(convnet(), noise(5), conditions("fgsm", "pgd"), tmp_path / "both").records()
    for protocol in ("pixel", "paper"):
        asked = [made for made in conditions("fgsm", "pgd") if made.protocol == protocol]
        alone = run(convnet(), noise(5), asked, tmp_path / protocol).records()
        same = both[both["protocol"] == protocol]
        for name in ("condition", "image", "rank", "loss", "linf"):
            assert same[name].tolist() == alone[name].tolist(), name


@pytest.mark.slow
@pytest.mark.parametrize(("share", "status"), [(1, "ok"), (1.01, "error")])
def test_a_result_is_checked_in_the_space_of_its_protocol(
    share: float, status: str, tmp_path: Path
) -> None:
    """The ball has another radius in every channel, and one beyond it is enough."""

    def sweep(batch: Any, budgets: Any, **_: Any) -> Any:
        for _eps in budgets:
            step = torch.tensor([1, 1, share]).view(3, 1, 1) * EPS * STD
            yield batch.x + step

    asked = Condition(
        "it@4/255", "it", Fraction(4, 255), protocol="paper", threat=PAPER, sweep=sweep
    )
    done = run(convnet(), noise(3), [asked], tmp_path / "run")
    assert column(done, "status") == [status]
    if status == "error":
        assert "left its ball of 4/255" in done.records()["message"][0]


@pytest.mark.slow
def test_python_functions_follow_protocol_pixel(tmp_path: Path) -> None:
    def attack(model: Any, x: Tensor, y: Tensor, *, generator: Any) -> Tensor:
        return x + EPS

    done = evaluate(convnet(), noise(3), {"it@4/255": attack}, out=tmp_path / "run")
    assert table(done)["it@4/255"]["protocol"] == "pixel"
    assert column(done, "status") == ["error"]


def test_the_suite_paper_is_what_the_paper_sweeps() -> None:
    suite = load_suite("paper")
    assert suite.protocol == "paper"
    one_to_six = tuple(Fraction(n, 255) for n in range(1, 7))
    assert [(item.attack, item.eps) for item in suite.conditions] == [
        ("clean", ()),
        ("fgsm", one_to_six),
        ("pgd", one_to_six),
        ("spsa", (Fraction(1, 255),)),
    ]


def test_the_suite_pixel_reaches_far_below_1_255() -> None:
    suite = load_suite("pixel")
    assert suite.protocol == "pixel"
    budgets = tuple(Fraction(text) / 255 for text in ("0.1", "0.25", "0.5", "1", "2", "4", "8"))
    assert [(item.attack, item.eps) for item in suite.conditions] == [
        ("clean", ()),
        ("fgsm", budgets),
        ("pgd", budgets),
        ("spsa", (Fraction(1, 255),)),
    ]


def test_the_suite_protocols_asks_both_the_same() -> None:
    items = load_suite("protocols").conditions
    half = len(items) // 2
    assert [item.protocol for item in items] == [None] * half + ["paper"] * half
    assert [(item.attack, item.eps) for item in items[:half]] == [
        (item.attack, item.eps) for item in items[half:]
    ]
