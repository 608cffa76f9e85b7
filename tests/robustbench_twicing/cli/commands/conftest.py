"""Evaluations that `report` is tried on."""

import shutil

import pytest

from tests.robustbench_twicing.cli.commands.reporting import Evaluated
from tests.robustbench_twicing.cli.conftest import Site, make_site


@pytest.fixture(scope="session")
def evaluations(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Where each evaluation that several tests report on is made once."""
    return make_site(tmp_path_factory.mktemp("evaluations"))


@pytest.fixture
def evaluated(evaluations: Site, site: Site) -> Evaluated:
    """A copy of an evaluation, for the test to report on, damage and write into."""

    def copy(*arguments: str, out: str = "run") -> None:
        made = evaluations.root / "runs" / "_".join(arguments).replace("/", "of")
        if not made.exists():
            assert evaluations.eval(*arguments, out=str(made)) == 0
        shutil.copytree(made, site.root / out)

    return copy
