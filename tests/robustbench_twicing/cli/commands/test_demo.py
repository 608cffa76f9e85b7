"""The demo makes every kind of output from the bundled models, and removes nothing but its own."""

from pathlib import Path

import pandas as pd
import pytest

from robustbench_twicing.checkpoints import bundled as zoo
from robustbench_twicing.cli import report_files
from robustbench_twicing.cli.app import main
from robustbench_twicing.cli.commands import demo
from robustbench_twicing.conditions.condition import clean
from tests.tiny import convnet, noise, run

MODELS = ("fmnist_deit", "fmnist_twicing")
KINDS = ("csv", "md", "tex", "html", "json", "png", "pdf", "svg")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "QUICK_IMAGES", 3)
    monkeypatch.setattr(zoo, "ZOO", MODELS)


@pytest.mark.slow
def test_every_kind_of_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo"
    assert main(["demo", "--quick", "--out", str(out)]) == 0
    table = pd.read_csv(out / "run" / "results.csv")
    assert set(table["status"]) == {"ok"}
    assert set(table["label"]) == set(MODELS)
    attacks = {"clean", "fgsm", "pgd", "spsa", "worst", "imagenet-c"}
    assert set(table["attack"]) == attacks
    assert set(table["n_images"]) == {3}
    corrupted = table[table["attack"] == "imagenet-c"]
    assert corrupted["flags"].str.contains("not-imagenet-c-32px").all()
    assert table[table["attack"] == "spsa"]["flags"].str.contains("steps=8").all()
    made = {path.suffix[1:] for path in (out / "report").rglob("*") if path.is_file()}
    assert made >= set(KINDS)
    page = (out / "report" / "index.html").read_text(encoding="utf-8")
    assert '<section id="representations">' in page
    assert "Mean cosine of all pairs of all tokens" in page
    assert "images of fashion-mnist:test1000" in page
    similarity = pd.read_csv(out / "run" / "analysis" / "similarity.csv")
    assert set(similarity["label"]) == set(MODELS)
    assert set(similarity["n_images"]) == {3}
    assert any("compar" in path.name for path in (out / "report").iterdir())
    assert str(out / "report") in capsys.readouterr().out
    monkeypatch.setattr(demo, "QUICK_IMAGES", 1)
    monkeypatch.setattr(report_files, "write_files", lambda *_, **__: [])  # drawn once is enough
    assert main(["demo", "--quick", "--out", str(out)]) == 0
    again = pd.read_csv(out / "run" / "results.csv")
    assert set(again["n_images"]) == {1}, "it was made anew"
    made = {path.suffix[1:] for path in (out / "report").rglob("*") if path.is_file()}
    assert not made & {"png", "pdf", "svg"}, "no picture of the earlier demo is left"
    assert not (out / "report" / "index.html").exists()


@pytest.mark.parametrize("strange", ["notes.txt", "run/run.json"])
def test_what_is_not_an_earlier_demo_is_left_alone(
    strange: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / strange
    file.parent.mkdir(exist_ok=True)
    file.write_text("{}")
    assert main(["demo", "--quick", "--out", str(tmp_path)]) == 1
    assert file.read_text() == "{}"
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    assert main(["demo", "--quick", "--out", str(file)]) == 1
    assert capsys.readouterr() == (
        "",
        f"robustbench-twicing: --out {file} is a file; name a folder\n",
    )


@pytest.mark.slow
@pytest.mark.parametrize("place", ["", "run"])
def test_another_run_is_left_alone(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(convnet(), noise(3), [clean()], tmp_path / "mine" / place)
    assert main(["demo", "--quick", "--out", str(tmp_path / "mine")]) == 1
    assert "is not what an earlier demo left behind; use another --out" in capsys.readouterr().err
    assert list((tmp_path / "mine").rglob("*.parquet"))
