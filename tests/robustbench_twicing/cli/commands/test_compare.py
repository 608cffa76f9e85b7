"""compare shows every model against one, and writes what it shows."""

import csv

import pytest

from robustbench_twicing.cli.app import main
from tests.robustbench_twicing.cli.conftest import Site

pytestmark = pytest.mark.slow


def test_compare_prints_and_writes(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    code = site.model.rpartition(":")[0]
    assert site.eval("--attacks", "clean", "--label", "a", out="a") == 0
    other = site._replace(model=f"{code}:other")
    assert other.eval("--attacks", "clean", "--label", "b", out="b") == 0
    capsys.readouterr()
    out = site.root / "compared"
    runs = [str(site.root / name) for name in "ab"]
    assert main(["compare", *runs, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "b against a" in shown
    assert "worse" in shown
    with (out / "comparison.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["n_only_baseline"], row["n_only_label"]) == ("10", "1")
    with (out / "changed.csv").open(newline="") as file:
        changed = list(csv.DictReader(file))
    assert len(changed) == 11
    assert changed[0]["image"].endswith(".png")
    assert main(["compare", *runs, "--baseline", "b"]) == 0
    assert "a against b" in capsys.readouterr().out
    assert main(["compare", *runs, "--baseline", "c"]) == 1
    assert "--baseline 'c' is unknown. Known: a, b" in capsys.readouterr().err
    assert main(["compare", runs[0]]) == 1
