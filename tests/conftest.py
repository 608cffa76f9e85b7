"""Fixtures that every test folder uses, and the order of the tests."""

import os
from functools import partial
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest
import torch

from robustbench_twicing.cli import terminal
from tests import cases
from tests.cases import BuildCase

hypothesis.settings.register_profile("no-clock", deadline=None)
hypothesis.settings.load_profile("no-clock")
torch.set_num_threads(1)  # more wait for each other where the machine has other work too
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the same in the processes that tests start
SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference material beside the checkout; a test that asks for it is skipped without it."""
    if not SHARED.is_dir():
        pytest.skip(f"the reference material {SHARED.name}/ is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def case_script(shared: Path) -> ModuleType:
    """The script of the reference material that makes the inputs of its cases."""
    return cases.load_script(shared)


@pytest.fixture(scope="session")
def build_case(case_script: ModuleType) -> BuildCase:
    return partial(cases.build, case_script)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_archives(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test reads or writes the user's own cache."""
    os.environ["ROBUSTBENCH_TWICING_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def _patience() -> None:
    """What commands print does not depend on how slow the machine is."""
    terminal.PATIENCE = 600.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses the `shared` fixture carries its mark; CUDA tests say why they are skipped.

    Files with slow tests come first, so that no worker of pytest-xdist has one left at the end,
    when there is nothing else for the others to do.
    """
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")
        if item.get_closest_marker("cuda") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
