"""A run of six small parts, and what its records are."""

import shutil
from pathlib import Path

import pytest

from robustbench_twicing.records import compaction
from robustbench_twicing.records.parts import Records
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.records.compaction.made import ABOUT, written


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that six parts are many."""
    monkeypatch.setattr(compaction, "FEW", 4)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("original") / "run").path


@pytest.fixture(scope="module")
def wanted(original: Path) -> Records:
    return RunFolder.open(original).records(ABOUT)


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(original, tmp_path / "run")
    return RunFolder.open(tmp_path / "run")
