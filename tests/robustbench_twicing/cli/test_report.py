"""report makes results.csv and the table again, from the records alone."""

import csv
import io

import pytest

from robustbench_twicing.cli import main
from tests.robustbench_twicing.cli.conftest import Site


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_the_file_is_made_again(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.eval("--attacks", "clean,fgsm") == 0
    path = site.root / "run" / "results.csv"
    before, shown = path.read_text(), capsys.readouterr().out
    path.unlink()
    assert main(["report", str(site.root / "run")]) == 0
    assert path.read_text() == before
    assert capsys.readouterr().out == shown


def test_runs_are_joined_under_one_heading(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.eval("--attacks", "clean", out="a") == 0
    assert site.eval("--attacks", "fgsm", "--eps", "1/255", out="b") == 0
    capsys.readouterr()
    runs = [str(site.root / name) for name in "ab"]
    assert main(["report", *runs, "--format", "csv"]) == 0
    table = rows(capsys.readouterr().out)
    assert len(table) == 3
    assert table[0][0] == "label"
    assert [row[10] for row in table[1:]] == ["clean", "fgsm@1/255"]
    both = [(site.root / name / "results.csv").read_text() for name in "ab"]
    assert table == rows(both[0]) + rows(both[1])[1:]


def test_a_damaged_run_is_refused_in_one_line(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval("--attacks", "clean") == 0
    part = next((site.root / "run").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-9])
    capsys.readouterr()
    assert main(["report", str(site.root / "run")]) == 1
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert f"{part} is damaged" in err


def test_the_worst_run_gives_the_status(site: Site) -> None:
    assert site.eval("--attacks", "clean", out="a") == 0
    share = ("--attacks", "clean", "--shard", "1/2", "--label", "other")
    assert site.eval(*share, out="b") == 0
    runs = [str(site.root / name) for name in "ba"]
    for form in ("console", "csv"):
        assert main(["report", *runs, "--format", form]) == 4
        assert main(["report", runs[1], "--format", form]) == 0


def test_pictures_are_drawn_where_they_are_wanted(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.eval("--attacks", "clean,fgsm,pgd", "--eps", "1/255") == 0
    capsys.readouterr()
    out = site.root / "new" / "plots"
    run = str(site.root / "run")
    assert main(["report", run, "--format", "csv", "--plots", "--out", str(out)]) == 0
    names = [f"budget_{attack}_photos_pixel" for attack in ("fgsm", "pgd")]
    wanted = {f"{name}.{ending}" for name in names for ending in ("png", "pdf", "svg")}
    assert {path.name for path in out.iterdir()} == wanted
    shown = capsys.readouterr()
    assert len(rows(shown.out)) == 4
    assert {line.rpartition("/")[2] for line in shown.err.splitlines()} == wanted


def test_pictures_need_a_folder(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.eval("--attacks", "clean") == 0
    capsys.readouterr()
    assert main(["report", str(site.root / "run"), "--plots"]) == 1
    assert "say with --out in which folder" in capsys.readouterr().err
