"""plan says what eval will cost, and does no work."""

import re

import pytest
import torch

from robustbench_twicing.cli.app import main
from robustbench_twicing.cli.measuring import Speed, measure_speed
from tests.robustbench_twicing.cli.conftest import Site
from tests.tiny import convnet


def plan(site: Site, *arguments: str) -> int:
    command = ["plan", "--model", site.model, "--data", str(site.data), "--crop", "8"]
    label = [] if "--label" in arguments else ["--label", "net"]
    return main([*command, *label, "--device", "cpu", *arguments])


def passes(text: str) -> dict[str, tuple[int, int]]:
    cells_found = re.findall(r"([\w@./]+)\s+│\s+([\d,]+)\s+│\s+([\d,]+)\s+│\s+\d+:\d\d", text)
    return {name: (int(f.replace(",", "")), int(b.replace(",", ""))) for name, f, b in cells_found}


@pytest.mark.slow
def test_passes_are_those_that_eval_counts(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(site) == 0
    out = capsys.readouterr().out
    both = 11 + 2  # one image in eight is scored in 8 bits, too
    budgets = ("0.5", "1", "4")
    assert passes(out) == {
        "clean": (11, 0),
        **{f"fgsm@{eps}/255": (both, 0) for eps in budgets},
        "fgsm@0.5/255": (both, 11),  # one gradient serves all budgets
        **{f"pgd@{eps}/255": (both + 11 * 20, 11 * 20) for eps in budgets},
        "fgsm@64/255": (both, 0),
        "noise@4/255": (both, 0),
    }
    assert "net on photos, 11 images" in out
    assert "Basis: one forward pass" in out
    assert "In all about 0:" in out


@pytest.mark.slow
def test_times_are_passes_at_their_speed(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "robustbench_twicing.cli.commands.plan.measure_speed", lambda *_: Speed(1.0, 10.0)
    )
    assert plan(site, "--attacks", "clean,fgsm", "--eps", "1/255") == 0
    out = capsys.readouterr().out
    assert "0:11" in out
    assert "2:03" in out, "eleven images: 13 seconds forward and 110 backward"
    assert "In all about 2:14" in out
    assert "On disk: 22 records, about 1 kB." in out


@pytest.mark.slow
def test_two_protocols_are_told_apart(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    suite = site.root / "both.yaml"
    suite.write_text(
        "conditions:\n- {attack: fgsm, eps: [1/255]}\n"
        "- {attack: fgsm, eps: [1/255], protocol: paper}\n"
    )
    assert plan(site, "--suite", str(suite), "--normalize", "imagenet") == 0
    out = capsys.readouterr().out
    assert re.search(r"│ fgsm@1/255 pixel +│.*\n│ fgsm@1/255 paper +│", out)


@pytest.mark.slow
def test_large_numbers_are_grouped(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(site, "--attacks", "spsa", "--eps", "1/255") == 0
    forward = 11 * (1 + 2 * 128 * 40 + 1) + 2  # the clean pass is charged to it, too
    assert f"{forward:,}" in capsys.readouterr().out
    assert forward > 100_000


@pytest.mark.slow
def test_nothing_is_written(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    before = sorted(site.root.rglob("*"))
    assert plan(site, "--out", str(site.root / "run")) == 0
    assert [
        path for path in sorted(site.root.rglob("*")) if "__pycache__" not in str(path)
    ] == before


@pytest.mark.slow
def test_an_unreadable_image_does_not_stop_a_plan(site: Site) -> None:
    for path in site.data.rglob("*.png"):
        path.write_bytes(path.read_bytes()[:40])
    assert plan(site, "--attacks", "clean") == 0


@pytest.mark.slow
def test_every_model_has_its_own_estimate(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    other = site.model.replace(":build", ":other")
    long = "a[b]" + "-of-a-long-name" * 4
    assert (
        plan(site, "--model", other, "--label", long, "--label", "[c]", "--attacks", "clean") == 0
    )
    out = capsys.readouterr().out
    assert f"{long} on photos, 11 images" in out.splitlines(), "wider than its table"
    assert "[c] on photos, 11 images" in out
    assert out.count("Basis:") == 2


def test_speed_is_measured_on_few_images_and_leaves_the_model_alone() -> None:
    model = convnet().train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    speed = measure_speed(model, 4, torch.device("cpu"))
    assert isinstance(speed, Speed)
    assert speed.forward > 0
    assert speed.backward > 0
    assert all(module.training for module in model.modules())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.slow
def test_the_cost_of_survivors_is_estimated(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan(site, "--attacks", "clean,fgsm", "--eps", "1/255", "--survivors") == 0
    out = capsys.readouterr().out
    assert re.search(r"In all about 0:\d\d \(at most 0:\d\d\), ", out)
    assert "With --survivors that is an estimate" in " ".join(out.split())
    # FGSM meets the ten images that are right, of eleven, and one in eight is scored in 8 bits.
    assert passes(out)["fgsm@1/255"] == (round(10 / 11 * (11 + 2)), 10)


@pytest.mark.slow
def test_error_rows_of_a_run_are_counted(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    attack = site.root / "broken.py"
    attack.write_text(
        "def broken(model, x, y, *, eps, generator):\n    raise ConnectionError('away')\n"
    )
    out = site.root / "run"
    command = ["--attacks", f"clean,{attack}:broken", "--eps", "1/255", "--out", str(out)]
    model = ["--model", site.model, "--data", str(site.data), "--crop", "8", "--label", "net"]
    assert main(["eval", *model, "--device", "cpu", *command]) == 3
    assert plan(site, *command) == 0
    line = f"{out} has error rows of net on photos, 11 under "
    assert line in capsys.readouterr().out


@pytest.mark.slow
def test_what_it_takes_on_disk(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    kept = ("--attacks", "clean,fgsm", "--eps", "1/255,4/255", "--save-adversarial", "5")
    assert plan(site, *kept, "--corruptions", "fog", "--severities", "1-5") == 0
    records = 11 * (3 + 5)
    line = f"On disk: {records} records, about 3 kB, adversarial images "
    # Five images under each of two attacks: as they were and as they are, in float32.
    assert f"{line}{5 * 2 * 2 * 3 * 8 * 8 * 4 / 1e3:.0f} kB." in capsys.readouterr().out
