"""Whatever writes files: a disk that is full or read-only is one line, and nothing good is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from robustbench_twicing.cli.app import main
from tests.faults.disks import Disk
from tests.robustbench_twicing.cli.conftest import Site

pytestmark = pytest.mark.slow

FULL, PROTECTED = "No space left on device", "Read-only file system"
NAMES = ("--label", "first", "--label", "second")


def evaluated(site: Site) -> str:
    """A run of two models, elsewhere."""
    other = ("--model", site.model.replace(":build", ":other"))
    assert site.eval("--attacks", "clean,fgsm", "--eps", "4/255", *other, *NAMES, out="done") == 0
    return str(site.root / "done")


def adversarial(site: Site, out: Path) -> list[str]:
    return [
        *(
            "eval",
            "--model",
            site.model,
            "--data",
            str(site.data),
            "--crop",
            "8",
            "--out",
            str(out),
        ),
        *("--attacks", "clean,fgsm", "--eps", "4/255", "--batch-size", "2", "--device", "cpu"),
        *("--save-adversarial", "9"),
    ]


def corrupted(site: Site, out: Path) -> list[str]:
    return [
        *("corrupt", "--data", str(site.data), "--out", str(out), "--corruptions", "contrast,fog"),
        *("--severities", "1"),
    ]


def corrupted_by_two(site: Site, out: Path) -> list[str]:
    return [*corrupted(site, out), "--workers", "2"]


def trained(site: Site, out: Path) -> list[str]:
    return [
        *("train", "--model", "fmnist_deit", "--data", str(site.data), "--out", str(out)),
        *("--recipe", "fmnist", "--set", "epochs=1", "--set", "batch_size=4"),
    ]


def reported(site: Site, out: Path) -> list[str]:
    return ["report", evaluated(site), "--out", str(out), "--plots"]


def page(site: Site, out: Path) -> list[str]:
    return ["report", evaluated(site), "--out", str(out), "--format", "html"]


def compared(site: Site, out: Path) -> list[str]:
    return ["compare", evaluated(site), "--out", str(out)]


def measured(site: Site, out: Path) -> list[str]:
    return ["efficiency", "-m", "timm:test_vit", "--rounds", "1", "--out", str(out / "times.csv")]


WRITERS: dict[str, tuple[Callable[[Site, Path], list[str]], str]] = {
    each.__name__: (each, size)
    for each, size in (
        (adversarial, "60k"),
        (corrupted, "28k"),
        (corrupted_by_two, "28k"),
        (trained, "300k"),
        (reported, "80k"),
        (page, "40k"),
        (compared, "12k"),
        (measured, "0"),
    )
}
"""What writes, and the size of a disk that is too small for it."""


def contents(folder: Path) -> dict[str, bytes]:
    """Finished files, without what says when they were made."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "sessions" and path.suffix != ".jsonl"
    }


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that says what went wrong."""
    err = capsys.readouterr().err
    assert "Traceback" not in err
    (line,) = (line for line in err.splitlines() if line.startswith("robustbench-twicing: "))
    return line


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk(name: str, site: Site, disk: Disk, capsys: pytest.CaptureFixture[str]) -> None:
    command, size = WRITERS[name]
    arguments = command(site, disk.path / "out")
    capsys.readouterr()
    if size == "0":
        (disk.path / "out").mkdir()
        disk.resize("4k")
        (disk.path / "filler").write_bytes(bytes(4096))
    else:
        disk.resize(size)
    assert main(arguments) == 1
    assert FULL in said(capsys)
    kept = contents(disk.path / "out")
    assert not [path for path in kept if path.endswith(".tmp")]
    disk.resize("50m")
    assert main(arguments) == 0
    found = contents(disk.path / "out")
    unlike = {path for path in kept if kept[path] != found[path]}
    assert not unlike, "what was written before is another file now"


@pytest.mark.parametrize("name", WRITERS)
def test_a_disk_that_may_not_be_written_to(
    name: str, site: Site, disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = WRITERS[name][0](site, disk.path / "out")
    capsys.readouterr()
    disk.write_protect()
    assert main(arguments) == 1
    line = said(capsys)
    assert PROTECTED in line or "may not be written to" in line


def test_a_finished_run_is_shown_from_a_disk_that_may_not_be_written_to(
    site: Site, disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    run = disk.path / "run"
    assert site.eval("--attacks", "clean", out=str(run)) == 0
    shown = capsys.readouterr().out
    disk.write_protect()
    assert site.eval("--attacks", "clean", out=str(run)) == 0
    assert main(["report", str(run)]) == 0
    standing = f"{run}: all 11 images are evaluated\n"
    assert capsys.readouterr() == (2 * shown, standing)
    disk.resize("50m,rw")
    (run / "results.csv").unlink()
    disk.write_protect()
    assert site.eval("--attacks", "clean", out=str(run)) == 1
    tables, err = capsys.readouterr()
    assert tables == shown.replace(f"results: {run}/results.csv\n", "")
    problem = (
        f"{run}/results.csv cannot be written: Read-only file system; what was finished before is "
        "kept"
    )
    assert err == f"{standing}robustbench-twicing: {problem}\n"
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr() == (tables, f"{problem}; --out DIR writes into another folder\n")
