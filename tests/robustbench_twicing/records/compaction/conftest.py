"""A run of six small parts, and what its records are."""

import shutil
from pathlib import Path

import pytest

from robustbench_twicing.records import compaction
from robustbench_twicing.records.parts import Records
from robustbench_twicing.records.run_folder import RunFolder
from tests.robustbench_twicing.records.compaction.made import WHOLE, Case, written


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that six parts are many."""
    monkeypatch.setattr(compaction, "FEW", 4)


@pytest.fixture(scope="module")
def case() -> Case:
    """Other ones are asked for by parameters."""
    return WHOLE


@pytest.fixture(scope="module")
def original(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("original") / "run", case=case).path


@pytest.fixture(scope="module")
def wanted(original: Path, case: Case) -> Records:
    return RunFolder.open(original).records(case.about)


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> RunFolder:
    shutil.copytree(original, tmp_path / "run")
    return RunFolder.open(tmp_path / "run")
