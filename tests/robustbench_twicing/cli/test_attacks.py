"""attacks lists what can be run; demo runs it."""

from pathlib import Path

import pytest

from attacks import ATTACKS
from robustbench_twicing.cli import demo, main
from robustbench_twicing.cli.options import EvalOptions
from robustbench_twicing.conditions import clean
from tests.tiny import convnet, noise, run


def test_every_attack_is_listed_with_source_and_constants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["attacks"]) == 0
    out = capsys.readouterr().out
    for name, spec in ATTACKS.items():
        assert f"{name}: L-infinity, {spec.knowledge}" in out
        assert spec.source in out
    assert "steps 20, rel_step 0.15" in out
    assert "under protocol paper: estimate_at twice-the-image" in out


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries' own imports
def test_attacks_of_libraries_are_listed_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attacks", "--library"]) == 0
    out = capsys.readouterr().out
    assert "torchattacks:PGD:" in out
    assert "foolbox:" in out


def test_the_demo_evaluates_what_the_packages_bring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command itself, with the work cut down."""
    asked: list[EvalOptions] = []

    def evaluate(options: EvalOptions) -> int:
        asked.append(options)
        return 0

    monkeypatch.setattr("robustbench_twicing.cli.eval.run", evaluate)
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    assert (asked[0].model, asked[0].checkpoint) == ([demo.MODEL], "random:0")
    assert asked[0].data == ["samples:imagenet"]
    assert "say nothing about any model" in " ".join(capsys.readouterr().out.split())


def test_the_demo_never_removes_what_is_not_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "photo.png").write_text("")
    assert main(["demo", "--out", str(tmp_path)]) == 1
    assert "is not a run folder" in capsys.readouterr().err
    assert (tmp_path / "photo.png").exists()


def test_the_demo_never_removes_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(convnet(), noise(3), [clean()], tmp_path / "mine")
    assert main(["demo", "--out", str(tmp_path / "mine")]) == 1
    assert "is not what an earlier demo left behind; use another --out" in capsys.readouterr().err
    assert list((tmp_path / "mine").rglob("*.parquet"))
