"""The page, pictures and tables that report writes into a folder."""

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from reports import corruption_scores, merge, read_normaliser, results
from robustbench_twicing.cli.app import main
from tests.robustbench_twicing.cli.commands.reporting import RADII, Evaluated
from tests.robustbench_twicing.cli.conftest import Site

pytestmark = pytest.mark.slow


def test_pictures_are_drawn_where_they_are_wanted(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval("--attacks", "clean,fgsm,pgd", "--eps", "1/255") == 0
    capsys.readouterr()
    out = site.root / "new" / "plots"
    run = str(site.root / "run")
    assert main(["report", run, "--format", "csv", "--plots", "--out", str(out)]) == 0
    names = ["accuracy-fgsm", "accuracy-pgd", "accuracy-worst", "radius-linf"]
    wanted = {f"{name}.{ending}" for name in names for ending in ("png", "pdf", "svg")}
    wanted |= {"results.csv", "results-photos-pixel.csv", *RADII}
    assert {path.name for path in out.iterdir()} == wanted
    shown = capsys.readouterr()
    assert shown.out == ""
    assert {line.rpartition("/")[2] for line in shown.err.splitlines()} == wanted


def test_pictures_need_a_folder(
    site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated("--attacks", "clean")
    capsys.readouterr()
    assert main(["report", str(site.root / "run"), "--plots"]) == 1
    assert "say with --out in which folder" in capsys.readouterr().err


def test_the_page_is_made_of_everything(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    attacks = ("--attacks", "clean,fgsm", "--eps", "4/255", "--save-adversarial", "1")
    models = ("--model", f"{site.root / 'network.py'}:other", "--label", "<A>", "--label", "B")
    assert site.eval(*attacks, *models) == 0
    out = site.root / "page"
    capsys.readouterr()
    run = str(site.root / "run")
    arguments = ["--format", "html", "--out", str(out), "--baseline", "B"]
    assert main(["report", run, *arguments]) == 0
    assert {path.name for path in out.iterdir()} == {"index.html", "results.csv", *RADII}
    page = (out / "index.html").read_text()
    for said in ("&lt;A&gt;", "minus that of B", '<section id="examples">', "fgsm@4/255"):
        assert said in page
    assert "<A>" not in page
    shown = capsys.readouterr()
    assert re.search(r"index[.]html \(\d+ kB\)", shown.err)
    assert shown.out == ""


def test_tables_that_are_named_stand_beside_the_page(site: Site, evaluated: Evaluated) -> None:
    evaluated("--attacks", "clean")
    out = site.root / "page"
    arguments = ["--preset", "featscale", "--format", "html", "--out", str(out)]
    assert main(["report", str(site.root / "run"), *arguments]) == 0
    names = {"index.html", "results.csv", "featscale-photos-pixel.html"}
    assert {path.name for path in out.iterdir()} == names


def test_an_incomplete_run_has_a_page_and_its_status(site: Site) -> None:
    assert site.eval("--attacks", "clean,fgsm", "--shard", "1/2") == 0
    out = site.root / "page"
    run = str(site.root / "run")
    assert main(["report", run, "--format", "html", "--out", str(out)]) == 4
    assert "5 of 5 results are not scored" in (out / "index.html").read_text()


def test_differences_are_drawn_with_the_pictures(site: Site) -> None:
    models = ("--model", f"{site.root / 'network.py'}:other", "--label", "A", "--label", "B")
    assert site.eval("--attacks", "clean", *models) == 0
    out = site.root / "plots"
    assert main(["report", str(site.root / "run"), "--plots", "--out", str(out)]) == 0
    assert "differences.png" in {path.name for path in out.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "B"], "--baseline is for --plots, and for the page"),
        (["--baseline", "B", "--format", "html"], "--baseline is for --plots, and for the page"),
        (["--plots", "--out", "{}", "--baseline", "C"], "'C' is unknown"),
        (["--format", "html", "--out", "{}", "--baseline", "C"], "'C' is unknown"),
    ],
)
def test_a_baseline_must_be_there_and_of_use(
    site: Site,
    evaluated: Evaluated,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    evaluated("--attacks", "clean", "--label", "B")
    capsys.readouterr()
    given = [argument.format(site.root / "out") for argument in arguments]
    assert main(["report", str(site.root / "run"), *given]) == 1
    assert message in capsys.readouterr().err


def count_calls(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any]) -> list[None]:
    """One entry for each call by one of our modules, by whatever name the module has it."""
    calls: list[None] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(None)
        return function(*arguments, **options)

    for module in [
        sys.modules[name] for name in sys.modules if name.startswith(("reports", "rob"))
    ]:
        for name, value in vars(module).items():
            if value is function:
                monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.parametrize("form", ["html", "console"])
def test_runs_are_merged_and_scored_once_and_the_normaliser_is_read_once(
    form: str, site: Site, evaluated: Evaluated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading the normaliser merges it, too: it is a run."""
    fog = ("--attacks", "clean,imagenet-c/fog/3", "--imagenet-c-size", "32")
    evaluated(*fog)
    evaluated(*fog, out="unit")
    run, unit, out = (str(site.root / name) for name in ("run", "unit", "out"))
    functions = (read_normaliser, merge, results, corruption_scores)
    calls = [count_calls(monkeypatch, function) for function in functions]
    files = ("--out", out, "--format", form, "--plots")
    assert main(["report", run, *files, "--normaliser", unit]) == 0
    assert [len(function_calls) for function_calls in calls] == [1, 2, 2, 1]
