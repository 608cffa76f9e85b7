"""report makes results.csv and the tables again, from the records alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from reports import merge, results
from reports.statistics.comparison import compare
from robustbench_twicing.cli.app import main
from robustbench_twicing.errors import UserError
from tests.reports.made import Outcomes, write_run
from tests.robustbench_twicing.cli.commands.reporting import RADII, Evaluated, rows
from tests.robustbench_twicing.cli.conftest import Site

pytestmark = pytest.mark.slow


def test_tables_need_no_torch(evaluated: Evaluated, site: Site) -> None:
    """Nor, without pictures, matplotlib: most of the time of a small report would be imports."""
    evaluated("--attacks", "clean,fgsm")
    run = str(site.root / "run")
    code = (
        "import sys\n"
        "from robustbench_twicing.cli.app import main\n"
        f"assert main(['report', {run!r}, '--out', {run + '/out'!r}]) == 0\n"
        f"assert main(['report', {run!r}, '--rows', 'label', '--columns', 'condition',"
        " '--values', 'top1']) == 0\n"
        "sys.exit(bool({'torch', 'timm', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_file_is_made_again(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    assert site.eval("--attacks", "clean,fgsm") == 0
    path = site.root / "run" / "results.csv"
    before, shown = path.read_text(), capsys.readouterr().out
    path.unlink()
    assert main(["report", str(site.root / "run")]) == 0
    assert path.read_text() == before
    assert capsys.readouterr().out == shown


def test_runs_are_joined_under_one_heading(
    site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated("--attacks", "clean", out="a")
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
    site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated("--attacks", "clean")
    part = next((site.root / "run").rglob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-9])
    capsys.readouterr()
    assert main(["report", str(site.root / "run")]) == 1
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1
    assert f"{part} is damaged" in err


def test_the_worst_run_gives_the_status(site: Site, evaluated: Evaluated) -> None:
    evaluated("--attacks", "clean", out="a")
    share = ("--attacks", "clean", "--shard", "1/2", "--label", "other")
    assert site.eval(*share, out="b") == 0
    runs = [str(site.root / name) for name in "ba"]
    for form in ("console", "csv"):
        assert main(["report", *runs, "--format", form]) == 4
        assert main(["report", runs[1], "--format", form]) == 0


def test_a_table_in_every_format_on_standard_output(
    site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated("--attacks", "clean,fgsm", "--eps", "4/255")
    capsys.readouterr()
    starts = {
        "csv": "model,Clean top-1",
        "md": "**Accuracy on clean",
        "latex": "% needs",
        "json": "{",
        "html": '<figure class="rb-table"',
        "console": "Accuracy on clean",
    }
    for form, start in starts.items():
        arguments = ["--preset", "table1", "--format", form]
        assert main(["report", str(site.root / "run"), *arguments]) == 0
        assert capsys.readouterr().out.startswith(start), form


def test_without_a_preset_the_formats_hold_all_results(
    site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated("--attacks", "clean,fgsm", "--eps", "4/255")
    capsys.readouterr()
    assert main(["report", str(site.root / "run"), "--format", "md"]) == 0
    text = capsys.readouterr().out
    assert "| fgsm@4/255 |" in text
    assert "protocol pixel" in text


def test_files_of_all_formats_in_a_folder(
    site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated("--attacks", "clean,fgsm", "--eps", "4/255")
    out = site.root / "tables"
    capsys.readouterr()
    arguments = ["--preset", "table1", "--out", str(out)]
    assert main(["report", str(site.root / "run"), *arguments]) == 0
    endings = ("csv", "md", "tex", "json", "html")
    tables = {f"table1-photos-pixel.{ending}" for ending in endings}
    assert {path.name for path in out.iterdir()} == tables | {"results.csv", *RADII}
    assert (out / "results.csv").read_text() == (site.root / "run" / "results.csv").read_text()
    assert "Accuracy on clean" in capsys.readouterr().out


def test_budgets_are_chosen_and_what_was_not_run_is_said(
    site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated("--attacks", "clean,fgsm", "--eps", "1/255,8/255", "--label", "mine")
    capsys.readouterr()
    run = str(site.root / "run")
    assert main(["report", run, "--preset", "table1", "--format", "md"]) == 0
    assert "fgsm@4/255 was not run for" in (text := capsys.readouterr().out)
    assert "there is 1/255, 8/255." in text
    as_csv = ["--preset", "table1", "--format", "csv"]
    assert main(["report", run, *as_csv, "--eps", "fgsm=8/255"]) == 0
    table = rows(capsys.readouterr().out)
    assert "FGSM 8/255 top-1" in table[0]
    assert "PGD 4/255 top-1" in table[0]
    assert main(["report", run, *as_csv, "--eps", "1/255"]) == 0
    assert {"FGSM 1/255 top-1", "PGD 1/255 top-1"} <= set(rows(capsys.readouterr().out)[0])


def test_a_free_table(site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]) -> None:
    evaluated("--attacks", "clean,fgsm", "--eps", "1/255,8/255", "--label", "mine")
    capsys.readouterr()
    arguments = ["--rows", "label", "--columns", "condition", "--values", "top1, n_images"]
    assert main(["report", str(site.root / "run"), *arguments, "--format", "csv"]) == 0
    table = rows(capsys.readouterr().out)
    assert table[0][:3] == ["label", "clean top1", "clean n_images"]
    assert table[1][0] == "mine"
    assert table[1][2] == "11"


def test_an_empty_preset_says_what_there_is(
    site: Site, evaluated: Evaluated, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluated("--attacks", "clean")
    capsys.readouterr()
    assert main(["report", str(site.root / "run"), "--preset", "table2"]) == 1
    err = capsys.readouterr().err
    assert "have nothing for --preset table2; their conditions are clean" in err


def test_efficiency_needs_no_run(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    file = site.root / "efficiency.csv"
    file.write_text(
        "label,ms_per_image_median,ms_p25,ms_p75,gmacs,params_million,peak_mib,batch_size,threads,"
        "device\ndeit_tiny_patch16_224,20.5,20,21,1.2537,5.717,31,1,1,cpu\n"
    )
    arguments = ["--preset", "efficiency", "--published", "--format", "csv"]
    assert main(["report", str(site.root), *arguments]) == 0
    out = capsys.readouterr().out
    assert "deit_tiny_patch16_224,20.5,20.0,21.0,1.2537,5.717,31.0,1.0" in out
    assert ",GMACs,1.2537,1.25,0.003" in out
    assert main(["report", str(site.root / "nothing"), *arguments]) == 1


def test_labels_are_shown_under_other_names(
    evaluated: Evaluated, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """In tables and the files of --out, the page with its examples among them; not in the run."""
    evaluated("--attacks", "clean,fgsm", "--save-adversarial", "2")
    run, out = site.root / "run", site.root / "out"
    own = (run / "results.csv").read_text()
    label = rows(own)[1][0]
    names = ["--rename", f"{label}=Net = 1"]
    assert main(["report", str(run), *names, "--format", "html", "--out", str(out)]) == 0
    assert (run / "results.csv").read_text() == own
    assert {row[0] for row in rows((out / "results.csv").read_text())[1:]} == {"Net = 1"}
    page = (out / "index.html").read_text()
    assert "Net = 1" in page[page.index('<section id="examples">') :].split("</section>")[0]
    capsys.readouterr()
    assert main(["report", str(run), *names]) == 0
    assert "Net = 1 on " in capsys.readouterr().out
    assert (run / "results.csv").read_text() == own


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (["x=y"], "label 'x' is unknown. Known: "),
        (["x="], "'x=' has no name; write LABEL=NAME"),
        (["=x"], "'=x' has no name; write LABEL=NAME"),
        (["net=a", "net=b"], "names 'net' twice"),
    ],
)
def test_a_name_that_cannot_be_shown_is_refused(
    given: list[str],
    answer: str,
    evaluated: Evaluated,
    site: Site,
    capsys: pytest.CaptureFixture[str],
) -> None:
    evaluated("--attacks", "clean,fgsm")
    names = [part for text in given for part in ("--rename", text)]
    assert main(["report", str(site.root / "run"), *names]) == 1
    assert answer in capsys.readouterr().err


def test_two_labels_have_no_name_in_common(tmp_path: Path) -> None:
    outcomes: Outcomes = {"clean": [0, 1]}
    runs = merge([write_run(tmp_path, {"a": outcomes, "b": outcomes})])
    with pytest.raises(UserError, match="a and b would both be called 'b'"):
        runs.renamed({"a": "b"})
    swapped = runs.renamed({"a": "b", "b": "a"})
    assert list(results(swapped)["label"]) == ["b", "a"]
    assert compare(swapped, results(swapped), baseline="b").rows["label"].tolist() == ["a"]
