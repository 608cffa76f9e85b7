"""What is printed: records, notes, short help; and what is loaded for it."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from robustbench_twicing.cli.app import main
from robustbench_twicing.cli.commands.eval import EXAMPLES, TransferOptions
from robustbench_twicing.cli.options.evaluation import COMMON
from tests.robustbench_twicing.cli.conftest import Site, make_site, one_line

ROOT = Path(__file__).parents[3]
ATTACKS = ("--attacks", "clean,fgsm,pgd", "--eps", "1/255", "--label", "net")
LIBRARIES = {"torchattacks", "foolbox", "pyautoattack", "timm", "torchvision"}
HEAVY = {"torch", "pandas", "pyarrow", "duckdb", "matplotlib"}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A finished run in ``runs/net``, beside a folder and a file that are none."""
    site = make_site(tmp_path_factory.mktemp("output"))
    assert site.eval(*ATTACKS, out="runs/net") == 0
    (site.root / "runs" / "tables").mkdir()
    (site.root / "runs" / "making.log").write_text("epoch 1\n")
    return site


@pytest.fixture
def runs(done: Site, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """``runs/*``, as a shell makes it."""
    monkeypatch.chdir(done.root)
    monkeypatch.setenv("COLUMNS", "80")
    return sorted(str(path.relative_to(done.root)) for path in (done.root / "runs").iterdir())


def loaded(*arguments: str) -> set[str]:
    """Packages that a command has loaded when it is done."""
    script = (
        "import sys\n"
        "from robustbench_twicing.cli.app import main\n"
        "status = main(sys.argv[1:])\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, 'scipy.fft' in sys.modules,\n"
        "      file=sys.stderr)\n"
        "sys.exit(status)\n"
    )
    command = [sys.executable, "-c", script, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["-V", "models", "models fmnist --json"])
def test_what_needs_no_network_loads_no_torch(arguments: str) -> None:
    assert not loaded(*arguments.split()) & (HEAVY | LIBRARIES)


@pytest.mark.slow
def test_the_list_of_attacks_loads_torch_and_no_library_of_attacks() -> None:
    modules = loaded("attacks")
    assert "torch" in modules
    assert not modules & (HEAVY - {"torch"} | LIBRARIES | {"True"})


@pytest.mark.slow
def test_the_records_are_the_rows_of_the_file(
    done: Site, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    del runs
    assert main(["report", "runs/net", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    records = json.loads(out)
    table = pd.read_csv(done.root / "runs" / "net" / "results.csv")
    assert list(records[0]) == list(table.columns)
    assert len(out.splitlines()) == len(table) + 2
    for record, row in zip(records, table.to_dict("records"), strict=True):
        for name, value in row.items():
            is_empty = isinstance(value, float) and math.isnan(value)
            assert record[name] == ("" if record[name] == "" else None if is_empty else value)
    steps = {record["condition"]: record["steps"] for record in records}
    assert steps["pgd@1/255"] == 20
    assert isinstance(steps["pgd@1/255"], int)


@pytest.mark.slow
def test_eval_prints_records_in_place_of_tables(
    done: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert done.eval(*ATTACKS, "--json", "--quiet", out="runs/net") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert [row["condition"] for row in json.loads(out)][:2] == ["clean", "fgsm@1/255"]


@pytest.mark.slow
def test_a_quiet_eval_prints_its_tables_alone(
    done: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert done.eval(*ATTACKS, "--quiet", out="quiet") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[-1].startswith("└")


@pytest.mark.slow
def test_notes_that_are_no_flags_are_summed_up(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    del runs
    assert main(["report", "runs/net"]) == 0
    brief = capsys.readouterr().out
    assert main(["report", "runs/net", "--notes", "full"]) == 0
    every = capsys.readouterr().out
    notes = [line for line in every.splitlines() if line.startswith("- ")]
    flags = [line for line in notes if line.startswith("- ! ")]
    assert flags
    assert all(flag in brief for flag in flags)
    assert "- 1 model: a user's own code; " in brief
    assert "on models and attacks: --notes full" in " ".join(brief.split())
    assert "- preprocessing: " in brief, "accuracies depend on it"
    assert "- preprocessing: " in every


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "compare"])
def test_what_is_no_run_is_skipped_with_a_line(
    command: str, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert runs == ["runs/making.log", "runs/net", "runs/tables"]
    other = ["runs/net"] if command == "report" else [*_with_second_model(runs)]
    assert main([command, *runs, *other[1:]]) == 0
    out, err = capsys.readouterr()
    skipped = "skipped, since they are no run folders: runs/making.log, runs/tables\n"
    assert err == skipped
    assert "pgd@1/255" in out


def _with_second_model(runs: list[str]) -> list[str]:
    site = Site(Path.cwd(), Path.cwd() / "photos", f"{Path.cwd() / 'network.py'}:other")
    assert site.eval("--attacks", "clean,pgd", "--eps", "1/255", "--label", "b", "-q", out="b") == 0
    return [*runs[:1], "b"]


@pytest.mark.slow
def test_runs_are_found_one_level_down(runs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "runs", "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("\n") == 5
    assert main(["report", runs[0], runs[2]]) == 1
    err = capsys.readouterr().err
    assert "none of runs/making.log, runs/tables is a run folder; give the --out of an eval" in err
    assert main(["report", "runs/net", "runs/nte"]) == 1
    assert "runs/nte: there is no such folder" in capsys.readouterr().err


@pytest.mark.slow
def test_a_comparison_keeps_difference_and_verdict_on_one_line(
    runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *_with_second_model(runs)[1:], "runs/net", "--baseline", "net"]) == 0
    capsys.readouterr()
    assert main(["compare", "b", "runs/net", "--baseline", "net"]) == 0
    out = capsys.readouterr().out
    assert out.count("┏") == 1, "one table, not cut into segments"
    assert all(len(line) <= 80 for line in out.splitlines() if line[:1] in "│┃┏")
    assert main(["compare", "b", "runs/net", "--baseline", "net", "--notes", "full"]) == 0
    heads = [
        line for line in capsys.readouterr().out.splitlines() if line[:1] == "┃" and "diff." in line
    ]
    assert heads
    assert all("verdict" in line for line in heads)
    assert main(["compare", "b", "runs/net", "--baseline", "net", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["condition"] for row in rows} >= {"clean", "pgd@1/255"}
    assert rows[0]["n_only_label"] == 1


def test_the_short_help_has_common_options_and_examples(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    assert main(["eval", "-h"]) == 0
    short = capsys.readouterr().out
    assert main(["eval", "--help-all"]) == 0
    whole = capsys.readouterr().out
    for name in TransferOptions.__dataclass_fields__:
        option = f"--{name.replace('_', '-')} "
        assert option in whole
        common = (*COMMON, "notes", "json", "quiet")
        assert (option in short) == (name in common) or option in " ".join(EXAMPLES), option
    for example in EXAMPLES:
        assert f" python run_eval.py {example} " in short, "on one line, to be copied"


def test_a_shell_completes_commands_and_options() -> None:
    """As the script that ``--install-completion`` writes asks for it."""
    question = {
        "_ROBUSTBENCH_TWICING_COMPLETE": "complete_bash",
        "COMP_WORDS": "robustbench-twicing eval --surv",
        "COMP_CWORD": "2",
        "PYTHONPATH": str(ROOT),
    }
    ended = subprocess.run(
        [sys.executable, str(ROOT / "run_eval.py")],
        env={**os.environ, **question},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout.split() == ["--survivors"], ended.stderr


@pytest.mark.slow
def test_every_csv_names_the_bounds_of_intervals_alike(
    done: Site, runs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del runs
    both = ["runs/net", str(tmp_path / "other")]
    assert done.eval(*ATTACKS[:4], "--label", "other", out=both[1]) == 0
    out, images = str(tmp_path / "out"), str(tmp_path / "images.csv")
    assert main(["report", *both, "--out", out, "--images", images]) == 0
    assert main(["compare", *both, "--out", out]) == 0
    assert f"written: {images} (88 lines)" in capsys.readouterr().err
    files = [*(tmp_path / "out").glob("*.csv"), tmp_path / "images.csv"]
    heads = {file.name: file.read_text().splitlines()[0].split(",") for file in files}
    assert {"results.csv", "comparison.csv", "curves.csv", "radii.csv"} <= heads.keys()
    for name, columns in heads.items():
        bounds = {column.rpartition("_")[0] for column in columns if column.endswith("_ci_low")}
        assert {f"{bound}_high" for bound in bounds} <= set(columns), name
        assert not {"from", "to", "low", "high"} & set(columns), name
        others = [column for column in columns if column.endswith(("_low", "_high"))]
        assert all("_ci_" in column for column in others), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--images runs", "--images runs is a folder; name a file, like --images images.csv"),
        ("--images a.parquet", "--images a.parquet does not end in .csv; name a file, like"),
        ("--images no/a.csv", "--images no/a.csv: there is no folder no; make it first"),
        ("--figure wide", "--figure 'wide' is unknown. Known: page, column"),
        ("--figure column", "--figure column is for --plots; add --plots --out DIR"),
        (
            "--preset efficiency --images a.csv",
            "--images is for the results of run folders, and --preset efficiency shows none; "
            "leave --images out",
        ),
        (
            "--format robustbench --images a.csv",
            "--images is for tables and pictures, and --format robustbench makes none; "
            "leave --images out",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_before_work(
    runs: list[str], arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del runs
    assert main(["report", "runs/net", *arguments.split()]) == 1
    assert message in one_line(capsys)
