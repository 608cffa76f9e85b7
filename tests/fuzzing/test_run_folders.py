"""A thousand damaged run folders and trainings."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from reports import results
from reports.console import print_results
from reports.merging.merge import merge
from reports.metrics.results import save_results
from robustbench_twicing.records.adversarial import read_adversarial
from robustbench_twicing.records.run_folder import RunFolder

from .archives import ZIPWISE
from .bytewise import BYTEWISE
from .rounds import Kind, fuzz
from .run_folders import endless_part, good_run, sign_again, strange_part
from .test_arrays import strange_array
from .textwise import JSONWISE


def report(place: Path, damaged: Path) -> None:
    """What `report` does: merge, count, print, save, and look at kept images."""
    if damaged.suffix == ".json":
        sign_again(place)
    runs = merge([RunFolder.open(place)])
    table = results(runs)
    print_results(runs, table, Console(file=io.StringIO(), width=100))
    save_results(table, place)
    for path in (place / "adversarial").rglob("*.npz"):
        read_adversarial(path)


@pytest.fixture
def kind() -> Kind:
    """A run folder."""
    mutations = {
        ".json": JSONWISE,
        ".parquet": (*BYTEWISE, *(strange_part,) * 12, endless_part),
        ".npz": (*ZIPWISE, *(strange_array,) * 5),
    }
    return Kind({"run": good_run()}, mutations, report, names_folder=True, mib=400)


def test_damaged_run_folders_are_refused_in_one_line(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fuzz("run", kind, tmp_path)["refused"]


def test_the_undamaged_is_read(kind: Kind, tmp_path: Path) -> None:
    for name, content in kind.good["run"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    report(tmp_path, tmp_path / "run.json")
    assert "top1" in (tmp_path / "results.csv").read_text()
